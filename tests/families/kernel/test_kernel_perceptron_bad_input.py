"""What a kernel perceptron cannot use, it refuses with words."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from cases import blobs, pairs

from assay.errors import DataError, ModelFileError, ParameterError
from assay.estimator.search_space import TableTraits
from assay.families.kernel.perceptron.estimators import KernelPerceptron

X, Y = blobs(60, 3, 0)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gamma": 0.0}, "gamma=0.0 is not possible"),
        ({"gamma": -1.0}, "gamma=-1.0 is not possible"),
        ({"gamma": np.inf}, "gamma=inf is not possible"),
        ({"gamma": "wide"}, "gamma='wide' is not possible"),
        ({"degree": -1}, "degree=-1 is not possible"),
        ({"coef0": np.nan}, "coef0=nan is not possible"),
        ({"kernel": "gauss"}, "kernel='gauss' is not possible"),
        ({"kernel": None}, "kernel=None is not possible"),
        ({"budget": 0}, "budget=0 is not possible"),
        ({"order": "random"}, "order='random' is not possible"),
        ({"max_iter": 0}, "max_iter=0 is not possible"),
        ({"order": "first-mistake", "shuffle": True}, "shuffle=True belongs to order='cyclic'"),
        ({"variant": "averaged", "budget": 9}, "budget=9 keeps some of them"),
    ],
    ids=str,
)
def test_impossible_settings(settings, words):
    with pytest.raises(ParameterError, match=words):
        KernelPerceptron(**settings).fit(X, Y)


def test_a_negative_number_has_no_broken_power():
    with pytest.raises(DataError, match="is no real number"):
        KernelPerceptron(kernel="poly", degree=2.5).fit(X, Y)


def test_a_precomputed_kernel_must_be_one():
    K = X @ X.T
    bad = K.copy()
    bad[3, 4] += 1.0
    model = KernelPerceptron(kernel="precomputed", max_iter=2)
    with pytest.raises(DataError, match="square matrix"):
        model.fit(X, Y)
    with pytest.raises(DataError, match=r"not symmetric: K\[3, 4\]"):
        model.fit(bad, Y)
    bad[3, 4] = np.nan
    with pytest.raises(DataError, match="NaN"):
        model.fit(bad, Y)
    with pytest.raises(DataError, match="59 features"):
        model.fit(K, Y).predict(K[:, :59])
    with pytest.raises(ParameterError, match="precomputed matrix does not hold"):
        KernelPerceptron(kernel="precomputed").partial_fit(K, Y, classes=[0, 1, 2])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN or infinity"),
        (lambda A, B: A @ A.T, "one value a pair|not symmetric"),
        (lambda A, B: np.ones(3), "one value a pair"),
        (lambda A, B: A[:, :1] - B[:, :1].T, "not symmetric"),
        (lambda A, B: -(A @ B.T), "not positive semidefinite"),
    ],
)
def test_a_function_must_be_a_kernel(function, words):
    with pytest.raises(DataError, match=words):
        KernelPerceptron(kernel=function).fit(X, Y).predict(X[:3])


def test_a_function_cannot_be_saved(tmp_path):
    model = KernelPerceptron(kernel=lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(axis=2))).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"function is code.*precomputed"):
        model.save(tmp_path / "m.assay")


def test_one_class_two_rows_and_equal_rows():
    with pytest.raises(DataError, match="only one class"):
        KernelPerceptron().fit(X, np.zeros(60))
    with pytest.raises(DataError, match="Only one class"):
        KernelPerceptron().fit(X, Y, sample_weight=(Y == 1).astype(float))
    two = KernelPerceptron().fit([[0.0], [1.0]], ["a", "b"])
    assert two.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    assert two.certificate_.verify([[0.0], [1.0]], ["a", "b"]).holds
    with pytest.warns(UserWarning, match="1 of 2 rows are on the wrong side"):
        same = KernelPerceptron(max_iter=7).fit([[1.0], [1.0]], [0, 1])
    assert not same.converged_
    assert same.certificate_.verify([[1.0], [1.0]], [0, 1]).holds


def test_missing_infinite_and_huge_numbers():
    for value, words in ((np.nan, "NaN.*row 3, column 1"), (np.inf, "infinity.*row 3, column 1")):
        bad = X.copy()
        bad[3, 1] = value
        with pytest.raises(DataError, match=words):
            KernelPerceptron().fit(bad, Y)
        with pytest.raises(DataError, match=words):
            KernelPerceptron().fit(X, Y).predict(bad)
    for kernel in ("rbf", "affine", "poly", "laplacian"):
        with pytest.raises(DataError, match="overflow"):
            KernelPerceptron(kernel=kernel, gamma=1.0 if kernel != "laplacian" else "scale").fit(X * 1e200, Y)
    with pytest.raises(DataError, match="overflow"):
        KernelPerceptron(kernel="affine", max_iter=9).fit(X, Y, sample_weight=np.full(60, 1e308))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_unscaled_columns_end():
    Z = X * np.array([1.0, 1e6, 1e-6])
    assert KernelPerceptron(max_iter=50).fit(Z, Y).n_iter_ <= 50


def test_sparse_rows_are_refused_with_words():
    with pytest.raises(TypeError, match="toarray"):
        KernelPerceptron().fit(sp.csr_matrix(X), Y)


def test_partial_fit_goes_on_with_the_same_kernel_only():
    model = KernelPerceptron().partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ParameterError, match="fitted with kernel='rbf'"):
        model.set_params(kernel="linear").partial_fit(X, Y)
    model.set_params(kernel="rbf", budget=1)
    with pytest.raises(ParameterError, match="rows are kept, and budget=1"):
        model.partial_fit(X, Y)
    with pytest.raises(DataError, match="classes must be passed"):
        KernelPerceptron().partial_fit(X, Y)
    with pytest.raises(ParameterError, match="'balanced' is not supported"):
        KernelPerceptron(class_weight="balanced").partial_fit(X, Y, classes=[0, 1, 2])


def test_comparisons_leave_it_out_where_it_cannot_end_in_time():
    def unfit(rows, text):
        return KernelPerceptron.search_space("classifier", TableTraits(rows, 2, False, False, text)).unfit

    assert unfit(1000, False) is None
    assert "so many rows" in unfit(100_001, False)
    assert unfit(1000, True) is None
    assert KernelPerceptron.search_space("regressor", TableTraits(10, 0, False, False, False)) is None


def test_complexity_counts_the_coefficients():
    Z, y = pairs(80, 3, 0)
    assert KernelPerceptron().fit(Z, y).complexity() == len(KernelPerceptron().fit(Z, y).support_)
