"""Where the search for a map starts. F has many summits: where a climb starts decides which is found, more than how it climbs.

Two kinds of coordinates, in both of which the columns' units do not matter, each with the identity as the start (for low rank with leading
directions), scaled so that a row has so many soft NEIGHBOURS: with very many there is no slope, with few the nearest row is all there is to
learn from. Each start is tried with a few steps on a few rows, and the one that gets highest is taken. (F at the starts would not
tell: it is greatest where the fewest rows are neighbours, from where climbs end lowest.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.engines.split import row_keys
from assay.engines.threads import Threads
from assay.hypotheses.neighbours.ascent import Ascent
from assay.neighbours.soft import Sorted, sorted_rows
from assay.numerics import Array, Floats

NEIGHBOURS = (8.0, 32.0)  # that rows have at the start
TRIAL_ROWS, TRIAL_STEPS = 750, 12
ASKED = 32  # rows whose neighbours are counted
WIDEST, HALVINGS = 20.0, 16  # scales are sought from 2^−20 to 2^20 of the mean square distance
LEAST = 1e-3  # the least variance within classes, as a share of all, that is believed


def drawn(n: int, most: int, seed: int) -> Array:
    """The numbers of at most `most` of n rows, those with the least keys, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(row_keys(0, n, seed), kind="stable")[:most])


def deviations(rows: Sorted) -> Floats:
    """The deviation of each column; 0 for one that does not vary."""
    out: Floats = np.sqrt((rows.w[:, None] * rows.X**2).sum(axis=0))
    return np.where(rows.X.max(axis=0) > rows.X.min(axis=0), out, 0.0)


class Space(NamedTuple):
    """Coordinates z = Cᵀx, C (d, k), of the k columns that vary; C·columns scales each column alone; `within`: see `spaces`."""

    C: Floats
    columns: Floats
    within: bool


def spaces(rows: Sorted, diagonal: bool) -> list[Space]:
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
    within = Space(scale @ (vectors / root @ vectors.T), vectors * root @ vectors.T, True)
    return [within, Space(scale, np.eye(len(kept)), False)]


def directions(inside: Sorted, space: Space, rank: int | None) -> Floats:
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
    """The factor of L with which a row has so many neighbours (the exponential of the mean entropy of p_i), asked of ASKED rows."""
    n = len(rows.X)
    A = rows.X @ L
    squares = (A * A).sum(axis=1)
    asked = drawn(n, ASKED, 0)
    D = np.maximum(squares[asked, None] + squares - 2.0 * (A[asked] @ A.T), 0.0)
    w, logs = np.tile(rows.w, (len(asked), 1)), np.log(rows.w)
    w[np.arange(len(asked)), asked] = 0.0
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
