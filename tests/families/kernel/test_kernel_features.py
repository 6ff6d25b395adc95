"""Maps into kernel features: how near they are to the kernel, on what they depend, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_blocks import small_blocks

import assay
from assay.errors import DataError, NotFittedError, ParameterError
from assay.families.kernel.features.maps import draw, merge_draws

rng = np.random.default_rng(3)
X = rng.normal(size=(900, 4)) * np.array([1.0, 2.0, 0.5, 1.0]) + 1.0
KERNELS = {
    "rbf": lambda A, B: rbf_kernel(A, B, gamma=0.3),
    "laplacian": lambda A, B: laplacian_kernel(A, B, gamma=0.3),
    "poly": lambda A, B: polynomial_kernel(A, B, degree=2, gamma=0.3, coef0=0.5),
    "linear": lambda A, B: A @ B.T,
    "affine": lambda A, B: 1.0 + A @ B.T,
}


def rms(A):
    return float(np.sqrt(np.mean(np.asarray(A) ** 2)))


def error(transformer, K):
    F = transformer.transform(X)
    return rms(K - F @ F.T)


@parametrize_with_checks(
    [assay.Nystroem(n_components=20), assay.RandomFourier(n_components=15), assay.RBFSampler(n_components=15)]
)
def test_conformance(estimator, check):
    check(estimator)


# --- how near -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_with_all_rows_as_landmarks_the_kernel_is_reproduced(kernel):
    Z = X[:100]
    F = assay.Nystroem(kernel, gamma=0.3, degree=2, coef0=0.5, n_components=100).fit_transform(Z)
    K = KERNELS[kernel](Z, Z)
    assert np.abs(F @ F.T - K).max() < 1e-8 * max(1.0, np.abs(K).max())


@pytest.mark.parametrize("m", [20, 60, 200])
def test_landmarks_are_as_near_as_those_of_scikit_learn(m):
    K = rbf_kernel(X, X, gamma=0.3)
    theirs = [error(SklearnNystroem(gamma=0.3, n_components=m, random_state=s).fit(X), K) for s in range(8)]
    ours = [error(assay.Nystroem(gamma=0.3, n_components=m, random_state=s).fit(X), K) for s in range(8)]
    assert np.mean(ours) < 1.2 * np.mean(theirs)


@pytest.mark.parametrize("m", [50, 400])
def test_waves_are_as_near_as_those_of_scikit_learn(m):
    K = rbf_kernel(X, X, gamma=0.3)
    theirs = [error(RBFSampler(gamma=0.3, n_components=m, random_state=s).fit(X), K) for s in range(8)]
    ours = [error(assay.RandomFourier(gamma=0.3, n_components=m, random_state=s).fit(X), K) for s in range(8)]
    assert np.mean(ours) < 1.1 * np.mean(theirs)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("m", [10, 11])
def test_products_of_waves_have_the_kernel_as_their_mean(kernel, m):
    Z, total, runs = X[:12], 0.0, 1500
    for seed in range(runs):
        F = assay.RandomFourier(kernel=kernel, gamma=0.3, n_components=m, random_state=seed).fit_transform(Z)
        total += F @ F.T
    assert np.abs(total / runs - KERNELS[kernel](Z, Z)).max() < 5.0 / np.sqrt(runs * m / 2)


def test_an_even_number_of_waves_keeps_the_length_of_rows():
    F = assay.RandomFourier(n_components=30).fit_transform(X)
    assert np.allclose((F**2).sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_are_never_longer_than_rows_in_the_space_of_the_kernel(kernel):
    nystroem = assay.Nystroem(kernel, gamma=0.3, degree=2, coef0=0.5, n_components=7).fit(X[:200])
    for Z in (X, 100.0 * X):
        F, K = nystroem.transform(Z), np.diag(KERNELS[kernel](Z, Z))
        assert np.all((F**2).sum(axis=1) <= K * (1 + 1e-9) + 1e-9)


@pytest.mark.parametrize("cls", [assay.Nystroem, assay.RandomFourier])
def test_the_stated_error_is_that_of_other_rows_and_falls_with_more_features(cls):
    rows = np.random.default_rng(0).normal(size=(3000, 3))
    stated = []
    for m in (10, 40, 160):
        map_ = cls(gamma=0.5, n_components=m).fit(rows)
        F, K = map_.transform(rows), rbf_kernel(rows, rows, gamma=0.5)
        stated.append(map_.approximation_error_)
        assert abs(stated[-1].rms - rms(K - F @ F.T)) < 0.25 * stated[-1].rms
        assert stated[-1].rms <= stated[-1].largest
        assert stated[-1].rows == 500
    assert np.all(np.diff([e.rms for e in stated]) < 0)
    if cls is assay.Nystroem:
        assert np.all(np.diff([e.trace for e in stated]) < 0)
        assert stated[-1].trace >= 0


def test_columns_far_from_zero_lose_no_digits():
    far = X[:100] + 1e6
    F = assay.Nystroem(gamma=0.3, n_components=100).fit_transform(far)
    assert np.abs(F @ F.T - rbf_kernel(far - 1e6, far - 1e6, gamma=0.3)).max() < 1e-8
    F, near = (assay.RandomFourier(gamma=0.3, n_components=50).fit_transform(Z) for Z in (far, far - 1e6))
    assert np.abs(F - near).max() < 1e-8


# --- on what a map depends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", ["scale", "auto", "median", 0.7])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_gamma_is_that_of_kernel_machines(gamma, kernel):
    from assay.families.kernel.functions import resolve

    due = resolve(kernel, gamma, 3, 0.0, X).gamma
    assert assay.Nystroem(kernel, gamma=gamma, n_components=400).fit(X).gamma_ == pytest.approx(due, rel=1e-9)


@given(st.integers(0, 10_000))
def test_a_draw_depends_on_which_rows_there_are_and_on_nothing_else(seed):
    r = np.random.default_rng(seed)
    distinct = r.normal(size=(60, 2)).round(1)
    times = r.integers(1, 4, 60)
    repeated = np.repeat(distinct, times, axis=0)[r.permutation(times.sum())]
    whole = draw(distinct, times.astype(float), 20, seed)
    cut = int(r.integers(0, len(repeated)))
    parts = merge_draws(draw(repeated[:cut], None, 20, seed), draw(repeated[cut:], None, 20, seed), 20)
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))
    assert len(np.unique(whole.rows, axis=0)) == len(whole.rows) == min(20, len(np.unique(distinct + 0.0, axis=0)))


def test_every_distinct_row_is_drawn_as_often_as_any_other():
    rows, often = np.arange(20.0)[:, None], np.zeros(20)
    for seed in range(2000):
        often[draw(rows, None, 5, seed).rows[:, 0].astype(int)] += 1
    assert abs(often - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)


def test_rows_that_single_precision_cannot_tell_apart_are_told_apart():
    rows = 1e9 + np.arange(200.0)[:, None]
    assert len(np.unique(rows.astype(np.float32))) < 10
    assert len(np.unique(draw(rows, None, 50, 0).rows)) == 50


@pytest.mark.parametrize("cls", [assay.Nystroem, assay.RandomFourier])
def test_neither_order_nor_weights_nor_repetition_change_a_map(cls):
    r = np.random.default_rng(1)
    times = r.integers(0, 4, len(X))
    once = cls(gamma=0.3, n_components=20).fit(X, sample_weight=times.astype(float))
    order = r.permutation(len(X))
    mixed = cls(gamma=0.3, n_components=20).fit(X[order], sample_weight=times[order])
    many = cls(gamma=0.3, n_components=20).fit(np.repeat(X, times, axis=0))
    for other in (mixed, many):
        assert np.allclose(other.transform(X), once.transform(X), atol=1e-9)


@pytest.mark.parametrize("cls", [assay.Nystroem, assay.RandomFourier])
def test_rows_of_a_file_are_mapped_to_rows_with_the_bits_of_the_array(cls, tmp_path, client):
    import pandas as pd

    with small_blocks(client):
        r = np.random.default_rng(2)
        n = 9000
        frame = pd.DataFrame(r.normal(size=(n, 3)), columns=list("abc")).assign(y=np.arange(n) % 2)
        frame.to_parquet(tmp_path / "t.parquet")
        file = assay.rows(tmp_path / "t.parquet", target="y")
        here, there = (cls(n_components=30, n_jobs=j).fit(t) for j, t in ((2, frame[["a", "b", "c"]]), (None, file)))
        assert here.gamma_ == there.gamma_
        F, mapped = here.transform(frame[["a", "b", "c"]]), there.transform(file)
        assert mapped.home == "stream"
        assert mapped.names == tuple(there.get_feature_names_out())
        assert np.array_equal(mapped.in_memory().X, F)
        wanted = assay.LogisticRegression().fit(F, frame["y"]).coef_
        assert np.array_equal(assay.LogisticRegression().fit(mapped).coef_, wanted)
        with assay.engine("cluster", client):
            assert np.array_equal(assay.LogisticRegression().fit(mapped).coef_, wanted)
            assert cls(n_components=30).fit(file).gamma_ == here.gamma_


def test_a_dask_array_is_mapped_as_an_array(client):
    import dask.array as da

    A = da.from_array(X, (100, 4))
    with assay.engine("cluster", client):
        mapped = assay.Nystroem(n_components=9).fit(A).transform(A)
    assert np.array_equal(mapped, assay.Nystroem(n_components=9).fit_transform(X))


def test_parameters_are_those_of_a_tunable():
    nystroem = assay.Nystroem("poly", n_components=5, random_state=3)
    assert clone(nystroem).get_params() == nystroem.get_params()
    assert nystroem.set_params(degree=2).degree == 2
    assert repr(nystroem) == "Nystroem(kernel='poly', degree=2, n_components=5, random_state=3)"
    assert list(nystroem.fit(X).get_feature_names_out()[:2]) == ["nystroem0", "nystroem1"]


# --- refused, with words ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"gamma": 0.0}, "gamma=0.0"),
        ({"gamma": -1.0}, "gamma=-1.0"),
        ({"gamma": np.inf}, "gamma=inf"),
        ({"gamma": "wide"}, "'scale' or 'auto' or 'median'"),
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 2.5}, "whole number"),
        ({"degree": 2.5}, "degree=2.5"),
        ({"degree": 0}, "degree=0"),
        ({"coef0": -1.0}, "coef0=-1.0"),
        ({"kernel": "sigmoid"}, "one of 'rbf', 'laplacian'"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_impossible_parameters_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        assay.Nystroem(**given).fit(X)


def test_waves_of_a_kernel_without_a_spectrum_are_refused():
    with pytest.raises(ParameterError, match="'rbf', 'laplacian'"):
        assay.RandomFourier(kernel="poly").fit(X)
    with pytest.raises(ParameterError, match="features='nystroem'"):
        assay.KernelFeaturesClassifier("fourier", kernel="poly").fit(X, X[:, 0] > 0)


def test_more_landmarks_than_rows_are_all_rows_there_are():
    nystroem = assay.Nystroem(n_components=50).fit(np.repeat(X[:7], 5, axis=0))
    assert nystroem.landmarks_.shape == (7, 4)
    assert nystroem.transform(X).shape == (900, 7)
    assert nystroem.approximation_error_.largest < 1e-8


def test_one_row_and_columns_that_never_change_are_no_error():
    for rows in ([[1.0, 2.0]], np.ones((20, 3)), np.zeros((4, 1))):
        for cls in (assay.Nystroem, assay.RandomFourier):
            F = cls(n_components=4).fit_transform(rows)
            assert np.allclose(F @ F.T, 1.0)


@pytest.mark.parametrize("cls", [assay.Nystroem, assay.RandomFourier])
def test_bad_rows_are_refused_by_name(cls):
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(DataError, match=r"NaN \(first in row 7, column 2\)"):
        cls().fit(bad)
    map_ = cls(n_components=5).fit(X)
    with pytest.raises(DataError, match=r"NaN \(first in row 7, column 2\)"):
        map_.transform(bad)
    with pytest.raises(DataError, match="X has 3 features"):
        map_.transform(X[:, :3])
    with pytest.raises(DataError, match="overflow"):
        cls().fit(np.full((3, 2), 1e200) * [[1.0], [2.0], [3.0]])
    with pytest.raises(DataError, match="give some rows a positive weight"):
        cls().fit(X, sample_weight=np.zeros(len(X)))
    with pytest.raises(NotFittedError):
        cls().transform(X)
    with pytest.raises(DataError, match="input_features"):
        map_.get_feature_names_out(["a"])


def test_text_is_refused_with_a_hint():
    import pandas as pd

    with pytest.raises(ValueError, match="Column 'a' contains 'x', which is not a number"):
        assay.Nystroem().fit(pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}))


@pytest.mark.parametrize("maker", [assay.Nystroem, assay.RandomFourier])
@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(3)], ids=repr)
def test_a_seed_may_be_a_number_of_numpy(maker, seed):
    X = np.random.default_rng(0).normal(size=(50, 2))
    assert np.array_equal(maker(random_state=seed).fit_transform(X), maker(random_state=3).fit_transform(X))


def test_rbf_sampler_is_random_fourier_of_the_gaussian_kernel_and_its_error_falls_with_the_root_of_the_features():
    X = np.random.default_rng(0).standard_normal((30, 3)) + 5.0
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    off = []
    for many in (100, 10_000):
        sampler = assay.RBFSampler(gamma=0.3, n_components=many, random_state=1)
        F = sampler.fit_transform(X)
        same = assay.RandomFourier(gamma=0.3, n_components=many, random_state=1).fit_transform(X)
        assert np.array_equal(F, same)
        angles = X @ sampler.random_weights_ + sampler.random_offset_
        assert pytest.approx(np.sqrt(2.0 / many) * np.cos(angles), abs=1e-12) == F
        off.append(np.abs(F @ F.T - K).max())
    assert off[1] < 0.05
    assert off[1] < 0.25 * off[0]
    assert assay.RBFSampler(gamma="scale").fit([[0.0], [1.0]]).gamma_ == pytest.approx(4.0)


def test_sparse_rows_have_the_features_of_their_zeros_filled_in():
    import scipy.sparse

    X = np.random.default_rng(0).poisson(0.5, (20, 4)).astype(np.float64)
    for features in (assay.RBFSampler(), assay.Nystroem(n_components=5), assay.RandomFourier()):
        dense = features.fit(X).transform(X)
        assert np.array_equal(features.fit(scipy.sparse.csr_array(X)).transform(scipy.sparse.csr_array(X)), dense)
