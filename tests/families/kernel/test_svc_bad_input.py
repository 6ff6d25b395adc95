"""Whatever a user can get wrong with a kernel machine ends in words."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import blobs, pairs

import assay
from assay.errors import ConvergenceWarning, DataError, ModelFileError, OneClassError, ParameterError
from assay.estimator.search_space import TableTraits

X, y = pairs(40, 3, 0)


@pytest.mark.parametrize("cls", [assay.SVC, assay.SVR])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"gamma": 0.0}, "gamma=0.0 is not possible"),
        ({"gamma": -1.0}, "gamma=-1.0 is not possible"),
        ({"gamma": np.inf}, "gamma=inf is not possible"),
        ({"gamma": "wide"}, "gamma='wide'"),
        ({"degree": -1}, "degree=-1 is not possible"),
        ({"kernel": "gauss"}, "kernel='gauss'.*'rbf'"),
        ({"C": 0.0}, "C=0.0 is not possible"),
        ({"tol": 0.0}, "tol=0.0 is not possible"),
        ({"solver": "qp"}, "solver='qp'"),
        ({"max_seconds": 0.0}, "max_seconds=0.0"),
    ],
    ids=str,
)
def test_hyper_parameters_out_of_range_are_named(cls, wrong, words):
    with pytest.raises(ParameterError, match=words):
        cls(**wrong).fit(X, y)


def test_what_belongs_together_is_checked_together():
    for more in ({"break_ties": True}, {"multi_class": "ovr"}):
        with pytest.raises(ParameterError, match="decision_function_shape"):
            assay.SVC(decision_function_shape="ovo", **more).fit(X, y)


@pytest.mark.parametrize("cls", [assay.SVC, assay.SVR])
def test_a_matrix_that_is_no_kernel_is_refused(cls):
    K = X @ X.T
    with pytest.raises(DataError, match=r"square.*shape \(40, 3\)"):
        cls(kernel="precomputed").fit(X, y)
    lame = K.copy()
    lame[3, 5] += 1.0
    with pytest.raises(DataError, match=r"not symmetric: K\[3, 5\]"):
        cls(kernel="precomputed").fit(lame, y)
    model = cls(kernel="precomputed").fit(K, y)
    with pytest.raises(DataError, match="expecting 40 features"):
        model.predict(K[:, :7])


def test_a_function_that_is_no_kernel_is_refused():
    for function, words in (
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
        (lambda A, B: A[:, :1] - B[:, :1].T, "not symmetric"),
        (lambda A, B: -(A @ B.T), "not positive semidefinite"),
        (lambda A, B: A @ A.T, "one value a pair|shape"),
    ):
        with pytest.raises(DataError, match=words):
            assay.SVC(kernel=function).fit(X, y).predict(X[:3])


def test_a_function_of_the_users_answers_and_is_not_saved(tmp_path):
    model = assay.SVC(kernel=lambda A, B: A @ B.T).fit(X, y)
    assert model.score(X, y) > 0.5
    with pytest.raises(ModelFileError, match="data, no code"):
        model.save(tmp_path / "m.assay")


def test_one_class_is_too_few():
    with pytest.raises(OneClassError, match="only one class"):
        assay.SVC().fit(X, np.zeros(40))
    with pytest.raises(DataError, match="positive weight"):
        assay.SVC().fit(X, y, sample_weight=(y == 0).astype(float))
    with pytest.raises(DataError, match="Class 2 has no rows of positive weight"):
        assay.SVC(class_weight={2: 0.0}).fit(*blobs(60, 3, 0))


def test_two_rows_are_enough():
    model = assay.SVC(probability=True).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[0.1], [0.8]]).tolist() == ["a", "b"]
    assert assay.SVR().fit([[0.0], [1.0]], [0.0, 3.0]).predict([[0.5]]) == pytest.approx([1.5])
    assert assay.SVR().fit([[1.0]], [2.0]).predict([[5.0]]) == pytest.approx([2.0])


def test_equal_rows_of_opposite_classes_are_named():
    table = np.array([[0.0, 1.0], [2.0, 2.0], [9.0, 9.0], [2.0, 2.0], [-0.0, 3.0]])
    for kernel in ("rbf", "linear"):
        with pytest.raises(DataError, match="rows 1 and 3 have equal features, but classes 'p' and 'q'"):
            assay.SVC(C=np.inf, kernel=kernel).fit(table, list("pppqq"))
    model = assay.SVC(C=np.inf).fit(
        table, list("pppqq"), sample_weight=[1, 1, 1, 0, 1]
    )  # no row where there is no weight
    assert model.predict(table[:3]).tolist() == list("ppp")


@pytest.mark.parametrize("solver", ["smo", "sqp"])
def test_a_hard_margin_that_is_none_is_shown_instead_of_sought_for_ever(solver):
    line = np.arange(6.0)[:, None]
    with pytest.raises(DataError, match=r"none was found: .*no hyperplane has a margin above"):
        assay.SVC(C=np.inf, kernel="linear", solver=solver).fit(line, [0, 1, 0, 1, 0, 1])
    ring = assay.SVC(C=np.inf, kernel="rbf", solver=solver, gamma=1.0).fit(line, [0, 1, 0, 1, 0, 1])
    assert ring.score(line, [0, 1, 0, 1, 0, 1]) == 1.0


def test_columns_of_other_units_are_named_and_the_fit_ends():
    table = X * np.array([1.0, 1e6, 1e-3])
    with pytest.warns(UserWarning, match="column 1.*than 1000 times as far as column 2"):
        model = assay.SVC(max_iter=2000).fit(table, y)
    assert model.converged_
    import pandas as pd

    with pytest.warns(UserWarning, match="'wide'"):
        assay.SVC().fit(pd.DataFrame(table, columns=["a", "wide", "c"]), y)


def test_values_that_overflow_are_refused():
    with pytest.raises(DataError, match="overflow"):
        assay.SVC(kernel="poly", degree=9, gamma=1.0).fit(X * 1e200, y)
    with pytest.raises(DataError, match="overflows"):
        assay.SVC(C=1e200).fit(X, y, sample_weight=np.full(40, 1e200))
    with pytest.raises(ValueError, match="infinity"):
        assay.SVC().fit(X, y).predict([[np.inf, 0.0, 0.0]])


def test_a_comparison_leaves_it_out_where_it_would_take_too_long():
    small = TableTraits(1000, 2, False, True, False, columns=10)
    assert assay.SVC.search_space("classifier", small).unfit is None
    assert assay.SVC.search_space("regressor", small) is None
    assert "too long" in assay.SVC.search_space("classifier", dataclasses.replace(small, rows=10**6)).unfit
    assert assay.SVR.search_space("regressor", dataclasses.replace(small, text=True)).unfit is None


def test_a_fit_cut_short_by_max_iter_says_its_gap():
    table, labels = blobs(2000, 3, 0)
    with pytest.warns(ConvergenceWarning, match=r"stopped at max_iter=1 at a relative gap of .* in \d of 3 problems"):
        model = assay.SVC(C=1e3, gamma=10.0, max_iter=1).fit(table, labels)
    assert not model.converged_
    assert model.fit_status_ == 1
    assert model.gap_.max() > model.tol
    assert model.predict(table).shape == (2000,)
    assert not model.certificate_.holds


@pytest.mark.parametrize("model", [assay.SVC, assay.SVR])
@pytest.mark.parametrize("coef0", [float("inf"), float("-inf"), float("nan")])
def test_a_constant_of_the_kernel_that_is_no_number_is_refused(model, coef0):
    with pytest.raises(ParameterError, match="coef0"):
        model(kernel="poly", coef0=coef0).fit([[-0.2], [0.3]], [1, 0])
