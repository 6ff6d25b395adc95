"""Lines through a field of numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

from assay.pictures.geometry import centres, contour

SIDE = centres(-2.0, 2.0, 81)
X, Y = np.meshgrid(SIDE, SIDE)


def test_a_circle_is_one_ring_at_its_radius() -> None:
    (ring,) = contour(SIDE, SIDE, X**2 + Y**2, 1.0)
    assert np.abs(np.hypot(*ring.T) - 1).max() < 1e-3
    assert (ring[0] == ring[-1]).all()
    steps = np.hypot(*np.diff(ring, axis=0).T)
    assert abs(steps.sum() - 2 * np.pi) < 0.01


def test_a_straight_line_is_met_exactly_from_side_to_side() -> None:
    (line,) = contour(SIDE, SIDE, 2 * X - Y - 0.1)
    assert np.abs(2 * line[:, 0] - line[:, 1] - 0.1).max() < 1e-12
    assert {abs(line[0, 1]).round(6), abs(line[-1, 1]).round(6)} == {SIDE[-1].round(6)}


def test_two_islands_are_two_rings() -> None:
    field = np.minimum((X - 1) ** 2 + Y**2, (X + 1) ** 2 + Y**2)
    assert len(contour(SIDE, SIDE, field, 0.25)) == 2


def test_there_is_no_line_where_the_field_is_unknown() -> None:
    field = np.where(X > 0, np.nan, Y)
    (line,) = contour(SIDE, SIDE, field)
    assert line[:, 0].max() <= 0.0


@settings(deadline=None, max_examples=60)
@given(arrays.arrays(np.float64, (6, 7), elements=some.sampled_from([-2.0, -1.0, 0.0, 1.0, 3.0])))
def test_lines_part_what_is_above_from_what_is_not(field: np.ndarray) -> None:
    """Each pair of neighbours of which one is above is crossed once, and nothing else is."""
    x, y = np.arange(7.0), np.arange(6.0)
    above = field > 0
    crossed = (above[:, 1:] != above[:, :-1]).sum() + (above[1:] != above[:-1]).sum()
    lines = contour(x, y, field)
    ends = sum(len(line) - bool((line[0] == line[-1]).all() and len(line) > 2) for line in lines)
    assert ends == crossed or (field == 0).any()  # where the field is zero at a corner, crossings may coincide
    assert (not lines) == (crossed == 0)
