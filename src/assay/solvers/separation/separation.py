"""Whether a hyperplane separates two classes, and the one of greatest margin, by working set. Shape: repeated fold.

    γ* = max_{w, b} min_i s_i (w·x_i + b) / ‖w‖ = ½ min_{α₊, α₋ convex} ‖Σ α₊x₊ − Σ α₋x₋‖          space "affine"
    γ̃* = max_{w, b} min_i s_i (w·x_i + b) / ‖(b, w)‖ = min_{α convex} ‖Σ α s (1, x)‖                space "augmented"
    the same with b = 0 and without the 1                                                           space "linear"

A few rows S are solved (hulls.py); one fold over all rows finds those furthest on the wrong side of that solution; they
join S; and so on. Hulls of S that meet prove that nothing separates the whole. Otherwise the distance of the hulls of S is
at least that of the whole, the least s(w·x + b) found by the fold at most: when both agree, the margin is known.
The verdict is looked for in columns scaled by powers of two, so that units do not matter; then the margin in the user's.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from assay.engines import Engine, Rows
from assay.engines.engine import one_thread_blas
from assay.errors import OneClassError, ParameterError
from assay.inputs.labels import Labels, plain_labels
from assay.numerics import Array, Floats
from assay.solvers.separation import exact
from assay.solvers.separation.hulls import MOST_ACTIVE
from assay.solvers.separation.weak import MOST_COLUMNS, ScaledCoordinates, weak_direction
from assay.solvers.separation.working_set import (
    ColumnRanges,
    ExtremeRows,
    Hyperplane,
    PositiveClass,
    SeparationSearch,
    SignedPoints,
    cut,
    dense,
    longest,
    power_of_two,
    proved,
    ranges,
    sure_margin,
)

Space = Literal["affine", "augmented", "linear"]
LARGEST_SIMPLEX = (60, 600)  # columns and rows up to which hulls that touch but for rounding are decided exactly


class Separation(NamedTuple):
    """The verdict and its evidence.

    `separable` True: w = `coef` (d,), b = `intercept`, ‖w‖ = 1 (augmented: ‖(b, w)‖ = 1), every s(w·x + b) ≥ `margin` > 0;
    `rows`, `sides`, `weights` are support rows whose hulls are `upper` ≥ γ* from each other (half the distance if affine),
    `gap` = 1 − margin / upper. False: at most d + 2 rows whose hulls meet, `exact` where that is proved;
    `weak`: some direction `coef`, `intercept` has s(w·x + b) ≥ 0 for all rows and > 0 for some (None: not decided).
    `separable` None: rounding hides the answer (`reason` says how). `weights` sum to 1 on each side (in all, if not affine).
    `radius` is max ‖x‖, in the augmented space max ‖(1, x)‖.
    """

    separable: bool | None
    space: Space
    coef: Floats
    intercept: float
    margin: float
    upper: float
    gap: float
    radius: float
    rows: Array
    sides: Array
    weights: Floats
    exact: bool
    weak: bool | None
    passes: int
    reason: str


class HardMargin(NamedTuple):
    """min ½‖w‖² with s_i (w·x_i + b) ≥ 1: the solution, its multipliers `alpha` at `rows`, and both values.

    w = Σ α_i s_i x_i up to the gap; dual = Σα − ½‖Σ α s x‖² ≤ optimum ≤ primal = ½‖w‖²; gap = (primal − dual) / primal.
    """

    coef: Floats
    intercept: float
    rows: Array
    sides: Array
    alpha: Floats
    primal: float
    dual: float
    gap: float


def separate(
    engine: Engine,
    rows: Rows,
    labels: Labels,
    *,
    space: Space = "affine",
    positive: int | None = None,
    tol: float = 1e-9,
    max_passes: int = 1000,
    start: tuple[Floats, float] | None = None,
) -> Separation:
    """Separate the class with code `positive` (default: the greatest) from the rest; rows of weight 0 do not count.

    `start` (w, b) is a hyperplane that may separate already, as a fit has found it.
    """
    if space not in ("affine", "augmented", "linear"):
        raise ParameterError(f"There is no space {space!r}: choose 'affine', 'augmented' or 'linear'.")
    sides = PositiveClass(labels, len(labels.classes) - 1 if positive is None else positive, rows.names)
    with one_thread_blas(), np.errstate(over="ignore", under="ignore"):
        columns = ranges(engine, rows, sides)
        _refuse_one_side(sides, columns)
        search = SeparationSearch(engine, rows, sides, columns, min(512, max(64, rows.n_columns // 2)), max_passes)
        lens = _unit_lens(columns, space, rows.sparse)
        plane = _begin(search, lens, space, start)
        if proved(search, plane):
            return _greatest_margin(search, space, tol, plane)
        meets, plane = cut(search, lens, tol, first=True)
        if not meets and not proved(search, plane):
            meets, plane = cut(search, lens, tol, first=False)
            if not meets and not proved(search, plane):
                return _undecided(search, space) if search.full else _after_all(search, space, tol, False)
        return _after_all(search, space, tol, True) if meets else _greatest_margin(search, space, tol, plane)


def _begin(
    search: SeparationSearch, lens: SignedPoints, space: Space, start: tuple[Floats, float] | None
) -> Hyperplane:
    """The first working set: rows furthest on the wrong side along `start`, or along the line through the sides' means."""
    if start is None:
        means = search.columns.sums / search.columns.counts[:, None]
        v = (means[0] - means[1]) * lens.scale
    else:
        v = np.divide(start[0], lens.scale, out=np.zeros(len(lens.scale)), where=lens.scale > 0)
    w, _ = lens.plane(v, np.arange(len(v)))
    search.begin(w)
    low = [float(search.S.values[search.S.sides == side].min()) for side in (1, -1)]
    b = 0.0 if space == "linear" else (low[1] - low[0]) / 2
    return Hyperplane(w, b, min(low[0] + b, low[1] - b))


def _after_all(search: SeparationSearch, space: Space, tol: float, meets: bool) -> Separation:
    """Hulls that meet, or touch but for rounding: the proof decides."""
    found = meeting_of(search, space == "linear", meets)
    if isinstance(found, Hyperplane):
        return _greatest_margin(search, space, tol, found)
    return _undecided(search, space) if found is None else _not_separable(search, space, found)


def _refuse_one_side(sides: PositiveClass, columns: ColumnRanges) -> None:
    if (columns.counts > 0).all():
        return
    name = plain_labels(sides.labels.classes)[sides.positive]
    who = "No row" if columns.counts[0] == 0 else "Every row"
    raise OneClassError(f"{who} that counts is of class {name!r}: separating needs rows of at least two classes.")


def _sizes(columns: ColumnRanges) -> Floats:
    return np.maximum(np.abs(columns.low), np.abs(columns.high))


def _unit_lens(columns: ColumnRanges, space: Space, sparse: bool) -> SignedPoints:
    """Each column about its middle and scaled to ½ … 1; a constant column does not count."""
    if space == "linear" or sparse:
        size = _sizes(columns)
        return SignedPoints(np.zeros(len(size)), power_of_two(size), 0.0, 1 if space == "linear" else 2)
    middle, half = columns.low / 2 + columns.high / 2, columns.high / 2 - columns.low / 2
    return SignedPoints(middle, np.where(half > 0, power_of_two(half), 0.0), 0.0, 2)


def _true_lens(columns: ColumnRanges, space: Space, sparse: bool) -> SignedPoints:
    """All columns scaled by one power of two: the geometry is the user's."""
    d, size = len(columns.low), float(_sizes(columns).max())
    if space == "affine":
        half = size if sparse else float((columns.high / 2 - columns.low / 2).max())
        return _unit_lens(columns, space, sparse)._replace(scale=np.full(d, float(power_of_two(half))))
    lift = space == "augmented"
    unit_size = float(power_of_two(max(size, 1.0) if lift else size))
    return SignedPoints(np.zeros(d), np.full(d, unit_size), unit_size if lift else 0.0, 1)


def _greatest_margin(search: SeparationSearch, space: Space, tol: float, known: Hyperplane) -> Separation:
    lens = _true_lens(search.columns, space, search.rows.sparse)
    _, plane = cut(search, lens, tol, first=False)
    margin = sure_margin(search, plane)
    if not margin > 0:
        plane = _in_space(known, space)
        margin = sure_margin(search, plane)
        if not margin > 0:
            return _undecided(search, space)
    picks, weights = search.support()
    upper = _distance(picks, weights, space)
    return Separation(
        separable=True,
        space=space,
        coef=plane.w,
        intercept=plane.b,
        margin=margin,
        upper=max(upper, margin),
        gap=max(0.0, 1.0 - margin / upper) if upper > 0 else 1.0,
        radius=_radius(search, space),
        rows=picks.numbers,
        sides=picks.sides,
        weights=weights,
        exact=True,
        weak=True,
        passes=search.passes,
        reason="every row lies on its side by more than rounding can explain",
    )


def _in_space(plane: Hyperplane, space: Space) -> Hyperplane:
    """A hyperplane with ‖w‖ = 1 as one with ‖(b, w)‖ = 1 where that is the measure."""
    norm = float(np.hypot(1.0, plane.b)) if space == "augmented" else 1.0
    return Hyperplane(plane.w / norm, plane.b / norm, plane.least / norm)


def _distance(picks: ExtremeRows, weights: Floats, space: Space) -> float:
    """The distance that the weights prove no margin can pass."""
    X = dense(picks)
    if space == "affine":
        X = X - X[0]  # the sides' weights balance, so that any point may be the origin; near ones round less
    unit = float(power_of_two(np.abs(X).max()))
    signed = weights * picks.sides
    v = signed @ (X * unit)
    if space == "augmented":
        v = np.append(v, float(signed.sum()) * unit)
    return float(np.linalg.norm(v)) / unit / (2 if space == "affine" else 1)


def _radius(search: SeparationSearch, space: Space) -> float:
    search.passes += 1
    size = float(_sizes(search.columns).max())
    radius = longest(search.engine, search.rows, search.sides, size)
    return float(np.hypot(1.0, radius)) if space == "augmented" else radius


def _not_separable(search: SeparationSearch, space: Space, found: Meeting) -> Separation:
    lens = _unit_lens(search.columns, space, search.rows.sparse)
    frame = ScaledCoordinates(lens.centre, lens.scale, space != "linear")
    meeting = dense(found.picks, all_columns=search.rows.n_columns <= MOST_COLUMNS)
    weak, w, b = weak_direction(search.engine, search.rows, search.sides, frame, meeting)
    return Separation(
        separable=False,
        space=space,
        coef=w,
        intercept=b,
        margin=0.0,
        upper=0.0,
        gap=0.0,
        radius=_radius(search, space),
        rows=found.picks.numbers,
        sides=found.picks.sides,
        weights=found.weights / 2 if space == "augmented" else found.weights,
        exact=found.exact,
        weak=weak,
        passes=search.passes,
        reason="the hulls of the two sides meet",
    )


def _undecided(search: SeparationSearch, space: Space) -> Separation:
    picks, weights = search.support()
    nothing = np.zeros(search.rows.n_columns)
    reason = "the hulls of the two sides touch up to rounding: whether they meet hangs on the numbers' last digits"
    if search.full:
        reason = f"more than {MOST_ACTIVE} rows would have to be weighed to tell, which takes too long"
    upper = _distance(picks, weights, space)
    return Separation(
        None, space, nothing, 0.0, 0.0, upper, 1.0, _radius(search, space), picks.numbers, picks.sides, weights,
        False, None, search.passes, reason,
    )  # fmt: skip


def hard_margin(found: Separation) -> HardMargin:
    """The hard-margin SVM that a separation (space "affine", or "linear" for one without intercept) amounts to."""
    if not found.separable or found.space == "augmented":
        raise ParameterError("A hard margin needs rows that are separable, in the space 'affine' or 'linear'.")
    γ, distance = found.margin, found.upper
    alpha = found.weights / distance / distance / (2 if found.space == "affine" else 1)
    primal, dual = 0.5 / γ / γ, 0.5 / distance / distance
    return HardMargin(
        found.coef / γ, found.intercept / γ, found.rows, found.sides, alpha, primal, dual, (primal - dual) / primal
    )


# --- hulls that meet up to rounding: the proof that they do meet, or, rarely, that they do not -----------------------


class Meeting(NamedTuple):
    """Rows whose hulls meet, their weights, and whether that is proved, not only so to rounding."""

    picks: ExtremeRows
    weights: Floats
    exact: bool


def meeting_of(search: SeparationSearch, through_origin: bool, meets: bool) -> Meeting | Hyperplane | None:
    """Turn hulls that meet up to rounding (`meets`) into a proof that they do or, rarely, that they do not; else None."""
    picks, weights = search.support()
    proof = _exactly(picks, through_origin)
    if proof is not None:
        return proof
    if len(weights) <= exact.LARGEST:
        return _decide(search, through_origin)
    return Meeting(picks, weights, False) if meets else None


def _exactly(picks: ExtremeRows, through_origin: bool) -> Meeting | None:
    """The exact weights of rows that determine them, if there are such and none is negative."""
    alpha = exact.meeting_weights(dense(picks), picks.sides, through_origin)
    if alpha is None:
        return None
    kept = np.flatnonzero(alpha > 0)
    return Meeting(picks.take(kept), np.minimum(alpha[kept], 1.0), True)


def _decide(search: SeparationSearch, through_origin: bool) -> Meeting | Hyperplane | None:
    """Hulls so near to each other that rounding hides the answer: the simplex method in whole numbers, on a growing S."""
    for _ in range(search.max_passes):
        X = dense(search.S, all_columns=True)
        if X.shape[1] > LARGEST_SIMPLEX[0] or len(X) > LARGEST_SIMPLEX[1]:
            return None
        found = exact.decide(X, search.S.sides, through_origin, search.weights > 0)
        if found is None:
            return None
        if found.at is not None:
            return _exactly(search.S.take(np.sort(np.array(found.at))), through_origin)
        norm = float(np.linalg.norm(found.w))  # its largest entry is 1
        w, b = found.w / norm, found.b / norm
        picks = search.price(w)
        low = [float(picks.values[picks.sides == side].min()) for side in (1, -1)]
        plane = Hyperplane(w, b, min(low[0] + b, low[1] - b))
        if proved(search, plane):
            return plane
        if not search.add(picks, w):
            return None
    return None
