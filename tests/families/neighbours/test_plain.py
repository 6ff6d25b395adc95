"""Nearest rows by NumPy alone: the order of (distance, number), however few are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from assay.families.neighbours.search import PICKED, least


@pytest.mark.parametrize("k", [1, 5, PICKED, PICKED + 1, 40])
@pytest.mark.parametrize("odd", [None, np.inf, np.nan])
def test_the_least_are_those_of_a_stable_sort(k: int, odd: float | None) -> None:
    r = np.random.default_rng(k).integers(0, 6, (30, 40)).astype(float)  # many are equal
    if odd is not None:
        r[::2, 3:37] = odd
    values, columns = least(r, k)
    expected = np.argsort(r, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(r, expected, axis=1))
