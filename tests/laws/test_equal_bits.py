"""The law of equal bits: the same rows give the same model file, byte for byte, wherever the work runs."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from cases import CASES, IDS, lines
from engine_marks import fitted, mark, marks_on_engines
from small_blocks import small_blocks

import assay
from assay.engines import block_rows

WIDE, COLUMNS, NARROW = 60, 20, 3
#: around the edges of a block, and nine blocks: more than one group of a cluster's tasks; in blocks and rows beyond, columns
SHAPES = [(1, -1, WIDE), (1, 1, WIDE), (1, 0, COLUMNS), (2, 0, COLUMNS), (9, 5, NARROW)]


pytestmark = pytest.mark.usefixtures("blas_of_two")


@pytest.fixture(scope="module", autouse=True)
def _small(client):
    with small_blocks(client):
        yield


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_model_files_are_the_same_bytes_on_every_engine(case, shape, client):
    blocks, beyond, d = shape
    engines = [("threads", 2), ("stream", 1)]
    if d == NARROW:  # enough blocks for all workers
        engines += [("threads", 1), ("threads", 5), ("stream", 2)]
    marks = marks_on_engines(case, blocks * block_rows(d) + beyond, d, client, engines)
    assert len(set(marks.values())) == 1, marks


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_single_precision_and_unweighted_rows_too(case, client):
    n, engines = 3 * block_rows(COLUMNS) + 2, [("threads", 1), ("threads", 3), ("stream", 2)]
    marks = marks_on_engines(case, n, COLUMNS, client, engines, dtype=np.float32, weighted=False)
    assert len(set(marks.values())) == 1, marks


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_dask_arrays_and_frames_of_any_chunking_give_the_bytes_of_numpy(case, client):
    import dask.array as da
    import dask.dataframe as dd
    import pandas as pd

    n, d = 2 * block_rows(COLUMNS) + 11, COLUMNS
    X, y = case.rows(n, d)
    w = 1.0 + np.arange(n) % 3
    here = mark(case.model().fit(X, y, sample_weight=w))
    rows, columns = [(100, 20), (331, 7), (n, 13)][
        CASES.index(case) % 3
    ]  # chunks are put together before any model sees them
    A, b, v = da.from_array(X, (rows, columns)), da.from_array(y, 197), da.from_array(w, n)
    with assay.engine("cluster", client):
        assert mark(case.model().fit(A, b, sample_weight=v)) == here
    assert mark(case.model().fit(da.from_array(X, (211, d)), y, sample_weight=w)) == here  # on this process's threads
    names = [f"x{j}" for j in range(d)]
    frame = pd.DataFrame(X, columns=names)
    here = mark(case.model().fit(frame, y))
    with assay.engine("cluster", client):
        lazy = dd.from_pandas(frame, npartitions=3)
        assert mark(case.model().fit(lazy, dd.from_pandas(pd.Series(y), npartitions=3))) == here


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_parquet_file_gives_the_bytes_of_its_frame(case, tmp_path, client):
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = case.rows(2 * block_rows(COLUMNS) + 11, COLUMNS)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(frame.assign(y=y), preserve_index=False), path, row_group_size=100)
    rows = assay.rows(path, target="y")
    marks = {"file": _without_target(case.model().fit(rows))}
    for name, workers in [("threads", 2), ("stream", 1)]:
        with assay.engine(name, workers=workers):
            marks[name] = _without_target(case.model().fit(rows))
    with assay.engine("cluster", client):
        marks["cluster"] = _without_target(case.model().fit(rows))
    marks["frame"] = _without_target(case.model().fit(frame, y))
    assert len(set(marks.values())) == 1, marks


def _without_target(model):
    """A file knows the name of its target, an array does not: the rest of the model must be the same bytes."""
    from assay.store import encode

    record = model.to_record()
    record.target = None
    record.provenance.pop("target", None)
    return hashlib.sha256(encode(record)).hexdigest()


@pytest.mark.parametrize("case", [CASES[IDS.index("gaussian-nb")]], ids=str)
def test_a_scheduler_address_is_as_good_as_a_client(case, client):
    address = client.scheduler.address
    n = block_rows(COLUMNS) + 1
    here = mark(fitted(case, n, COLUMNS))
    with assay.engine("cluster", address):
        assert mark(fitted(case, n, COLUMNS)) == here


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_answers_are_the_same_bits_on_every_engine(case, client):
    X, y = case.rows(2 * block_rows(COLUMNS) + 3, COLUMNS)
    model = case.model().fit(X, y)
    seen = []
    for name, option in [("threads", {"workers": 1}), ("threads", {"workers": 3}), ("stream", {"workers": 2})]:
        with assay.engine(name, **option):
            seen.append(model.predict(X))
    with assay.engine("cluster", client):
        seen.append(model.predict(X))
    assert all(np.array_equal(seen[0], other) for other in seen[1:])
    assert np.array_equal(np.concatenate(list(model.predict_blocks(X))), seen[0])


@pytest.mark.filterwarnings("ignore::UserWarning")  # twenty steps are not enough to converge
def test_gradient_descent_takes_the_same_steps_on_every_engine(client):
    X, y = lines(3 * block_rows(NARROW) + 5, NARROW, 0)
    marks = []
    for name, options in [("threads", {"workers": 1}), ("threads", {"workers": 3}), ("stream", {"workers": 2})]:
        with assay.engine(name, **options):
            marks.append(mark(assay.LinearRegression(solver="gd", max_iter=20).fit(X, y)))
    with assay.engine("cluster", client):
        marks.append(mark(assay.LinearRegression(solver="gd", max_iter=20).fit(X, y)))
    assert len(set(marks)) == 1


def test_engines_nest_and_the_inner_one_is_in_force():
    from assay.engines import ArrayRows, engine_for

    rows = ArrayRows(np.ones((2, 2)))
    with assay.engine("threads", workers=3) as outer:
        assert engine_for(rows) is outer
        with assay.engine("stream", workers=1) as inner:
            assert engine_for(rows, 7) is inner
            with outer:
                assert engine_for(rows) is outer
            assert engine_for(rows) is inner
        assert engine_for(rows) is outer
    assert engine_for(rows, 2).workers == 2


def test_n_jobs_never_reaches_the_file():
    case = CASES[IDS.index("gaussian-nb")]
    X, y = case.rows()
    assert len({mark(case.model(n_jobs=j).fit(X, y)) for j in (None, 1, 3)}) == 1
