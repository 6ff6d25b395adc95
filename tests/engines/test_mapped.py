"""Rows mapped as they are read are what an array of the mapped columns would be, block by block and bit for bit."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from small_blocks import small_blocks

import assay
from assay.engines import ArrayRows, Block, MappedRows, block_rows, fold, some_rows
from assay.engines.derived import MappedPart, unmapped


def powers(width, block):
    return np.sin(np.outer(block.X.sum(axis=1), np.arange(1, width + 1)))


def table(n, d):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, d)), np.arange(n) % 3, 0.5 + rng.random(n)


def firsts(block):
    return [block.start]


def sums(block):
    return block.X.sum(axis=0)


def added(a, b):
    return a + b


@pytest.mark.parametrize("width", [1, 3, 7, 40, 200])
@pytest.mark.parametrize("n", [1, 2, 255, 1000, 8192, 20_011])
def test_mapped_rows_have_the_blocks_of_an_array(n, width):
    with small_blocks():
        X, y, w = table(n, 5)
        mapped = MappedRows(ArrayRows(X, y, w), partial(powers, width), width)
        whole = ArrayRows(powers(width, Block(X, None, None, 0)), y, w)
        for ours, theirs in zip(mapped.blocks(), whole.blocks(), strict=True):
            a, b = ours.load(), theirs.load()
            assert a.start == b.start
            assert all(np.array_equal(p, q) for p, q in zip(a[:3], b[:3], strict=True))
        assert np.array_equal(mapped.in_memory().X, whole.X)


def test_rows_of_unknown_number_end_where_their_source_ends():
    with small_blocks():
        for n in (1, 5000, 3 * block_rows(5), 3 * block_rows(5) + 1):
            X, y, w = table(n, 5)
            source = some_rows(MappedRows(ArrayRows(X, y, w), sums_of_columns, 5), every_row)
            assert source.n_rows is None
            mapped = MappedRows(source, partial(powers, 40), 40)
            assert sum(len(part.load().X) for part in mapped.blocks()) == n


def sums_of_columns(block):
    return block.X + 0.0


def every_row(start, n):
    return np.ones(n, dtype=bool)


@pytest.mark.parametrize("width", [3, 40])
def test_a_fold_over_mapped_rows_gives_the_same_bits_on_every_engine(client, width):
    X, y, w = table(20_011, 5)
    with small_blocks(client):
        found = []
        for name, option in [("threads", {"workers": 3}), ("stream", {"workers": 2}), ("cluster", {"client": client})]:
            engine = assay.engine(name, **option)
            for rows in (ArrayRows(X, y, w), engine.keep(ArrayRows(X, y, w))):
                mapped = engine.keep(MappedRows(rows, partial(powers, width), width))
                assert fold(engine, mapped.blocks(), firsts, added) == list(range(0, 20_011, block_rows(width)))
                found.append(fold(engine, mapped.blocks(), sums, added))
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_a_cluster_reads_each_part_of_the_source_once_a_task():
    X, y, w = table(9000, 5)
    with small_blocks():
        parts = tuple(MappedRows(ArrayRows(X, y, w), partial(powers, 40), 40).blocks())[:4]
        function, sources = unmapped(list, parts)
    assert len(sources) == 1
    assert [part.load().start for part in function(sources)] == [part.start for part in parts]
    assert unmapped(list, (1, 2)) == (list, (1, 2))
    alone, source = unmapped(MappedPart.load, parts[0])
    assert np.array_equal(alone(source).X, parts[0].load().X)
