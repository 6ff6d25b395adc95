"""A metric learnt from the classes: d_W(x, z) = (x − z)ᵀ W (x − z), W = L Lᵀ, that best separates the rows. Shape: pairwise blocks, repeated.

L-BFGS climbs F(L), the mean chance that a row is named rightly by its soft neighbours, itself left out (Goldberger and others 2004). W is
full, diagonal, or of low rank, which makes L a projection to plot.

    a = Lᵀx,   p_ij = w_j exp(−‖a_i − a_j‖²) / Σ_{l ≠ i} w_l exp(−‖a_i − a_l‖²),   F(L) = Σ_i w_i Σ_{j ≠ i, y_j = y_i} p_ij / Σ_i w_i

A row is never its own neighbour, whatever its weight: weight 3 is a row that counts for three as a query and for three as a neighbour of
others, not three rows that could be each other's. With m_ij = w_i p_ij ([y_j = y_i] − p_i), whose rows add up to zero,

    ∂F/∂L = 2 [ Xᵀ(M + Mᵀ)X − Xᵀ diag(c) X ] L,   c_j = Σ_i m_ij

Either XᵀMX is added up (d × d), or for maps to few columns MA + MᵀA (n × r). All in float64; memory is a few rows of all pairs for each worker.
Rows are taken ROWS at a time and their sums added in order, so the bits do not depend on the number of workers. A step compares all pairs of
rows; of more than `most` rows some are drawn by their keys.

F has many summits: where a climb starts decides which is found, more than how it climbs. Two kinds of coordinates, in both of which the
columns' units do not matter, each have the identity as the start (for low rank with leading directions), scaled so that a row has so many soft
NEIGHBOURS: with very many there is no slope, with few the nearest row is all there is to learn from. Each start is tried with a few steps on
a few rows, and the one that gets highest is taken. (F at the starts would not tell: it is greatest where the fewest rows are neighbours, from
where climbs end lowest.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np

from assay.engines.derived import row_keys
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import ParameterError
from assay.families.neighbours.loops.soft import soft_rows
from assay.numerics import Array, Floats
from assay.solvers.lbfgs import LbfgsState, Memory, descend, dot

EPS = float(np.finfo(np.float64).eps)
BLURRED = 1e-9  # what rounding may change a chance by, as a share, before it is taken anew
ROWS = 256  # of a task
TILE = 64  # rows whose pairs with all rows are in memory at a time: for some thousand rows they stay in a core's cache
FIRST = 0.05  # the length of the first step, as a share of the start's
LONGEST = 0.2  # of a step at first, likewise
MEMORY = 10
NEIGHBOURS = (8.0, 32.0)  # that rows have at the start
TRIAL_ROWS, TRIAL_STEPS = 750, 12
COUNTED_ROWS = 32  # rows whose neighbours are counted
WIDEST, HALVINGS = 20.0, 16  # scales are sought from 2^−20 to 2^20 of the mean square distance
LEAST = 1e-3  # the least variance within classes, as a share of all, that is believed
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
        history: list[float] = []
        for place in ascent.climb(start, steps, tol):
            L = C @ ascent.map(place.w)
            history.append(told(rows, L, -place.value) if not history else -place.value)
            if each is not None:
                each(len(history) - 1, quadratic(L), history[-1])
        history[-1] = told(rows, L, history[-1])
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


def drawn(n: int, most: int, seed: int) -> Array:
    """The numbers of at most `most` of n rows, those with the least keys, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(row_keys(0, n, seed), kind="stable")[:most])


def deviations(rows: Sorted) -> Floats:
    """The deviation of each column; 0 for one that does not vary."""
    out: Floats = np.sqrt((rows.w[:, None] * rows.X**2).sum(axis=0))
    return np.where(rows.X.max(axis=0) > rows.X.min(axis=0), out, 0.0)


class StartSpace(NamedTuple):
    """Coordinates z = Cᵀx, C (d, k), of the k columns that vary; C·columns scales each column alone; `within`: see `spaces`."""

    C: Floats
    columns: Floats
    within: bool


def spaces(rows: Sorted, diagonal: bool) -> list[StartSpace]:
    """Coordinates in which rows spread alike `within` their classes (diagonal: each column alone), and the scaled columns."""
    deviation = deviations(rows)
    kept = np.flatnonzero(deviation > 0)
    scale = np.zeros((len(deviation), len(kept)))
    scale[kept, np.arange(len(kept))] = 1.0 / deviation[kept]
    rest = rows.X @ scale
    for a in np.unique(rows.low):
        own = slice(a, rows.high[a])
        rest[own] -= (rows.w[own, None] * rest[own]).sum(axis=0) / rows.w[own].sum()
    S = (rows.w[:, None] * rest).T @ rest
    values, vectors = (np.diag(S), np.eye(len(S))) if diagonal else np.linalg.eigh(0.5 * (S + S.T))
    root = np.sqrt(np.maximum(values, LEAST))
    within = StartSpace(scale @ (vectors / root @ vectors.T), vectors * root @ vectors.T, True)
    return [within, StartSpace(scale, np.eye(len(kept)), False)]


def directions(inside: Sorted, space: StartSpace, rank: int | None) -> Floats:
    """The identity (k, k), or of low rank (k, rank) the discriminant directions within classes, filled up with principal ones, or the latter alone."""
    if rank is None:
        return np.eye(len(space.columns))
    scaled = inside.X @ space.columns
    principal = space.columns @ _leading((inside.w[:, None] * scaled).T @ scaled, rank)
    if not space.within:
        return principal
    between, classes = _between(inside)
    few = min(rank, classes - 1)
    return np.hstack([_leading(between, few), principal[:, : rank - few]])


def _between(rows: Sorted) -> tuple[Floats, int]:
    """The scatter of the classes' means, and the number of classes."""
    firsts = np.unique(rows.low)
    shares = np.array([rows.w[a : rows.high[a]].sum() for a in firsts])
    means = np.array([rows.w[a : rows.high[a]] @ rows.X[a : rows.high[a]] for a in firsts]) / shares[:, None]
    return (shares[:, None] * means).T @ means, len(firsts)


def _leading(S: Floats, r: int) -> Floats:
    """The r eigenvectors of S (k, k) with the greatest eigenvalues, largest entry positive; columns of zeros behind the k-th."""
    vectors = np.linalg.eigh(S)[1][:, ::-1][:, :r]
    top = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    out = np.zeros((len(S), r))
    out[:, : vectors.shape[1]] = vectors * np.where(top < 0, -1.0, 1.0)
    return out


def soft_scale(rows: Sorted, L: Floats, neighbours: float) -> float:
    """The factor of L with which a row has so many neighbours (the exponential of the mean entropy of p_i), by COUNTED_ROWS rows."""
    n = len(rows.X)
    A = rows.X @ L
    squares = (A * A).sum(axis=1)
    counted = drawn(n, COUNTED_ROWS, 0)
    D = np.maximum(squares[counted, None] + squares - 2.0 * (A[counted] @ A.T), 0.0)
    w, logs = np.tile(rows.w, (len(counted), 1)), np.log(rows.w)
    w[np.arange(len(counted)), counted] = 0.0
    unit = float(D[w > 0].mean()) or 1.0
    D = (D - np.where(w > 0, D, np.inf).min(axis=1, keepdims=True)) / unit
    D[w == 0] = 0.0
    wanted = np.log(min(neighbours, 1.0 + (n - 1) / 3))
    low, high = -WIDEST, WIDEST
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        t = 2.0**middle
        e = w * np.exp(-t * D)
        s = e.sum(axis=1)
        entropy = (np.log(s) + (t * (e * D).sum(axis=1) - e @ logs) / s).mean()
        low, high = (middle, high) if entropy > wanted else (low, middle)
    return float(np.sqrt(2.0**low / unit))


def best_start(
    rows: Sorted, diagonal: bool, rank: int | None, seed: int, workers: Threads
) -> tuple[Ascent, Floats, Floats]:
    """The climb, its coordinates C and the start from which a trial gets highest; the first of equals."""
    at = drawn(len(rows.X), TRIAL_ROWS, seed)
    tried: list[tuple[float, Sorted, Floats, Floats, float]] = []
    for space in spaces(rows, diagonal):
        inside = rows._replace(X=rows.X @ space.C)
        few = sorted_rows(inside.X[at], inside.low[at], inside.w[at])
        L = directions(inside, space, rank)
        trial = Ascent(few, diagonal, workers)
        for count in NEIGHBOURS:
            *_, place = trial.climb(trial.vector(L * soft_scale(few, L, count)), TRIAL_STEPS, 0.0)
            tried.append((-place.value, inside, space.C, L, count))
    _, inside, C, L, count = max(tried, key=lambda one: one[0])
    ascent = Ascent(inside, diagonal, workers)
    return ascent, C, ascent.vector(L * soft_scale(inside, L, count))


class Ascent(NamedTuple):
    """F over rows, of maps L (d, r) or, where `diagonal`, of the numbers on its diagonal (d,)."""

    rows: Sorted
    diagonal: bool
    workers: Threads

    def map(self, numbers: Floats) -> Floats:
        """L of the numbers that are sought."""
        return np.diag(numbers) if self.diagonal else numbers

    def vector(self, L: Floats) -> Floats:
        """The numbers that are sought, of L or of the gradient by it."""
        return L.diagonal().copy() if self.diagonal else L

    def evaluate(self, numbers: Floats) -> LbfgsState:
        """−F and its gradient."""
        value, G = value_and_gradient(self.rows, self.map(numbers), self.workers)
        return LbfgsState(numbers, None, -value, -self.vector(G))

    def climb(self, start: Floats, steps: int, tol: float) -> Iterator[LbfgsState]:
        """The start and the places after each step; fewer steps where the slope ≤ tol, or where none leads higher."""
        at = self.evaluate(start)
        yield at
        recent = Memory(FirstStepScale(FIRST * dot(start, start) / max(slope_of(at), 1e-300)), MEMORY)
        for _ in range(steps):
            if slope_of(at) <= tol:
                return
            following = descend(self.evaluate, at, _capped(recent.direction(at.gradient), at.w), recent)
            if following is None:
                return
            recent.remember(following.w - at.w, following.gradient - at.gradient)
            at = following
            yield at


def _capped(v: Floats, at: Floats) -> Floats:
    """v, at most LONGEST of the length of where it starts: a longer leap ends where only the nearest row counts, and nothing is left to climb."""
    most = LONGEST * float(np.sqrt(dot(at, at) / max(dot(v, v), 1e-300)))
    return v * most if most < 1.0 else v


class FirstStepScale(NamedTuple):
    """The preconditioner of a solver that knows nothing yet but how long its first step should be."""

    factor: float

    def solve(self, g: Floats) -> Floats:
        return self.factor * g

    def renewed(self, number: int, w: Floats) -> FirstStepScale:
        return self


def slope_of(at: LbfgsState) -> float:
    """‖∂F/∂L‖·‖L‖, which does not depend on the unit of L."""
    return float(np.sqrt(dot(at.gradient, at.gradient) * dot(at.w, at.w)))


class Sorted(NamedTuple):
    """Rows X (n, d) sorted by class, weights w (n,) that add up to one, and from where to where each row's own class goes."""

    X: Floats
    w: Floats
    low: Array
    high: Array


class Mapped(NamedTuple):
    """The rows mapped: A (n, r), and `scores` (r + 1, n), the columns of A over ‖a_j‖²."""

    A: Floats
    scores: Floats


def sorted_rows(X: Floats, codes: Array, w: Floats | None) -> Sorted:
    """The rows centred and sorted by class (in their order within one), without those of weight zero."""
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    order = np.argsort(codes, kind="stable")
    order = order[w[order] > 0]
    X, codes, w = np.ascontiguousarray(X, dtype=np.float64)[order], np.asarray(codes)[order], w[order]
    w = w / w.sum()
    X = X - (w[:, None] * X).sum(axis=0)
    return Sorted(X, w, np.searchsorted(codes, codes, "left"), np.searchsorted(codes, codes, "right"))


def value(rows: Sorted, L: Floats, workers: Threads) -> float:
    """F(L)."""
    with one_thread_blas():
        mapped = _mapped(rows.X, L)
        if mapped is None:
            return np.nan
        return float(sum(workers.map(partial(_value, rows, mapped), range(0, len(rows.X), ROWS))))


def told(rows: Sorted, L: Floats, found: float) -> float:
    """F(L), which was found by products of rows; by their differences where the rounding of products would show in what is stated."""
    with np.errstate(over="ignore", invalid="ignore"):
        A = rows.X @ L
        blurred = 4 * (A.shape[1] + 2) * EPS * float((A * A).sum(axis=1).max())
    if not BLURRED < blurred < np.inf:
        return found
    total = 0.0
    for i in range(len(A)):
        D = np.square(A - A[i]).sum(axis=1)
        D[i] = np.inf
        e = rows.w * np.exp(D.min() - D)
        total += float(rows.w[i] * e[rows.low[i] : rows.high[i]].sum() / e.sum())
    return total


def value_and_gradient(rows: Sorted, L: Floats, workers: Threads) -> tuple[float, Floats]:
    """F(L) and ∂F/∂L (d, r); NaN where the mapped rows are too far apart for numbers."""
    n, (d, r) = len(rows.X), L.shape
    narrow = 2 * r < d
    with one_thread_blas():
        mapped = _mapped(rows.X, L)
        if mapped is None:
            return np.nan, np.full_like(L, np.nan)
        total, c, S = 0.0, np.zeros(n), np.zeros((n, r) if narrow else (d, d))
        for part in workers.map(partial(_narrow if narrow else _wide, rows, mapped), range(0, n, ROWS)):
            total += part[0]
            c += part[1]
            S += part[2]
        if narrow:
            return total, 2.0 * (rows.X.T @ (S - c[:, None] * mapped.A))
        return total, 2.0 * ((S + S.T) @ L - rows.X.T @ (c[:, None] * mapped.A))


def _mapped(X: Floats, L: Floats) -> Mapped | None:
    with np.errstate(over="ignore", invalid="ignore"):
        A = X @ L
        scores = np.vstack([A.T, (A * A).sum(axis=1)])
    return Mapped(A, scores) if np.isfinite(scores).all() else None


def _value(rows: Sorted, mapped: Mapped, first: int) -> float:
    total = 0.0
    for start, G in _tiles(mapped, first):
        total += soft_rows(G, start, rows.w, rows.low, rows.high, np.empty(0))
    return total


def _wide(rows: Sorted, mapped: Mapped, first: int) -> tuple[float, Floats, Floats]:
    """Of ROWS rows: their part of F, of c and of XᵀMX."""
    n, d = rows.X.shape
    total, c, S = 0.0, np.zeros(n), np.zeros((d, d))
    for start, G in _tiles(mapped, first):
        total += soft_rows(G, start, rows.w, rows.low, rows.high, c)
        S += rows.X[start : start + len(G)].T @ (G @ rows.X)
    return total, c, S


def _narrow(rows: Sorted, mapped: Mapped, first: int) -> tuple[float, Floats, Floats]:
    """Of ROWS rows: their part of F, of c and of MA + MᵀA."""
    n, A = len(rows.X), mapped.A
    total, c, S = 0.0, np.zeros(n), np.zeros_like(A)
    for start, G in _tiles(mapped, first):
        total += soft_rows(G, start, rows.w, rows.low, rows.high, c)
        S[start : start + len(G)] += G @ A
        S += G.T @ A[start : start + len(G)]
    return total, c, S


def _tiles(mapped: Mapped, first: int) -> Iterator[tuple[int, Floats]]:
    """(start, G): g_ij = 2a_i·a_j − ‖a_j‖², which is −‖a_i − a_j‖² but for what row i has in common, of TILE rows at a time."""
    n, r = mapped.A.shape
    stop = min(n, first + ROWS)
    room = np.empty((min(TILE, stop - first), n))
    for start in range(first, stop, TILE):
        m = min(TILE, stop - start)
        left = np.empty((m, r + 1))
        np.multiply(mapped.A[start : start + m], 2.0, out=left[:, :r])
        left[:, r] = -1.0
        yield start, np.dot(left, mapped.scores, out=room[:m])
