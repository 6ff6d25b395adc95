"""Splits: every law that a split must keep, over many tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit

from assay.errors import DataError, ParameterError
from assay.selection.splits import KINDS as ALL_KINDS
from assay.selection.splits import REPEATED, Resampling, Split, make_splits

KINDS = ["holdout", "k-fold", "repeated", "leave-one-out", "bootstrap", "time"]
labels = st.lists(st.integers(0, 3), min_size=6, max_size=80)


def plan(kind: str, **options: object) -> Resampling:
    repeats = 2 if kind in REPEATED else 1
    return Resampling(kind, **{"folds": 3, "repeats": repeats, **options})  # type: ignore[arg-type]


def check(splits: list[Split], n: int) -> None:
    """Two sides that are not empty, sorted, without a row on both."""
    for train, test in splits:
        assert train.dtype == test.dtype == np.int64
        assert len(train)
        assert len(test)
        assert not np.intersect1d(train, test).size
        assert (np.diff(train) >= 0).all()
        assert (np.diff(test) > 0).all()
        assert min(train[0], test[0]) >= 0
        assert max(train[-1], test[-1]) < n


@given(st.integers(6, 60), st.sampled_from(KINDS), st.integers(0, 2**64 - 1))
def test_the_sides_of_a_split_are_disjoint_and_the_same_seed_gives_the_same_splits(n, kind, seed):
    splits = make_splits(plan(kind, seed=seed), n)
    check(splits, n)
    again = make_splits(plan(kind, seed=seed), n)
    for a, b in zip(splits, again, strict=True):
        np.testing.assert_array_equal(a.train, b.train)
        np.testing.assert_array_equal(a.test, b.test)
    if kind in ("holdout", "k-fold", "repeated", "leave-one-out"):
        assert all(len(train) + len(test) == n for train, test in splits)


@given(labels, st.integers(2, 5), st.integers(0, 99))
def test_folds_are_a_partition_with_every_class_and_size_even_to_one(y, folds, seed):
    y = np.array(y + list(range(4)) * folds)
    splits = make_splits(Resampling("k-fold", folds=folds, seed=seed), len(y), y=y)
    np.testing.assert_array_equal(np.sort(np.concatenate([s.test for s in splits])), np.arange(len(y)))
    assert np.ptp([len(s.test) for s in splits]) <= 1
    assert np.ptp([np.bincount(y[s.test], minlength=4) for s in splits], axis=0).max() <= 1
    theirs = StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y)
    assert sorted(len(s.test) for s in splits) == pytest.approx(sorted(len(test) for _, test in theirs), abs=1)


@given(labels, st.floats(0.1, 0.9), st.integers(0, 99))
def test_a_stratified_holdout_has_its_share_of_every_class(y, share, seed):
    y = np.array([*y, 0, 0, 1, 1])
    ((_, test),) = make_splits(Resampling("holdout", share=share, seed=seed), len(y), y=y)
    single = np.bincount(y, minlength=4) == 1
    assert not single[y[test]].any()
    wanted = min(max(1, round(share * len(y))), int((~single[y]).sum()) - 1)
    assert len(test) == wanted
    per_class = np.bincount(y, minlength=4) * wanted / (~single[y]).sum()
    assert (np.abs(np.bincount(y[test], minlength=4) - per_class)[~single] < 1 + 1e-9).all()


@given(
    st.lists(st.integers(0, 12), min_size=8, max_size=120), st.sampled_from(KINDS[:5]), st.booleans(), st.integers(0, 9)
)
def test_no_group_is_on_both_sides(groups, kind, stratified, seed):
    groups = np.array([*groups, 0, 1, 2])
    y = np.arange(len(groups)) % 2 if stratified else None
    splits = make_splits(plan(kind, seed=seed), len(groups), y=y, groups=[f"g{g}" for g in groups])
    check(splits, len(groups))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        if kind != "bootstrap":
            assert len(train) + len(test) == len(groups)


@pytest.mark.parametrize("seed", range(5))
def test_grouped_folds_are_about_as_even_as_the_greedy_ones_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(80), rng.geometric(0.1, 80)))
    ours = [len(s.test) for s in make_splits(Resampling("k-fold", seed=seed), len(groups), groups=groups)]
    theirs = [len(test) for _, test in GroupKFold(5).split(groups, groups=groups)]
    assert np.ptp(ours) <= max(np.ptp(theirs), 0.03 * len(groups))


def test_one_large_group_and_many_single_rows_still_give_even_folds():
    groups = np.concatenate([np.zeros(1000, dtype=int), np.arange(1, 9001)])
    sizes = [len(s.test) for s in make_splits(Resampling("k-fold"), 10_000, groups=groups)]
    assert np.ptp(sizes) <= 2
    ((_, test),) = make_splits(Resampling("holdout", share=0.25), 10_000, groups=groups)
    assert len(test) == pytest.approx(2500, abs=2)


def test_groups_and_classes_together_are_spread_well():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 200, 4000)
    y = (rng.random(4000) < rng.random(200)[groups]).astype(int)  # each group has a rate of its own
    for _, test in make_splits(Resampling("k-fold"), 4000, y=y, groups=groups):
        assert len(test) == pytest.approx(800, abs=40)
        assert y[test].mean() == pytest.approx(y.mean(), abs=0.02)


def test_repeats_differ_also_where_every_group_has_a_size_of_its_own():
    groups = np.repeat(np.arange(12), np.arange(1, 13))
    splits = make_splits(Resampling("repeated", folds=3, repeats=4), len(groups), groups=groups)
    assert len({frozenset(tuple(s.test) for s in splits[3 * r : 3 * r + 3]) for r in range(4)}) > 1


@given(st.lists(st.integers(0, 30), min_size=10, max_size=100), st.integers(1, 4))
def test_in_time_order_every_test_row_is_after_every_training_row(time, folds):
    time = np.array([*time, *range(folds + 1)])
    splits = make_splits(Resampling("time", folds=folds), len(time), time=time)
    check(splits, len(time))
    assert len(splits) == folds
    for train, test in splits:
        assert time[train].max() < time[test].min()
    for before, after in pairwise(splits):
        np.testing.assert_array_equal(after.train, np.union1d(before.train, before.test))


def test_in_time_order_the_stretches_are_those_of_scikit_learn():
    splits = make_splits(Resampling("time", folds=4), 100, time=np.arange("2020-01-01", "2020-04-10", dtype="M8[D]"))
    theirs = list(TimeSeriesSplit(4).split(np.arange(100)))
    assert [len(s.test) for s in splits] == [len(test) for _, test in theirs]
    ((train, test),) = make_splits(Resampling("holdout", share=0.3), 10, time=list("jihgfedcba"))
    assert (train.tolist(), test.tolist()) == ([3, 4, 5, 6, 7, 8, 9], [0, 1, 2])


def test_given_splits_are_taken_as_they_are():
    given_folds = make_splits(Resampling("given"), 4, groups=["b", "a", "b", "c"])
    assert [s.test.tolist() for s in given_folds] == [[1], [0, 2], [3]]
    for column in ([True, False, False], ["test", "train", "train"]):
        ((train, test),) = make_splits(Resampling("given"), 3, groups=column)
        assert (train.tolist(), test.tolist()) == ([1, 2], [0])


def test_a_bootstrap_draws_as_many_rows_as_there_are_and_leaves_out_about_a_third():
    splits = make_splits(Resampling("bootstrap", repeats=40), 1000)
    assert all(len(s.train) == 1000 for s in splits)
    assert np.mean([len(s.test) for s in splits]) / 1000 == pytest.approx((1 - 1 / 1000) ** 1000, abs=0.005)
    y = np.repeat([0, 1], [990, 10])
    assert all((y[s.train] == 1).sum() == 10 for s in make_splits(Resampling("bootstrap", repeats=5), 1000, y=y))


def test_a_first_repeat_is_the_plain_k_fold_and_the_others_differ():
    once = make_splits(Resampling("k-fold", seed=4), 50)
    many = make_splits(Resampling("repeated", repeats=3, seed=4), 50)
    assert len(many) == 15
    assert [s.test.tolist() for s in many[:5]] == [s.test.tolist() for s in once]
    assert len({tuple(s.test) for s in many}) == 15


def test_numbers_of_a_regression_change_nothing():
    y = np.linspace(0, 1, 30)
    for a, b in zip(make_splits(Resampling(), 30, y=y), make_splits(Resampling(), 30)):
        np.testing.assert_array_equal(a.test, b.test)


@pytest.mark.parametrize(
    ("options", "table", "says"),
    [
        ({"kind": "k-folds"}, {}, "Did you mean 'k-fold'"),
        ({"folds": 1}, {}, "at least 2"),
        ({"repeats": 0}, {}, "at least 1"),
        ({"share": 1.0}, {}, "between 0 and 1"),
        ({"seed": -1}, {}, "seed"),
        ({"folds": 7}, {}, "6 rows cannot fill 7 folds: use at most 6"),
        ({}, {"y": list("aaaaab")}, "Class b has 1 row, fewer than the 5 folds: leave"),
        ({"folds": 3}, {"y": list("aaaabb")}, "Class b has 2 rows.*at most 2 folds"),
        ({}, {"groups": [1] * 6}, "one group"),
        ({}, {"groups": [1, 1, 1, 2, 2, 3]}, "3 groups cannot fill 5 folds"),
        ({}, {"groups": ["a", None, "b", "c", "d", None]}, "2 of 6 group values are missing .the first in row 1"),
        ({}, {"groups": [1, 2]}, "6 rows.*shape"),
        ({}, {"time": range(6)}, "'time' or 'holdout'"),
        ({"kind": "time"}, {"time": range(6), "groups": range(6)}, "not by both"),
        ({"kind": "time"}, {"time": [1, 2, 3, 4, 5, float("nan")]}, "1 of 6 time values are missing"),
        ({"kind": "time"}, {"time": [1, 1, 1, 1, 2, 2]}, "only 2 distinct time values.*at most 1 folds"),
        ({"kind": "time"}, {"time": np.array([1, "a", 2, "b", 3, 4], dtype=object)}, "put in order"),
        ({"kind": "given"}, {}, "given"),
        ({"kind": "given"}, {"groups": [True] * 6}, "one side"),
        ({"kind": "bootstrap"}, {"y": list("abcdef")}, "single row"),
    ],
)
def test_what_cannot_be_split_is_refused_with_a_reason(options, table, says):
    with pytest.raises((ParameterError, DataError), match=says):
        make_splits(Resampling(**{"kind": "k-fold", **options}), 6, **table)


def test_too_few_or_too_many_rows_are_refused():
    with pytest.raises(DataError, match="1 row cannot be split"):
        make_splits(Resampling(), 1)
    with pytest.raises(ParameterError, match="100000 fits"):
        make_splits(Resampling("leave-one-out"), 100_000)


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind not in REPEATED])
def test_what_is_done_once_is_not_repeated(kind):
    with pytest.raises(ParameterError, match=r"once, not 3 times: take 'repeated'"):
        Resampling(kind, repeats=3)
