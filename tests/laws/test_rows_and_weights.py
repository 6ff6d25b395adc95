"""What a fit may depend on: the rows and their weights, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, IDS, answers, file_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from small_blocks import small_blocks

from assay.engines import block_rows
from assay.engines.engine import one_thread_blas

pytestmark = pytest.mark.parametrize("case", CASES, ids=IDS)


def agree(case, a, b, X):
    assert np.allclose(answers(a, X), answers(b, X), rtol=case.tolerance, atol=case.tolerance)


@settings(max_examples=15)
@given(seed=st.integers(0, 999), data=st.data())
def test_a_weight_of_n_is_a_row_repeated_n_times(case, seed, data):
    if case.ordered:  # there a weight makes one longer step, not several
        return
    X, y = case.rows(60, 3, seed)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=60, max_size=60)))
    times[:6] = 1  # every class keeps some rows
    times = np.where((np.arange(60) < 12) & (times == 0), 1, times)
    weighted = case.model().fit(X, y, sample_weight=times.astype(float))
    repeated = case.model().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    agree(case, weighted, repeated, X)


def test_a_row_of_weight_zero_is_no_row_whatever_it_holds(case):
    X, y = case.rows(60, 3)
    w = np.ones(60)
    w[20:30] = 0
    wild = X.copy()
    wild[20:30] = wild[20:30][::-1]
    agree(
        case,
        case.model().fit(wild, y, sample_weight=w),
        case.model().fit(np.delete(X, slice(20, 30), 0), np.delete(y, slice(20, 30))),
        X,
    )


def test_weights_of_one_are_no_weights(case):
    X, y = case.rows(60, 3)
    agree(case, case.model().fit(X, y, sample_weight=np.ones(60)), case.model().fit(X, y), X)


@settings(max_examples=10)
@given(seed=st.integers(0, 999))
def test_the_order_of_the_rows_does_not_matter_but_for_rounding(case, seed):
    if case.ordered:
        return
    X, y = case.rows(80, 3, seed)
    order = np.random.default_rng(seed).permutation(80)
    agree(case, case.model().fit(X, y), case.model().fit(X[order], y[order]), X)


def test_fitting_twice_is_fitting_once(case):
    X, y = case.rows()
    other, target = case.rows(50, 4, 1)
    once = case.model().fit(X, y)
    twice = case.model().fit(other, target).fit(X, y)
    assert file_bytes(once) == file_bytes(twice)
    assert {k for k in vars(once) if k.endswith("_")} == {k for k in vars(twice) if k.endswith("_")}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_targets_and_weights_stay_as_they_are(case, dtype):
    """Loops are not told which arrays may be written to."""
    X, y = case.rows(60, 3)
    given = (X.astype(dtype), np.array(y), 0.5 + np.arange(60) % 3)
    for array in given:
        array.flags.writeable = False
    before = [array.tobytes() for array in given]
    model = case.model().fit(given[0], given[1], sample_weight=given[2])
    answers(model, given[0])
    model.certificate_.verify(*given)
    assert [array.tobytes() for array in given] == before


def test_predicting_changes_nothing(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    before, copy = file_bytes(model), X.copy()
    first = answers(model, X)
    model.predict(X[:1])
    list(model.predict_blocks(X))
    assert np.array_equal(answers(model, X), first)
    assert file_bytes(model) == before
    assert np.array_equal(X, copy)


def test_each_row_is_answered_alone(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    together = answers(model, X)
    alone = np.concatenate([answers(model, X[i : i + 1]) for i in range(10)])
    assert np.allclose(alone, together[:10], rtol=1e-10, atol=1e-12)


def test_rows_learnt_in_pieces_are_rows_learnt_at_once(case):
    if not case.one_fold:  # a repeated fold needs all rows again; an ordered stream is what it is
        return
    X, y = case.rows()
    w = 0.5 + np.arange(len(y)) % 3
    whole = case.model().fit(X, y, sample_weight=w)
    pieces = case.model()
    first = {"classes": np.unique(y)} if case.classifies else {}
    for a in range(0, len(y), 37):
        more = first if a == 0 else {}
        pieces.partial_fit(X[a : a + 37], y[a : a + 37], sample_weight=w[a : a + 37], **more)
    agree(case, whole, pieces, X)
    assert pieces.certificate_.verify(X, y, w).holds


def test_the_steps_end_at_the_result_of_fit(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    steps = list(case.model().steps(X, y))
    assert len(steps) > 1
    assert any(name in steps[-1].values for name in case.cls.layout)
    assert steps[-1].rows == len(y)
    assert [s.number for s in steps] == list(range(1, len(steps) + 1))
    for name, field in case.cls.layout.items():
        wanted = getattr(model, name, None)
        free = name in ("whiten_", "inverse_root_")  # roots of a matrix are unique but for a rotation
        free |= not case.one_fold and name not in steps[-1].values
        if isinstance(wanted, np.ndarray) and wanted.dtype.kind == "f" and not free:
            assert np.allclose(steps[-1].values[name], wanted, rtol=1e-6, atol=1e-6), (name, field)


def test_a_fit_that_fails_leaves_the_model_as_it_was(case):
    X, y = case.rows()
    model = case.model().fit(X, y)
    before = file_bytes(model)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity|infinite|inf"):
        model.fit(bad, y)
    assert file_bytes(model) == before
    fresh = case.model()
    with pytest.raises(ValueError):
        fresh.fit(bad, y)
    assert not fresh.__sklearn_is_fitted__()


def test_an_abandoned_prediction_gives_blas_its_threads_back(case, blas_of_two):
    from threadpoolctl import threadpool_info

    with small_blocks():
        X, y = case.rows(block_rows(20) + 1, 20)  # two blocks
        model = case.model().fit(X, y)
        with one_thread_blas():  # finds the libraries
            pass
        before = [(i["filepath"], i["num_threads"]) for i in threadpool_info()]
        answers_ = model.predict_blocks(X)
        next(answers_)
        answers_.close()
    assert [(i["filepath"], i["num_threads"]) for i in threadpool_info()] == before
