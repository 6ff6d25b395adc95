"""Rows picked by number are what a copy of them would be, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from assay import GaussianNB
from assay.engines import ArrayRows, PickedRows, block_rows

rng = np.random.default_rng(5)
X, y, w = rng.normal(size=(700_000, 6)), rng.integers(0, 3, 700_000), rng.random(700_000)


@pytest.mark.parametrize("which", [np.arange(0, 700_000, 2), np.sort(rng.integers(0, 700_000, 300_000)), np.arange(5)])
def test_picked_rows_have_the_blocks_of_a_copy(which):
    picked, copied = PickedRows(ArrayRows(X, y, w), which), ArrayRows(X[which], y[which], w[which])
    pairs = list(zip(picked.blocks(), copied.blocks(), strict=True))
    assert len(pairs) == -(-len(which) // block_rows(6))
    for ours, theirs in pairs:
        a, b = ours.load(), theirs.load()
        assert a.start == b.start
        assert all(np.array_equal(p, q) for p, q in zip(a[:3], b[:3]))
    targets = np.concatenate([part.load().y for part in picked.targets()])
    assert np.array_equal(targets, y[which])
    assert np.array_equal(picked.in_memory().X, X[which])


def test_a_model_of_picked_rows_is_that_of_a_copy_bit_for_bit():
    which = np.arange(1, 700_000, 3)
    ours = GaussianNB().fit(PickedRows(ArrayRows(X, y), which))
    theirs = GaussianNB().fit(ArrayRows(X[which], y[which]))
    assert np.array_equal(ours.theta_, theirs.theta_)
    assert ours.certificate_.fingerprint == theirs.certificate_.fingerprint


def test_float32_stays_float32():
    picked = PickedRows(ArrayRows(X[:100].astype(np.float32), y[:100]), np.arange(10))
    assert next(picked.blocks()).load().X.dtype == np.float32
