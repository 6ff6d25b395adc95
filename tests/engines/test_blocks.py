"""Rows are cut into blocks by the number of columns alone, and split by row number and seed alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import ArrayRows, Block, Rows, block_rows, rechunk, split_rows
from assay.engines.derived import held_out_mask
from assay.engines.rows import BLOCK_ELEMENTS, LARGEST_BLOCK, SMALLEST_BLOCK
from assay.errors import ParameterError


class Pieces(Rows):
    """Rows that come as a stream of blocks."""

    home = "stream"

    def __init__(self, X, y, w):
        self._rows = ArrayRows(X, y, w)
        self.n_columns = X.shape[1]
        self.has_target, self.has_weight = y is not None, w is not None

    def blocks(self):
        return iter([part.load() for part in self._rows.blocks()])


def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.integers(0, 3, n), rng.random(n)


@given(d=st.integers(1, 10_000_000))
def test_a_block_has_a_bounded_number_of_rows(d):
    rows = block_rows(d)
    assert SMALLEST_BLOCK <= rows <= LARGEST_BLOCK
    assert rows % SMALLEST_BLOCK == 0
    assert rows == SMALLEST_BLOCK or rows * d <= BLOCK_ELEMENTS


@given(lengths=st.lists(st.integers(0, 40), max_size=12), step=st.integers(1, 50), weighted=st.booleans())
def test_rechunking_keeps_every_row_in_order(lengths, step, weighted):
    n = sum(lengths)
    X, y, w = table(n, 2)
    ends = np.cumsum(lengths)
    pieces = ((X[e - k : e], y[e - k : e], w[e - k : e] if weighted else None) for e, k in zip(ends, lengths))
    blocks = list(rechunk(pieces, step))
    assert [len(b.X) for b in blocks] == [step] * (n // step) + ([n % step] if n % step else [])
    assert [b.start for b in blocks] == list(range(0, n, step))
    assert all(isinstance(b, Block) and b.X.flags.c_contiguous for b in blocks)
    if n:
        assert np.array_equal(np.concatenate([b.X for b in blocks]), X)
        assert np.array_equal(np.concatenate([b.y for b in blocks]), y)
        assert all((b.w is None) != weighted for b in blocks)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_stream_splits_as_arrays_do(weighted):
    X, y, w = table(3 * block_rows(900), 900)
    w = w if weighted else None
    for seed in (0, 7, 2**64 - 1):
        for ours, streamed in zip(split_rows(ArrayRows(X, y, w), 0.3, seed), split_rows(Pieces(X, y, w), 0.3, seed)):
            a = [part.load() for part in ours.blocks()]
            b = [part.load() for part in streamed.blocks()]
            assert len(a) == len(b) > 0
            for p, q in zip(a, b):
                assert p.start == q.start
                assert np.array_equal(p.X, q.X)
                assert np.array_equal(p.y, q.y)
                assert (p.w is None and q.w is None) or np.array_equal(p.w, q.w)


@given(start=st.integers(0, 10**9), n=st.integers(0, 300), seed=st.integers(0, 2**64 - 1))
def test_a_rows_side_depends_on_its_number_and_the_seed_alone(start, n, seed):
    whole = held_out_mask(start, n, 0.25, seed)
    cut = n // 3
    assert np.array_equal(
        whole, np.concatenate([held_out_mask(start, cut, 0.25, seed), held_out_mask(start + cut, n - cut, 0.25, seed)])
    )
    assert np.all(whole <= held_out_mask(start, n, 0.5, seed))  # a larger share holds out more of the same rows


def test_the_sides_of_different_seeds_are_independent():
    masks = np.array([held_out_mask(0, 20_000, 0.5, seed) for seed in range(20)]).astype(float)
    correlations = np.corrcoef(masks) - np.eye(20)
    assert np.abs(masks.mean(axis=1) - 0.5).max() < 0.02
    assert np.abs(correlations).max() < 0.03


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5])
def test_impossible_shares_are_refused(fraction):
    with pytest.raises(ParameterError, match="cannot be held out"):
        split_rows(ArrayRows(np.ones((4, 1))), fraction, 0)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_impossible_seeds_are_refused(seed):
    with pytest.raises(ParameterError, match="seed"):
        split_rows(ArrayRows(np.ones((4, 1))), 0.5, seed)


def test_rows_of_a_stream_can_be_brought_into_memory():
    X, y, w = table(block_rows(900) + 9, 900)
    inside = Pieces(X, y, w).in_memory()
    assert np.array_equal(inside.X, X)
    assert np.array_equal(inside.y, y)
    assert np.array_equal(inside.w, w)
