"""A metric learnt from the classes: d_W(x, z) = (x − z)ᵀ W (x − z), W = L Lᵀ, that best separates the rows. Shape: pairwise blocks, repeated.

`s` steps of L-BFGS climb F(L), the mean chance that a row is named rightly by its soft neighbours, itself left out
(assay/neighbours/soft.py). W is full, diagonal, or of low rank, which makes L a projection to look at.
A step compares all pairs of rows; of more than `most` rows some are drawn by their keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from assay.engines.blas import one_thread_blas
from assay.engines.threads import Threads
from assay.errors import ParameterError
from assay.hypotheses.neighbours.ascent import slope_of
from assay.hypotheses.neighbours.starts import best_start, deviations, drawn
from assay.neighbours.soft import Sorted, sorted_rows, value
from assay.numerics import Array, Floats

MOST = 20_000  # rows: 4·10⁸ pairs a step


@dataclass(frozen=True)
class LearnedMap:
    """`map` L (d, r) and what it reached: F at the end (`value`), at the start, and after each step (`history`).

    r is the rank, or for a full or diagonal W the number of columns that vary.
    `gradient` is ‖∂F/∂L‖·‖L‖ in the coordinates of the search; `rows` is the number of rows that were learnt from.
    """

    map: Floats
    value: float
    start: float
    history: tuple[float, ...]
    steps: int
    converged: bool
    gradient: float
    rows: int

    @property
    def W(self) -> Floats:
        """L Lᵀ (d, d)."""
        return quadratic(self.map)


def quadratic(L: Floats) -> Floats:
    """L Lᵀ, symmetric in every bit."""
    with one_thread_blas():
        W: Floats = L @ L.T
    return 0.5 * (W + W.T)


def learn_map(
    Z: Floats,
    codes: Array,
    weights: Floats | None = None,
    *,
    shape: str | int = "full",
    steps: int = 50,
    tol: float = 1e-5,
    workers: Threads,
    seed: int = 0,
    most: int = MOST,
    each: Callable[[int, Floats, float], None] | None = None,
) -> LearnedMap:
    """The map L under which rows of a class are each other's neighbours.

    Z (n, d) finite, codes (n,) of the classes; `shape` is "full", "diagonal" or the number r of columns of L; `each(step, W, F)` is called at the
    start (step 0) and after each step. Columns that do not vary get the weight 0; where none does, L is the identity.

    >>> rng = np.random.default_rng(0)
    >>> Z, y = rng.normal(size=(200, 2)), np.repeat([0, 1], 100)
    >>> Z[:, 0] += 4.0 * y  # the other column is noise
    >>> found = learn_map(Z, y, shape="diagonal", workers=Threads(1))
    >>> bool(found.value > found.start), bool(found.W[0, 0] > 20 * found.W[1, 1])
    (True, True)
    """
    d = Z.shape[1]
    rank, diagonal = _checked(shape, d), shape == "diagonal"
    at = drawn(len(Z), most, seed)
    with one_thread_blas():
        rows = sorted_rows(Z[at], codes[at], None if weights is None else weights[at])
        if len(rows.X) < 2 or not deviations(rows).any():
            return _nothing(rows, np.eye(d, rank or d), workers)
        ascent, C, start = best_start(rows, diagonal, rank, seed, workers)
        history = []
        for place in ascent.climb(start, steps, tol):
            L = C @ ascent.map(place.w)
            history.append(-place.value)
            if each is not None:
                each(len(history) - 1, quadratic(L), history[-1])
    taken, slope = len(history) - 1, slope_of(place)
    converged = taken < steps or slope <= tol
    return LearnedMap(L, history[-1], history[0], tuple(history), taken, converged, slope, len(rows.X))


def _checked(shape: str | int, d: int) -> int | None:
    """The rank, or None where the map is full or diagonal."""
    if shape in ("full", "diagonal"):
        return None
    if isinstance(shape, Integral) and not isinstance(shape, bool) and 1 <= shape <= d:
        return int(shape)
    raise ParameterError(f"A map of {d} columns is 'full', 'diagonal' or of a rank from 1 to {d}, not {shape!r}.")


def _nothing(rows: Sorted, L: Floats, workers: Threads) -> LearnedMap:
    """Where there is nothing to learn: fewer than two rows, or rows that are all equal."""
    F = value(rows, L, workers)
    return LearnedMap(L, F, F, (F,), 0, True, 0.0, len(rows.X))
