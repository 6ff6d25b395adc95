"""The kernel support vector machine against libsvm, closed forms and its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from cases import answers, blobs, pairs
from sklearn import svm

import assay
from assay.families.kernel.functions import Kernel

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.2},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf", "gamma": "auto", "C": 30.0},
]
W = 0.5 + np.arange(200) % 4


@pytest.mark.parametrize("more", KERNELS, ids=str)
@pytest.mark.parametrize("data", [pairs, blobs], ids=["two", "three"])
@pytest.mark.parametrize("w", [None, W], ids=["", "weighted"])
def test_every_number_is_that_of_libsvm(more, data, w):
    X, y = data(200, 4, 3)
    ours = assay.SVC(tol=1e-10, **more).fit(X, y, sample_weight=w)
    theirs = svm.SVC(tol=1e-8, **more).fit(X, y, sample_weight=w)
    near = {"rtol": 1e-3, "atol": 1e-3 * theirs.C}
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-3, atol=1e-3)
    assert np.allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=1e-3)
    size = np.abs(theirs.dual_coef_).max(axis=0)
    assert set(theirs.support_[size > 1e-3 * theirs.C]) <= set(ours.support_)
    ours_all, theirs_all = np.zeros((2, len(theirs.dual_coef_), len(X)))
    ours_all[:, ours.support_], theirs_all[:, theirs.support_] = ours.dual_coef_, theirs.dual_coef_
    if more["kernel"] == "rbf":  # elsewhere the matrix is singular, and the multipliers are not unique
        assert np.allclose(ours_all, theirs_all, **near)
        assert np.array_equal(ours.support_, theirs.support_)
        assert np.array_equal(ours.n_support_, theirs.n_support_)
    if more["kernel"] == "linear":
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_decision_values_have_the_shapes_of_scikit_learn():
    X, y = blobs(150, 3, 1)
    for shape in ("ovr", "ovo"):
        more = {"decision_function_shape": shape, "C": 2.0}
        ours, theirs = assay.SVC(tol=1e-9, **more).fit(X, y), svm.SVC(tol=1e-8, **more).fit(X, y)
        assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
    broken = {"break_ties": True, "C": 0.02}
    ours, theirs = assay.SVC(tol=1e-10, **broken).fit(X, y), svm.SVC(tol=1e-9, **broken).fit(X, y)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    assert np.array_equal(ours.predict(X), ours.decision_function(X).argmax(axis=1))


def test_one_against_the_rest_is_one_problem_a_class():
    X, y = blobs(150, 3, 1)
    model = assay.SVC(multi_class="ovr", tol=1e-9).fit(X, y)
    F = model.decision_function(X)
    gamma = model.gamma_
    for k in range(3):
        one = svm.SVC(gamma=gamma, tol=1e-8).fit(X, y == k)
        assert np.allclose(F[:, k], one.decision_function(X), atol=1e-3)
    assert np.array_equal(model.predict(X), F.argmax(axis=1))
    assert model.dual_coef_.shape == (3, len(model.support_))


def test_both_solvers_agree():
    X, y = pairs(120, 3, 2)
    for C in (0.5, 20.0):
        fast, notes = (assay.SVC(C=C, solver=solver, tol=1e-9).fit(X, y) for solver in ("smo", "sqp"))
        assert np.allclose(fast.decision_function(X), notes.decision_function(X), atol=1e-4)
        assert fast.objective_ == pytest.approx(notes.objective_, rel=1e-7)


def test_primal_dual_and_gap_are_what_they_are_called():
    X, y = pairs(200, 4, 0)
    model = assay.SVC(C=3.0, tol=1e-5).fit(X, y)
    f = model.decision_function(X)
    K = Kernel("rbf", model.gamma_).block(model.support_vectors_, model.support_vectors_)
    square = float(model.dual_coef_[0] @ K @ model.dual_coef_[0])
    primal = 0.5 * square + 3.0 * np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * f).sum()
    dual = np.abs(model.dual_coef_).sum() - 0.5 * square
    assert model.objective_[0] == pytest.approx(primal, rel=1e-6)
    assert model.dual_objective_[0] == pytest.approx(dual, rel=1e-6)
    assert (primal - dual) / primal <= 1e-5
    assert model.converged_
    assert abs(model.dual_coef_.sum()) <= 1e-9 * np.abs(model.dual_coef_).sum()


def test_the_hard_margin_of_two_rows_is_half_their_distance():
    model = assay.SVC(C=np.inf, kernel="linear", tol=1e-9).fit([[0.0, 0.0], [3.0, 4.0]], [0, 1])
    assert 1 / np.linalg.norm(model.coef_) == pytest.approx(2.5)
    assert model.decision_function([[0.0, 0.0], [3.0, 4.0], [1.5, 2.0]]) == pytest.approx([-1, 1, 0], abs=1e-6)


def test_the_hard_margin_is_the_limit_of_dear_rows():
    X, y = pairs(80, 3, 0)
    hard, soft = assay.SVC(C=np.inf, gamma=2.0, tol=1e-8).fit(X, y), svm.SVC(C=1e8, gamma=2.0, tol=1e-8).fit(X, y)
    assert np.allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-3)
    assert np.all(np.where(y == 1, 1, -1) * hard.decision_function(X) >= 1 - 1e-3)
    assert hard.certificate_.verify(X, y).holds


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_a_precomputed_matrix_gives_what_its_kernel_gives(kernel):
    X, y = blobs(90, 3, 4)
    direct = assay.SVC(kernel=kernel, gamma=0.4, probability=False, tol=1e-9).fit(X[:60], y[:60])
    function = Kernel(kernel, 0.4)
    given = assay.SVC(kernel="precomputed", tol=1e-9).fit(function.block(X[:60], X[:60]), y[:60])
    own = assay.SVC(kernel=function.block, tol=1e-9).fit(X[:60], y[:60])
    wanted = direct.decision_function(X[60:])
    assert np.allclose(given.decision_function(function.block(X[60:], X[:60])), wanted, atol=1e-3)
    assert np.allclose(own.decision_function(X[60:]), wanted, atol=1e-3)
    assert given.support_vectors_.shape == (len(given.support_), 0)
    assert given.__sklearn_tags__().input_tags.pairwise
    assert not own.__sklearn_tags__().input_tags.pairwise


def test_a_precomputed_matrix_keeps_its_row_numbers_where_rows_have_no_weight(tmp_path):
    X, y = blobs(60, 3, 4)
    w = np.ones(60)
    w[::7] = 0
    K = X @ X.T
    model = assay.SVC(kernel="precomputed", probability=True, tol=1e-9).fit(K, y, sample_weight=w)
    left = assay.SVC(kernel="linear", tol=1e-9).fit(X[w > 0], y[w > 0])
    assert np.all(w[model.support_] > 0)
    assert np.allclose(model.decision_function(K), left.decision_function(X), atol=1e-3)
    model.save(tmp_path / "m.assay")
    assert np.array_equal(assay.load(tmp_path / "m.assay").predict_proba(K), model.predict_proba(K))


def test_weights_of_classes_multiply_c():
    X, y = pairs(150, 3, 5)
    for weights in ("balanced", {1: 5.0}):
        ours = assay.SVC(class_weight=weights, tol=1e-9).fit(X, y)
        theirs = svm.SVC(class_weight=weights, tol=1e-8).fit(X, y)
        assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)
        assert np.allclose(ours.upper_, theirs.class_weight_)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(threads):
    X, y = blobs(300, 3, 0)
    one, many = assay.SVC(n_jobs=1).fit(X, y), assay.SVC(n_jobs=threads).fit(X, y)
    assert np.array_equal(one.dual_coef_, many.dual_coef_)
    assert np.array_equal(one.decision_function(X), many.decision_function(X))


def test_a_warm_start_ends_at_the_same_place_sooner():
    X, y = blobs(1500, 4, 0)
    cold = assay.SVC(C=12.0, tol=1e-6).fit(X, y)
    warm = assay.SVC(C=10.0, tol=1e-6, warm_start=True).fit(X, y).set_params(C=12.0).fit(X, y)
    assert np.allclose(answers(cold, X), answers(warm, X), atol=1e-2)
    assert warm.n_iter_.sum() < cold.n_iter_.sum()
    assert cold.objective_ == pytest.approx(warm.objective_, rel=3e-6)
    other = warm.fit(X[:100], y[:100])  # other rows: there is nothing to begin at
    assert np.array_equal(other.dual_coef_, assay.SVC(C=12.0, tol=1e-6).fit(X[:100], y[:100]).dual_coef_)


def test_a_path_over_c_and_gamma_is_as_good_as_separate_fits():
    from assay.inputs import as_rows

    X, y = blobs(200, 3, 1)
    settings = [{"C": C, "gamma": g} for g in (0.1, 1.0) for C in (1.0, 10.0, 100.0)]
    for model, setting in zip(assay.SVC(tol=1e-8).fit_each(as_rows(X, y), settings), settings, strict=True):
        alone = assay.SVC(tol=1e-8, **setting).fit(X, y)
        assert np.allclose(model.decision_function(X), alone.decision_function(X), atol=1e-2)
        assert model.get_params() == alone.get_params()


def test_steps_show_feasible_multipliers_and_a_falling_gap():
    X, y = blobs(90, 3, 0)
    *steps, last = assay.SVC(C=5.0).steps(X, y)
    assert {step.values["problem"] for step in steps} == {0, 1, 2}
    for step in steps:
        v = step.values
        assert np.all((v["alpha"] > 0) & (v["alpha"] <= 5.0))
        assert abs(float(v["side"] @ v["alpha"])) <= 1e-9 * (1 + v["alpha"].sum())
        assert set(v["working"]) <= set(v["of"])
        assert len(v["decision"]) == len(v["of"])
        assert v["dual"] <= v["objective"] + 1e-9
    assert np.array_equal(last.values["dual_coef_"], assay.SVC(C=5.0).fit(X, y).dual_coef_)
    assert len(list(assay.SVC(C=5.0).steps(X, y, every=3))) < len(steps)


def test_the_guide_of_libsvm_is_reproduced_digit_for_digit(data_dir):
    """A row of the second fit lies 0.0002 from the boundary: libsvm with tol=1e-6 puts it on the other side, 96.125."""
    table = np.genfromtxt(data_dir / "svmguide1.csv", delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    train, test = slice(0, 3089), slice(3089, 7089)
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    scaled = 2.0 * (X - low) / (high - low) - 1.0
    raw = assay.SVC(gamma=0.25, tol=1e-5).fit(X[train], y[train])
    assert round(100 * raw.score(X[test], y[test]), 3) == 66.925
    for C, gamma, accuracy in ((1.0, 0.25, 96.15), (2.0, 2.0, 96.875), (32.0, 1.0, 96.85)):
        model = assay.SVC(C=C, gamma=gamma, tol=1e-5).fit(scaled[train], y[train])
        assert round(100 * model.score(scaled[test], y[test]), 3) == accuracy


def test_labels_are_the_signs_of_decision_values_for_many_rows_too():
    X, y = pairs(900, 4, 0)
    model = assay.SVC(C=10.0).fit(X, y)
    Z = np.random.default_rng(0).normal(scale=2.0, size=(30_000, 4))
    assert np.array_equal(model.predict(Z), (model.decision_function(Z) > 0).astype(y.dtype))


def test_a_hard_margin_survives_its_file(tmp_path):
    X, y = pairs(60, 3, 0)
    w = 1.0 + np.arange(60) % 2
    model = assay.SVC(C=np.inf, gamma=2.0, probability=True).fit(X, y, sample_weight=w)
    model.save(tmp_path / "m.assay")
    again = assay.load(tmp_path / "m.assay")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.all(np.isinf(again.upper_))
    assert again.certificate_.verify(X, y, w).holds


@pytest.mark.parametrize("sparse", [False, True])
def test_the_weights_of_a_linear_kernel_cannot_be_written_to(sparse):
    from scipy.sparse import csr_array

    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]])
    model = assay.SVC(kernel="linear").fit(csr_array(X) if sparse else X, [0, 0, 1, 1])
    assert model.coef_.shape == (1, 2)
    with pytest.raises((RuntimeError, ValueError), match="read-only"):
        model.coef_[0, 0] = 0.0
