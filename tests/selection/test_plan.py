"""What is asked of a table: plans that contradict themselves are refused, and rows in order of time are so throughout."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay import compare, engine
from assay.errors import ParameterError
from assay.selection.plan import given_splits, moments_of, plan_of
from assay.selection.splits import Resampling
from assay.selection.trial import inner_splits

LAST = 2**64 - 1  # the greatest seed


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    return pd.DataFrame(rng.normal(size=(240, 2)) + y[:, None], columns=list("ab")).assign(y=y)


def test_without_a_column_of_times_the_rows_are_in_order_of_time():
    assert moments_of(Resampling("time"), 4, None).tolist() == [0, 1, 2, 3]
    assert moments_of(Resampling("k-fold"), 4, None) is None
    times = np.array([3.0, 1.0])
    assert moments_of(Resampling("time"), 2, times) is times
    assert moments_of(Resampling("holdout"), 2, times) is times


def test_inner_splits_of_a_split_by_time_learn_from_earlier_rows(table):
    found = compare(table, "y", models=["lda"], resampling="time", folds=3, workers=0)
    assert np.array_equal(found.data.times, moments_of(found.resampling, len(found.data), None))
    for split in found.splits:
        inner = inner_splits(found.data, split.train, 0)
        assert inner
        assert all(s.train.max() < s.test.min() <= s.test.max() < split.test.min() for s in inner)


def test_a_row_that_one_split_tests_twice_is_refused():
    with pytest.raises(ParameterError, match="Split 1 tests row 7 more than once"):
        given_splits([([0, 1], [2, 3]), ([0, 1], [7, 3, 7])], 10)
    assert given_splits([([0, 0, 1], [2, 3]), ([2], [3])], 10)[0].train.tolist() == [0, 0, 1]  # as a bootstrap draws


def test_a_row_learnt_twice_needs_the_table_in_memory(table, tmp_path):
    table.to_parquet(tmp_path / "t.parquet")
    pairs = [(np.repeat(np.arange(100), 2), np.arange(100, 240))]
    assert compare(table, "y", models=["lda"], resampling=pairs, workers=0)["lda"].state == "done"
    with engine("stream"), pytest.raises(ParameterError, match="in memory"):
        compare(tmp_path / "t.parquet", "y", models=["lda"], resampling=pairs, workers=0)


@pytest.mark.parametrize(
    ("said", "kept"),
    [({"folds": 4}, "folds=3"), ({"repeats": 9}, "repeats=2"), ({"share": 0.5}, "share=0.25"), ({"seed": 8}, "seed=5")],
)
def test_a_plan_and_an_argument_that_differ_are_refused(said, kept):
    plan = Resampling("repeated", folds=3, repeats=2, seed=5)
    usual = {"folds": None, "repeats": None, "share": 0.25, "seed": 0}
    (name,) = said
    with pytest.raises(ParameterError, match=rf"{kept}.*drop the argument {name}"):
        plan_of(plan, 100, **{**usual, **said})
    assert plan_of(plan, 100, **usual) is plan
    assert plan_of(plan, 100, **{**usual, name: getattr(plan, name)}) is plan


def test_given_splits_are_as_many_as_they_are():
    with pytest.raises(ParameterError, match="drop the argument folds"):
        plan_of([([0], [1])], 10, 5, None, 0.25, 0)


@pytest.mark.parametrize("kind", ["k-fold", "holdout"])
def test_repeats_belong_to_repeated_folds(table, kind):
    with pytest.raises(ParameterError, match="take 'repeated'"):
        compare(table, "y", resampling=kind, repeats=3)


@pytest.mark.parametrize("way", ["holdout", "k-fold", "bootstrap"])
def test_the_greatest_seed_is_as_good_as_any(table, way):
    found = compare(table, "y", models=["linear-svc", "baseline"], resampling=way, seed=LAST, workers=0)
    assert [e.state for e in found.entries] == ["done", "done"], [e.message for e in found.entries]
    assert found.question["seed"] == LAST
    with pytest.raises(ParameterError, match="seed"):
        compare(table, "y", resampling=way, seed=LAST + 1)
