"""Support vector regression against libsvm, and in any units."""

from __future__ import annotations

import numpy as np
import pytest
from cases import lines
from sklearn import svm

import assay
from assay.engines import Block
from assay.errors import ParameterError
from assay.estimator.search_space import TableTraits
from assay.families.kernel.functions import Kernel


@pytest.mark.parametrize(
    "more",
    [{}, {"C": 30.0, "epsilon": 0.01}, {"kernel": "linear"}, {"kernel": "poly", "gamma": 0.1, "coef0": 1.0}],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_answer_is_that_of_libsvm(more, weighted):
    X, y = lines(150, 3, 0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    more = {"gamma": 0.3, **more}
    w = 0.5 + np.arange(150) % 3 if weighted else None
    ours = assay.SVR(tol=1e-10, **more).fit(X, y, sample_weight=w)
    theirs = svm.SVR(tol=1e-8, **more).fit(X, y, sample_weight=w)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=2e-3)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=2e-3)
    assert set(theirs.support_[np.abs(theirs.dual_coef_[0]) > 1e-2 * theirs.C]) <= set(ours.support_)
    assert ours.n_support_.tolist() == [len(ours.support_)]
    if more.get("kernel") == "linear":
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-2)


def test_primal_dual_and_gap_are_what_they_are_called():
    X, y = lines(200, 3, 1)
    model = assay.SVR(C=3.0, epsilon=0.2, tol=1e-5).fit(X, y)
    beta = model.dual_coef_[0]
    K = Kernel("rbf", model.gamma_).block(model.support_vectors_, model.support_vectors_)
    square = float(beta @ K @ beta)
    primal = 0.5 * square + 3.0 * np.maximum(0.0, np.abs(y - model.predict(X)) - 0.2).sum()
    dual = -0.5 * square + float(beta @ y[model.support_]) - 0.2 * np.abs(beta).sum()
    assert model.objective_[0] == pytest.approx(primal, rel=1e-6)
    assert model.dual_objective_[0] == pytest.approx(dual, rel=1e-6)
    assert (primal - dual) / primal <= 1e-5


def test_both_solvers_agree():
    X, y = lines(100, 3, 2)
    fast, notes = (assay.SVR(solver=solver, tol=1e-9).fit(X, y) for solver in ("smo", "sqp"))
    assert np.allclose(fast.predict(X), notes.predict(X), atol=1e-4)


def test_a_target_within_the_tube_needs_no_row():
    model = assay.SVR(epsilon=1.0).fit([[0.0], [1.0], [2.0]], [5.0, 5.5, 6.0])
    assert len(model.support_) == 0
    assert model.predict([[9.0]]) == pytest.approx([5.5])
    assert model.complexity() == 1.0


def test_a_warm_start_ends_at_the_same_place():
    X, y = lines(800, 3, 0)
    cold = assay.SVR(C=12.0, tol=1e-6).fit(X, y)
    warm = assay.SVR(C=10.0, tol=1e-6, warm_start=True).fit(X, y).set_params(C=12.0).fit(X, y)
    assert cold.objective_ == pytest.approx(warm.objective_, rel=3e-6)
    assert warm.n_iter_ < cold.n_iter_


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_the_search_is_the_same_in_any_units(scale):
    X, y = lines(200, 3, 0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    spreads = (float(y.std()), float(scale * y.std()))
    one, other = (assay.SVR.search_space("regressor", TableTraits(200, 0, False, True, False, s)) for s in spreads)
    for a, b in zip(one.search, other.search, strict=True):
        wanted = assay.SVR(tol=1e-7, **a).fit(X, y).predict(X)
        found = assay.SVR(tol=1e-7, **b).fit(X, scale * y).predict(X)
        assert np.allclose(scale * wanted, found, rtol=0, atol=0.01 * scale * y.std())


def test_a_tube_that_no_row_may_leave_is_refused():
    with pytest.raises(ParameterError, match="C=inf is not possible"):
        assay.SVR(C=np.inf).fit([[0.0], [1.0]], [0.0, 1.0])


def test_steps_show_both_sides_of_the_tube():
    X, y = lines(60, 3, 0)
    *steps, last = assay.SVR().steps(X, y)
    assert {-1.0, 1.0} <= set(steps[-1].values["side"])
    assert np.array_equal(last.values["dual_coef_"], assay.SVR().fit(X, y).dual_coef_)


@pytest.mark.parametrize("rows", [40, 600])
def test_answers_are_the_same_bits_wherever_blocks_end(rows):
    X, y = lines(3000, 5, 0)
    model = assay.SVR(tol=1e-2).fit(X[:rows], y[:rows])
    together = model._decision(Block(X, None, None, 0))
    for step in (256, 512, 1024, 1280):
        apart = [model._decision(Block(X[i : i + step], None, None, i)) for i in range(0, 3000, step)]
        assert np.array_equal(np.concatenate(apart), together)
