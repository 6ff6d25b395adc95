"""Networks take sparse rows: the bits are those of the rows with all their zeros, of which few are there at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from cases import file_bytes
from small_blocks import small_blocks

import assay
from assay.engines import block_rows
from assay.engines import derived as filled
from assay.errors import DataError
from assay.families.networks import training_data

RNG = np.random.default_rng(2)
N, D = 900, 40
DENSE = np.where(RNG.random((N, D)) < 0.1, RNG.standard_normal((N, D)) + 1.0, 0.0)
CODES = (DENSE[:, 0] + DENSE[:, 1] > 0.5) + (DENSE[:, 2] > 0).astype(int)
NUMBERS = DENSE @ RNG.standard_normal(D)
W = 0.5 + np.arange(N) % 4
BOTH = [(assay.MLPClassifier, CODES), (assay.MLPRegressor, NUMBERS)]
both = pytest.mark.parametrize(("cls", "y"), BOTH, ids=["classifier", "regressor"])
pytestmark = pytest.mark.filterwarnings("ignore:.*with the loss still falling.*")


@both
@pytest.mark.parametrize("words", [{"early_stopping": True}, {"solver": "sgd"}, {"solver": "lbfgs"}], ids=str)
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "filled again"])
def test_sparse_rows_give_the_bits_of_dense_ones(cls, y, words, kind, kept, monkeypatch):
    monkeypatch.setattr(training_data, "MOST_FILLED", 1 << 29 if kept else 0)
    X = sp.csr_array(DENSE).asformat(kind)
    with small_blocks():
        assert block_rows(D) == 256
        dense = cls((8,), max_iter=4, **words).fit(DENSE, y, W)
        sparse = cls((8,), max_iter=4, **words).fit(X, y, W)
        assert file_bytes(dense) == file_bytes(sparse)
        assert np.array_equal(dense.predict(DENSE), sparse.predict(X))
        assert dense.score(DENSE, y) == sparse.score(X, y)
        assert np.array_equal(dense.predict(DENSE[:3]), dense.predict(X.tocsr()[:3]))
        for given in (X, DENSE):
            verdicts = sparse.certificate_.verify(given, y, W)
            assert verdicts.holds
            assert not verdicts.notes


@pytest.mark.parametrize("engine", ["threads", "stream", "cluster"])
def test_sparse_rows_give_the_same_bits_on_every_engine(engine, client):
    X = sp.csr_matrix(DENSE)
    with small_blocks(client):
        here = assay.MLPClassifier((8,), max_iter=3).fit(DENSE, CODES)
        with assay.engine(engine, client) if engine == "cluster" else assay.engine(engine, workers=2):
            there = assay.MLPClassifier((8,), max_iter=3).fit(X, CODES)
            assert np.array_equal(there.predict_proba(X), here.predict_proba(DENSE))
    assert file_bytes(here) == file_bytes(there)


def test_single_precision_stays_single():
    X = DENSE.astype(np.float32)
    one, other = (assay.MLPClassifier((8,), max_iter=3).fit(rows, CODES) for rows in (X, sp.csr_matrix(X)))
    assert file_bytes(one) == file_bytes(other)


@both
def test_pieces_and_steps_take_sparse_rows_too(cls, y):
    X, words = sp.csr_matrix(DENSE), {"classes": [0, 1, 2]} if cls is assay.MLPClassifier else {}
    one, other = (cls((8,)).partial_fit(rows, y, **words).partial_fit(rows, y) for rows in (DENSE, X))
    assert file_bytes(one) == file_bytes(other)
    *_, last = cls((8,), max_iter=2).steps(X, y)
    assert np.array_equal(last.values["weights_"], cls((8,), max_iter=2).fit(DENSE, y).weights_)
    assert last.rows == N


@both
def test_a_wrong_number_is_found_by_its_place(cls, y):
    bad = DENSE.copy()
    bad[700, 3] = np.nan
    model = cls((4,), max_iter=2).fit(DENSE, y)
    for rows in (bad, sp.csr_matrix(bad)):
        with pytest.raises(DataError, match=r"NaN.*row 700, column 3"):
            cls((4,)).fit(rows, y)
        with pytest.raises(DataError, match=r"NaN.*row 700, column 3"):
            model.predict(rows)


@both
def test_too_many_columns_are_refused_in_words(cls, y, monkeypatch):
    monkeypatch.setattr(filled, "MOST_COLUMNS", D - 1)
    with pytest.raises(
        DataError, match=rf"X has {D} columns, and {cls.__name__} fills .* beyond {D - 1}.*linear model"
    ):
        cls((4,)).fit(sp.csr_matrix(DENSE), y)
    cls((4,), max_iter=1).fit(DENSE, y)


def test_the_zeros_of_all_rows_are_never_there_at_once(monkeypatch):
    monkeypatch.setattr(training_data, "MOST_FILLED", 0)
    n, d = 20_000, 2000
    X = sp.random_array((n, d), density=1e-3, format="csr", rng=np.random.default_rng(0), dtype=np.float32)
    with small_blocks():
        tracemalloc.start()
        assay.MLPClassifier((2,), max_iter=2, n_jobs=2).fit(X, np.arange(n) % 2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < n * d * 4 / 2
