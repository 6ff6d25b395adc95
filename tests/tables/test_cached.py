"""A source that caches its first pass gives the rows that reading again would give, without reading again."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.engines import engine
from assay.errors import DataError
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import source_of
from assay.tables.sources.source import CachedSource, cached, release_cache
from assay.tables.table_rows import TableRows

TEXT = "size,colour,when,ok,kind\n" + "".join(
    f"{i * 0.5 if i % 7 else ''},{('red', 'blue')[i % 2]},2024-01-{1 + i % 28:02d},{('true', 'false')[i % 2]},{i % 3}\n"
    for i in range(500)
)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text(TEXT)
    return file


def test_the_second_pass_reads_nothing_and_finds_the_same(path):
    plain, kept = source_of(path), cached(source_of(path))
    assert isinstance(kept, CachedSource)
    schema = infer(kept, target="kind")
    assert schema == infer(plain, target="kind")
    path.unlink()  # what is cached needs no file
    ours = TableRows(kept, schema, "kind").in_memory()
    path.write_text(TEXT)
    theirs = TableRows(plain, schema, "kind").in_memory()
    assert np.array_equal(ours.X, theirs.X, equal_nan=True)
    assert np.array_equal(ours.y, theirs.y)
    assert ours.y.dtype == theirs.y.dtype == np.int64


def test_what_was_read_otherwise_is_read_again(path):
    kept = cached(source_of(path))
    infer(kept, target="kind")
    column = [batch.column("kind") for batch in kept.batches({"kind": "text"}, 100)]
    assert column[0][:3].to_pylist() == ["0", "1", "2"]


def test_after_a_release_the_file_is_read_again(path):
    kept = cached(source_of(path))
    schema = infer(kept, target="kind")
    release_cache(kept)
    with engine("stream"):
        again = TableRows(kept, schema, "kind").in_memory()
    assert len(again.X) == 500


def test_a_pass_that_was_broken_off_is_not_taken_for_the_whole(path):
    kept = cached(source_of(path))
    next(iter(kept.batches({"size": "number"}, 10)))
    assert infer(kept, target="kind").n_rows == 500


def test_sources_that_need_no_parsing_stay_as_they_are(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "t.parquet")
    source = source_of(tmp_path / "t.parquet")
    assert cached(source) is source


def test_whole_numbers_with_a_later_decimal_in_the_target_are_refused_as_ever(tmp_path):
    file = tmp_path / "late.csv"
    file.write_text("x,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(400_000)) + "1.5,0.5\n")
    with pytest.raises(DataError):
        assay.compare(file, "y", models=["baseline"])
