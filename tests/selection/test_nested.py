"""Folds that share their searches: what a fold tests has no part in its search, and a shared fit is made once and changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from odd_models import Guess, register

import assay
from assay import compare
from assay.selection.candidates import candidates
from assay.selection.data import TableData
from assay.selection.plan import open_table
from assay.selection.splits import NO_PART, PARTS, Resampling, Split, make_splits, parts_of
from assay.selection.trial import inner_splits, search_settings
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source

N = 60


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = np.sort(np.arange(N) % 3)
    X = rng.normal(size=(N, 2)) + y[:, None]
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=[f"k{v}" for v in y])


def opened(plan: Resampling, **marks):
    source = table_source(frame())
    data = replace(open_table(source, infer(source, target="y")), **marks)
    splits = make_splits(plan, N, y=data.strata(plan.folds), groups=marks.get("groups"))
    return replace(data, parts=parts_of(plan, splits, data)), splits


PLANS = {
    "ten folds": (Resampling("k-fold", folds=10), {}),
    "seven folds": (Resampling("k-fold", folds=7), {}),
    "five folds": (Resampling("k-fold", folds=5), {}),
    "leave one out": (Resampling("leave-one-out"), {}),
    "groups": (Resampling("k-fold", folds=6), {"groups": np.arange(N) // 5}),
    "leave a group out": (Resampling("leave-one-out"), {"groups": np.arange(N) // 5}),
}


@pytest.mark.parametrize("plan", PLANS)
def test_what_a_fold_tests_has_no_part_in_its_search(plan):
    data, splits = opened(PLANS[plan][0], **PLANS[plan][1])
    for split in splits:
        inner = inner_splits(data, split.train, 0)
        assert len(inner) == PARTS - 1
        for train, test in inner:
            assert not set(train) & set(test)
            assert (set(train) | set(test)) <= set(split.train)
            if data.groups is not None:
                assert not set(data.groups[train]) & set(data.groups[test])


@pytest.mark.parametrize("plan", PLANS)
def test_the_search_on_all_rows_tests_each_of_them_once(plan):
    data, _ = opened(PLANS[plan][0], **PLANS[plan][1])
    inner = inner_splits(data, data.everything, 0)
    assert len(inner) == PARTS
    assert sorted(np.concatenate([split.test for split in inner])) == list(range(N))


def test_parts_of_single_rows_hold_every_class_though_the_rows_are_sorted_by_class():
    data, _ = opened(Resampling("leave-one-out"))
    for part in range(PARTS):
        assert set(data.codes[data.parts == part]) == {0, 1, 2}


@pytest.mark.parametrize("plan", [Resampling("k-fold", folds=4), Resampling("bootstrap", repeats=9), Resampling("repeated", folds=5, repeats=2)])  # fmt: skip
def test_other_plans_search_each_training_side_by_itself(plan):
    assert opened(plan)[0].parts is None


def test_a_row_of_weight_zero_is_in_no_part():
    data, splits = opened(Resampling("k-fold", folds=5))
    without = [Split(s.train[s.train != 7], s.test[s.test != 7]) for s in splits]
    data = replace(data, parts=parts_of(Resampling("k-fold", folds=5), without, data))
    assert data.parts[7] == NO_PART
    for split in without:
        for inner in inner_splits(data, split.train, 0):
            assert 7 not in inner.train
            assert 7 not in inner.test


def test_ten_folds_and_the_search_on_all_rows_fit_each_setting_ten_times(monkeypatch):
    fits = []
    honest = Guess.fit_each
    monkeypatch.setattr(Guess, "fit_each", lambda self, X, settings: (fits.append(1), honest(self, X, settings))[1])
    register(monkeypatch, Guess)
    data, splits = opened(Resampling("k-fold", folds=10))
    ((one,), _) = candidates(data.schema, 3, only=["guess"])
    for train in [*(split.train for split in splits), data.everything]:
        search_settings(one, data, train, "zero-one", 0)
    assert len(fits) == PARTS * (PARTS - 1) // 2


def test_a_shared_fit_changes_no_risk():
    data, splits = opened(Resampling("k-fold", folds=10))
    ((one,), _) = candidates(data.schema, 3, only=["decision-tree"])
    for split in splits[3:5]:
        shared = search_settings(one, data, split.train, "zero-one", 0)
        alone = search_settings(one, replace(data, memory={}), split.train, "zero-one", 0)
        assert np.array_equal(shared.risks, alone.risks)
        assert shared.chosen == alone.chosen


def claim_of_a_comparison(path):
    compare(frame(), "y", models=["qda"], folds=5, workers=0).model.save(path)
    (claim,) = (c for c in assay.load(path).certificate_ if c.check == "cross_validated")
    return claim


def test_folds_of_one_part_have_one_search():
    data, splits = opened(Resampling("k-fold", folds=10))
    ((one,), _) = candidates(data.schema, 3, only=["qda"])
    found = [search_settings(one, data, split.train, "zero-one", 0) for split in splits]
    assert all(found[k] is found[k + 1] for k in range(0, 10, 2))
    assert len({id(search) for search in found}) == PARTS


def test_a_class_that_the_rows_of_a_search_do_not_have_is_calibrated_all_the_same():
    """A class of two rows: where both lie in one part, the search without that part knows nothing of it."""
    few = frame().assign(y=["rare" if k in (30, 31) else v for k, v in enumerate(frame()["y"])])
    for seed in range(8):
        found = compare(few, "y", models=["lda", "logistic-regression"], folds=10, workers=0, seed=seed)
        assert [entry.state for entry in found.entries] == ["done", "done"]
        assert all(np.allclose(entry.answers.P.sum(axis=1), 1.0, atol=1e-5) for entry in found.entries)


def test_a_file_says_that_searches_were_shared_and_verify_shares_them(tmp_path):
    assert claim_of_a_comparison(tmp_path / "m.assay").witness["shared"] == "pairs"
    assert assay.load(tmp_path / "m.assay").certificate_.verify(frame()).holds


def test_a_file_whose_search_on_all_rows_had_fits_of_its_own_is_verified_by_such_a_search(tmp_path, monkeypatch):
    opens = TableData.of
    with monkeypatch.context() as patch:
        patch.setattr(TableData, "of", lambda *given: replace(opens(*given), pairs=False))
        claim = claim_of_a_comparison(tmp_path / "m.assay")
    assert claim.witness["shared"] is True
    verdicts = assay.load(tmp_path / "m.assay").certificate_.verify(frame())
    assert verdicts.holds, str(verdicts)


def test_a_file_of_before_is_verified_by_searches_of_each_fold(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.selection.compare.parts_of", lambda *_: None)
    assert "shared" not in claim_of_a_comparison(tmp_path / "m.assay").witness
    assert assay.load(tmp_path / "m.assay").certificate_.verify(frame()).holds
