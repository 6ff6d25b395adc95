"""The kernel perceptron of the lecture notes: it is the perceptron where the kernel is affine, and by the book for every other."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from cases import blobs, file_bytes, pairs
from small_blocks import small_blocks

import assay
from assay.errors import ConvergenceWarning
from assay.families.kernel.perceptron.estimators import KernelPerceptron
from assay.families.kernel.perceptron.values import KernelValues
from assay.families.perceptron.estimators import Perceptron

KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "median"},
    {"kernel": "laplacian", "gamma": 0.5},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.1},
    {"kernel": "linear"},
]


def quiet(model, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **more)


def dense(model, n):
    coef = np.zeros((len(model.dual_coef_), n))
    coef[:, model.support_] = model.dual_coef_
    return coef


def by_the_book(K, y, classes, order="cyclic", passes=20, w=None):
    """Coefficients and mistakes as the notes write them, one visit at a time, from the matrix of kernel values."""
    n, w = len(y), np.ones(len(y)) if w is None else w
    coef, mistakes = np.zeros((1 if classes == 2 else classes, n)), 0

    def wrong_class(i):
        f = coef @ K[:, i]
        if classes == 2:
            s = 2 * y[i] - 1
            return 1 - y[i] if (s * f[0] <= 0 if order != "cyclic" else (f[0] >= 0) != (y[i] == 1)) else -1
        others = np.where(np.arange(classes) == y[i], -np.inf, f)
        rival = int(others.argmax())
        tie = order != "cyclic" or rival < y[i]
        return rival if f[rival] > f[y[i]] or (f[rival] == f[y[i]] and tie) else -1

    def correct(i, rival):
        if classes == 2:
            coef[0, i] += w[i] * (2 * y[i] - 1)
        else:
            coef[y[i], i] += w[i]
            coef[rival, i] -= w[i]

    for _ in range(passes):
        before = mistakes
        for i in np.flatnonzero(w > 0):
            rival = wrong_class(i)
            if rival >= 0:
                correct(i, rival)
                mistakes += 1
                if order != "cyclic":
                    break
        if mistakes == before:
            break
    return coef, mistakes


def matrix(model, X):
    return model._kernel().block(X, X)


# --- the notes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", KERNELS, ids=str)
@pytest.mark.parametrize("data", [pairs, blobs], ids=["two classes", "three classes"])
@pytest.mark.parametrize(("order", "most"), [("cyclic", 4), ("first-mistake", 70)])
def test_every_visit_is_as_the_notes_write_it(settings, data, order, most):
    X, y = data(700, 4, 0)  # several chunks of rows
    model = quiet(KernelPerceptron(**settings, order=order, max_iter=most), X, y)
    coef, mistakes = by_the_book(matrix(model, X), y, y.max() + 1, order, most)
    assert model.mistakes_ == mistakes
    assert np.array_equal(dense(model, len(y)), coef)
    assert np.all(model.dual_coef_.any(axis=0))
    assert np.allclose(model.decision_function(X).reshape(len(y), -1), (coef @ matrix(model, X)).T, atol=1e-9)


@pytest.mark.parametrize("order", ["cyclic", "first-mistake"])
@pytest.mark.parametrize("variant", ["last", "averaged"])
@pytest.mark.parametrize("data", [pairs, blobs], ids=["two classes", "three classes"])
def test_with_the_affine_kernel_it_is_the_perceptron(order, variant, data):
    X, y = data(600, 5, 1)
    w = 0.5 + np.arange(600) % 4
    w[::7] = 0
    for shuffle in (False, True) if order == "cyclic" else (False,):
        for weights, classes in ((None, None), (w, {1: 2.0})):
            same = {"order": order, "max_iter": 8, "variant": variant, "shuffle": shuffle, "class_weight": classes}
            with small_blocks():
                mine = quiet(KernelPerceptron(kernel="affine", **same), X, y, sample_weight=weights)
                theirs = quiet(Perceptron(**same), X, y, sample_weight=weights)
            for name in ("mistakes_", "t_", "n_iter_", "converged_", "wrong_", "rows_"):
                assert getattr(mine, name) == getattr(theirs, name), name
            Z = np.column_stack([np.ones(len(X)), X])[mine.support_]
            their_weights = np.column_stack([theirs.intercept_, theirs.coef_])
            assert np.allclose(mine.dual_coef_ @ Z, their_weights, rtol=1e-9, atol=1e-9)
            assert np.array_equal(mine.predict(X), theirs.predict(X))


def test_the_notes_worked_example_from_zero_agrees_in_every_step():
    X, y = np.array([[2.0, -1.0], [2.0, 1.0], [1.0, 3.0]]), np.array([1, 1, 0])
    mine = list(KernelPerceptron(kernel="affine").steps(X, y))
    theirs = list(Perceptron().steps(X, y))
    assert [s.values["row"] for s in mine] == [s.values["row"] for s in theirs]
    assert [s.values["score"] for s in mine] == [s.values["score"] for s in theirs]
    assert [s.values["prediction"] for s in mine] == [s.values["prediction"] for s in theirs]


def test_exclusive_or_needs_a_kernel():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    for kernel in ("rbf", "laplacian", "poly"):
        model = KernelPerceptron(kernel=kernel, gamma=1.0, degree=2, coef0=1.0).fit(X, y)
        assert model.converged_
        assert np.array_equal(model.predict(X), y)
    with pytest.warns(ConvergenceWarning, match="50 passes did not end"):
        assert not KernelPerceptron(kernel="affine", max_iter=50).fit(X, y).converged_


# --- what it keeps, and variants ----------------------------------------------------------------------------------------


def test_the_average_is_that_of_the_coefficients_after_every_visit():
    X, y = blobs(300, 3, 2)
    model = quiet(KernelPerceptron(variant="averaged", max_iter=3), X, y)
    total = np.zeros((3, 300))
    for step in KernelPerceptron(max_iter=3).steps(X, y):
        total[:, step.values["support_"]] += step.values["dual_coef_"]
    assert np.allclose(dense(model, 300), total / model.t_)


@pytest.mark.parametrize("order", ["cyclic", "first-mistake"])
@pytest.mark.parametrize("data", [pairs, blobs], ids=["two classes", "three classes"])
def test_a_budget_bounds_the_rows_and_one_that_is_large_enough_changes_nothing(order, data):
    X, y = data(600, 3, 0)
    free = quiet(KernelPerceptron(order=order, max_iter=6 if order == "cyclic" else 300), X, y)
    for budget in (1, 7, 40, len(free.support_), 10_000):
        model = quiet(free.__class__(**{**free.get_params(), "budget": budget}), X, y)
        assert len(model.support_) <= budget
        assert (model.dropped_ > 0) == (budget < len(free.support_))
        if not model.dropped_:
            assert np.array_equal(model.dual_coef_, free.dual_coef_)
        last = list(type(model)(**model.get_params()).steps(X, y))[-1].values
        assert np.array_equal(last["dual_coef_"], model.dual_coef_)
        assert np.array_equal(last["support_"], model.support_)
        f = model.dual_coef_ @ matrix(model, X)[model.support_]
        assert np.allclose(model.decision_function(X).reshape(600, -1), f.T, atol=1e-9)


def test_what_a_budget_drops_depends_on_the_seed_alone():
    X, y = pairs(500, 3, 0)
    files = [file_bytes(quiet(KernelPerceptron(budget=30, max_iter=2, random_state=s), X, y)) for s in (1, 1, 2)]
    assert files[0] == files[1] != files[2]


def test_a_budget_keeps_most_of_the_accuracy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = (np.linalg.norm(X, axis=1) < 1.18).astype(int)
    model = quiet(KernelPerceptron(budget=200, max_iter=3, gamma=1.0), X[:3000], y[:3000])
    assert model.score(X[3000:], y[3000:]) > 0.93


def test_rows_that_come_in_pieces_are_one_pass_in_order():
    X, y = blobs(300, 3, 0)
    whole = quiet(KernelPerceptron(gamma=0.3, max_iter=1), X, y)
    pieces = KernelPerceptron(gamma=0.3)
    for a in range(0, 300, 37):
        pieces.partial_fit(X[a : a + 37], y[a : a + 37], classes=[0, 1, 2] if a == 0 else None)
    assert np.array_equal(pieces.support_, whole.support_)
    assert np.array_equal(pieces.dual_coef_, whole.dual_coef_)
    assert (pieces.mistakes_, pieces.t_) == (whole.mistakes_, whole.t_)
    assert not pieces.certificate_.claims


def test_the_number_of_threads_changes_no_bit():
    X, y = blobs(3000, 8, 0)
    for settings in ({}, {"shuffle": True}, {"variant": "averaged"}, {"budget": 300}):
        files = {file_bytes(quiet(KernelPerceptron(**settings, max_iter=3, n_jobs=j), X, y)) for j in (1, 2, 5)}
        assert len(files) == 1


def test_a_precomputed_kernel_is_the_kernel_it_holds(tmp_path):
    X, y = blobs(200, 3, 0)
    Z, _ = blobs(50, 3, 1)
    plain = quiet(KernelPerceptron(gamma=0.2, max_iter=5), X, y)
    kernel = plain._kernel()
    given = quiet(KernelPerceptron(kernel="precomputed", max_iter=5), kernel.block(X, X), y)
    assert given.n_features_in_ == 200
    assert np.array_equal(given.dual_coef_, plain.dual_coef_)
    assert given.support_vectors_.shape == (len(given.support_), 0)
    assert np.allclose(given.decision_function(kernel.block(Z, X)), plain.decision_function(Z))
    assert given.certificate_.verify(kernel.block(X, X), y).holds
    given.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert np.array_equal(again.predict(kernel.block(Z, X)), plain.predict(Z))


def test_a_precomputed_kernel_is_cut_in_both_directions_by_scikit_learn():
    from sklearn.model_selection import cross_val_score

    X, y = blobs(120, 3, 0)
    K = KernelPerceptron(gamma=0.2).fit(X, y)._kernel().block(X, X)
    plain = cross_val_score(KernelPerceptron(gamma=0.2, max_iter=5), X, y, cv=3)
    given = cross_val_score(KernelPerceptron(kernel="precomputed", max_iter=5), K, y, cv=3)
    assert np.allclose(plain, given)


def test_a_function_of_ones_own_is_a_kernel():
    X, y = blobs(150, 3, 0)
    own = quiet(KernelPerceptron(kernel=lambda A, B: (1 + A @ B.T) ** 2, max_iter=5), X, y)
    named = quiet(KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0, max_iter=5), X, y)
    assert np.array_equal(own.dual_coef_, named.dual_coef_)
    assert own.certificate_.verify(X, y).holds


def test_single_precision_rows_are_taken_as_the_numbers_that_they_are():
    X, y = pairs(300, 4, 0)
    X = X.astype(np.float32)
    one, other = (quiet(KernelPerceptron(max_iter=5), Z, y) for Z in (X, X.astype(np.float64)))
    assert np.array_equal(one.dual_coef_, other.dual_coef_)


def test_far_away_rows_have_the_kernel_of_near_ones():
    X, y = pairs(300, 4, 0)
    X = np.round(X * 1024) / 1024
    near = quiet(KernelPerceptron(gamma=0.2, max_iter=5), X, y)
    far = quiet(KernelPerceptron(gamma=0.2, max_iter=5), X + 2.0**20, y)
    assert np.array_equal(near.dual_coef_, far.dual_coef_)


def test_it_takes_part_in_a_comparison():
    X, y = pairs(150, 4, 0)
    found = assay.compare(X, y=y, models=["baseline", "kernel-perceptron"], folds=3)
    assert "kernel-perceptron" in str(found)


def test_labels_are_the_signs_of_the_decision_values():
    X, y = pairs(3000, 4, 0)
    model = quiet(KernelPerceptron(max_iter=3), X, y)
    assert np.array_equal(model.predict(X), (model.decision_function(X) >= 0).astype(int))


def test_kernel_values_of_a_chunk_that_comes_again_are_taken_once(monkeypatch):
    asked = []
    block = KernelValues.block
    monkeypatch.setattr(KernelValues, "block", lambda self, a, b: asked.append(len(a)) or block(self, a, b))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    quiet(KernelPerceptron(max_iter=20), X, y)
    assert sorted(asked) == [44, 256]
