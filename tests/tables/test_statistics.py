"""What an encoding knows of its rows: counts, means and scatters, tile by tile, as plain NumPy finds them at once."""

import numpy as np
import pytest

from assay.engines import ArrayRows, Block
from assay.engines.engine import Threads
from assay.errors import DataError
from assay.tables.encoding.columns import TILE, ColumnGroups, _Absorb, statistics_of
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source
from assay.tables.table_rows import GATHERED, TableRows

N = GATHERED + 3 * TILE + 77


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(1e6, 1.0, N), 6)
    lines = [f"{'' if i % 7 == 0 else x[i]},{i * 0.5 + 0.25},{'red' if i % 3 else 'blue'}" for i in range(N)]
    path = tmp_path_factory.mktemp("statistics") / "table.csv"
    path.write_text("x,z,colour\n" + "\n".join(lines) + "\n")
    return table_source(str(path))


def test_tiles_together_are_what_the_whole_column_has(source):
    schema = infer(source)
    rows = TableRows(source, schema).in_memory()
    found = statistics_of(Threads(1), ColumnGroups.of(schema), rows)
    x = rows.X[:, 0]
    there = x[~np.isnan(x)]
    assert found.n == N
    assert found.present.tolist() == [len(there), N]
    assert found.mean[0] == pytest.approx(there.mean(), rel=1e-15)
    assert found.m2[0] == pytest.approx(((there - there.mean()) ** 2).sum(), rel=1e-12)
    blue, red, other, missing = found.levels[0].tolist()
    assert (blue, red, other, missing) == (len(range(0, N, 3)), N - len(range(0, N, 3)), 0, 0)


def test_an_infinite_number_is_named_by_its_row_in_whichever_tile_it_lies(source):
    schema = infer(source)
    rows = TableRows(source, schema).in_memory()
    X = rows.X.copy()
    X[2 * TILE + 5, 1] = np.inf
    with pytest.raises(DataError, match=f"'z' is infinite in row {2 * TILE + 5} "):
        _Absorb(ColumnGroups.of(schema))(Block(X, None, None, 0))


def test_rows_come_into_memory_in_order_and_whole_in_small_pieces(source):
    schema = infer(source)
    table = TableRows(source, schema, target="z")
    rows = table.in_memory()
    assert isinstance(rows, ArrayRows)
    assert np.array_equal(rows.y, np.arange(N) * 0.5 + 0.25)
    assert table.n_rows == N
    whole = np.concatenate([part.load().X for part in table.blocks()])
    assert np.array_equal(rows.X, whole, equal_nan=True)
