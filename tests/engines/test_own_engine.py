"""An engine is one class with `map`: those written here, which the library has never heard of, fit every model with the bits of threads."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from cases import CASES, IDS, file_bytes, pairs
from small_blocks import small_blocks

import assay
from assay.engines import Engine, block_rows
from assay.errors import ParameterError

COLUMNS = 20


class Backwards(Engine):
    """In this process; of every five items the last is done first."""

    name = "backwards"
    shares_memory = True

    def map(self, function, items) -> Iterator:
        items = iter(items)
        while some := list(islice(items, 5)):
            yield from reversed([function(item) for item in reversed(some)])


class Posting(Engine):
    """Whatever a task takes or gives goes through the post, as it would to another process."""

    name = "posting"
    group = 2

    def map(self, function, items) -> Iterator:
        for item in items:
            work, given = pickle.loads(pickle.dumps((function, item)))
            yield pickle.loads(pickle.dumps(work(given)))


ENGINES = [Backwards(), Posting()]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_engines_of_others_fit_every_model_with_the_bits_of_threads(case):
    with small_blocks():
        X, y = case.rows(3 * block_rows(COLUMNS) + 7, COLUMNS)
        w = 0.5 + np.arange(len(y)) % 5
        due = case.model().fit(X, y, sample_weight=w)
        for engine in ENGINES:
            with engine:
                found = case.model().fit(X, y, sample_weight=w)
            assert file_bytes(found) == file_bytes(due), engine.name


MODELS = [
    assay.GaussianNB(),
    assay.LogisticRegression(),
    assay.LinearSVC(),
    assay.Perceptron(),
    assay.KNeighborsClassifier(),
    assay.RandomForestClassifier(n_estimators=3),
    assay.MLPClassifier((5,), max_iter=2),
    assay.SVC(),
]


@pytest.mark.filterwarnings("ignore:.*with the loss still falling.*")
@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_files_and_sparse_rows_run_there_too_and_answers_are_the_same(model, engine, tmp_path):
    X, y = pairs(700, 5, 0)
    write(tmp_path, X, y)
    sparse = scipy.sparse.csr_array(np.where(X > 0.5, X, 0.0))
    with small_blocks():
        for given in [(assay.rows(tmp_path / "rows.parquet", target="y"),), (sparse, y)]:
            if given[0] is sparse and not model.takes_sparse:
                continue
            due = fresh(model).fit(*given)
            with engine:
                found = fresh(model).fit(*given)
                assert np.array_equal(found.predict(given[0]), due.predict(given[0]))
            assert file_bytes(found) == file_bytes(due)


def fresh(model):
    return type(model)(**model.get_params())


def write(folder, X, y):
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    pq.write_table(pa.table({**columns, "y": y}), folder / "rows.parquet", row_group_size=100)


def test_an_engine_is_found_by_its_name():
    assert isinstance(assay.engine("posting"), Posting)
    with pytest.raises(ParameterError, match=r"There is no engine 'postin'\. .*posting"):
        assay.engine("postin")
