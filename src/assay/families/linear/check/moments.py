"""The rows as checks of linear models read them, and what they need to know of all of them: weights, means, scales.

Rows are counted from an origin near them, x − o, and weights as (w, b + o·w), a sum without rounding: so scores keep their digits
however far from zero the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim
from assay.certify.rows import Array, CheckedRows, CsrBlock, Floats, back, codes_of

EPS = float(np.finfo(np.float64).eps)
NARROW = 256  # columns up to which sparse rows are spread out
FINE = 1e-16  # of the squares of a column: what the rounding of its mean may make of them
LARGE = 1e3  # terms of a sum beyond this may leave it with few digits


class RowMoments(NamedTuple):
    """Weights (K,) and means (K, d) of the classes (regression: one), the mean and mean square of the columns about it.

    `origin`: where rows are counted from.
    """

    weight: Floats
    means: Floats
    centre: Floats
    scale: Floats
    target: float
    origin: Floats

    def weights(self, w: Floats, less: float = 0.0) -> Floats:
        """Weights (…, d + 1) about zero as those of x − origin, for scores less a number."""
        out = w.copy()
        out[..., -1] += w[..., :-1] @ self.origin - less
        large = np.abs(w[..., :-1]) @ np.abs(self.origin) + np.abs(w[..., -1])
        if np.isfinite(out).all() and large.max(initial=0.0) > LARGE:
            for at in np.ndindex(out.shape[:-1]):
                terms = (Fraction(o) * Fraction(v) for o, v in zip(self.origin.tolist(), w[at][:-1].tolist()))
                out[at][-1] = float(sum(terms, Fraction(float(w[at][-1])) - Fraction(less)))
        return out


def blocks(claim: Claim, rows: CheckedRows, origin: Floats | None = None) -> Iterator[tuple[Any, Array, Array]]:
    """(X, codes or numbers, weights) of each block."""
    return (block[:3] for block in numbered_blocks(claim, rows, origin))


def numbered_blocks(
    claim: Claim, rows: CheckedRows, origin: Floats | None = None
) -> Iterator[tuple[Any, Array, Array, int]]:
    """The same with the number of the first row; X is x − origin."""
    w = claim.witness
    factor = np.asarray(w["class_factor"], dtype=np.float64)
    if not (np.isfinite(factor).all() and np.all(factor > 0)) or (w["classes"] is None and np.any(factor != 1.0)):
        raise ValueError("the weights of the classes are not possible")
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        weight = np.ones(len(block.y)) if block.w is None else block.w
        X = _counted_from(block.X, origin)
        if w["classes"] is None:
            yield X, np.asarray(block.y, dtype=np.float64), weight, block.start
            continue
        codes = codes_of(block.y, w["classes"])
        yield X, codes, weight * factor[codes], block.start


def _counted_from(X: Any, origin: Floats | None) -> Any:
    if isinstance(X, CsrBlock):
        if X.n_columns > NARROW:
            return X.with_data(X.data.astype(np.float64, copy=False))
        X = X.toarray()
    X = X.astype(np.float64, copy=False)
    return X if origin is None or not origin.any() else X - origin


def shape_of(claim: Claim, rows: CheckedRows, centred: bool) -> RowMoments:
    """Two passes: the means, then the spread about them; a third where the rounding of a mean would show in that."""
    K = 1 if claim.witness["classes"] is None else len(claim.witness["classes"])
    d, wide = rows.n_columns, rows.sparse and rows.n_columns > NARROW
    weight, sums, target = np.zeros(K), np.zeros((K, d)), 0.0
    for X, codes, c in blocks(claim, rows):
        classes = np.zeros(len(codes), dtype=int) if claim.witness["classes"] is None else codes
        weight += np.bincount(classes, c, minlength=K)
        sums += back(X, np.where(classes[:, None] == np.arange(K), c[:, None], 0.0)).T
        target += float(c @ codes) if claim.witness["classes"] is None else 0.0
    n = float(weight.sum())
    if not n > 0:
        raise ValueError("there are no rows of positive weight")
    if claim.witness["balanced"]:
        raw = weight / np.asarray(claim.witness["class_factor"], dtype=np.float64)
        if not np.allclose(weight, raw.sum() / K, rtol=1e-9):
            raise ValueError("the weights of the classes do not balance these rows")
    mean = sums.sum(axis=0) / n
    origin, centre = np.zeros(d) if wide else mean, mean if centred else np.zeros(d)
    sums, squares = _about(claim, rows, K, origin, centre)
    left = sums.sum(axis=0) / n
    if centred and not wide and np.any(left**2 * n > FINE * squares):  # a column of one number must lie on its centre
        origin = centre = centre + left
        sums, squares = _about(claim, rows, K, origin, centre)
    means = np.divide(sums, weight[:, None], out=np.zeros_like(sums), where=weight[:, None] > 0) + (origin - centre)
    scale = np.sqrt(np.maximum(squares, 0.0) / n)
    noise = 16 * (np.sqrt(EPS) if wide else EPS) * np.abs(centre)  # so far rounding spreads a column that never varies
    return RowMoments(weight, means, centre, np.where(scale > noise, scale, 1.0), target / n, origin)


def _about(claim: Claim, rows: CheckedRows, K: int, origin: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Σ c (x − origin) of each class and Σ c (x − centre)² of all rows."""
    sums, squares = np.zeros((K, rows.n_columns)), np.zeros(rows.n_columns)
    for X, codes, c in blocks(claim, rows, origin):
        classes = np.zeros(len(codes), dtype=int) if claim.witness["classes"] is None else codes
        sums += back(X, np.where(classes[:, None] == np.arange(K), c[:, None], 0.0)).T
        if isinstance(X, CsrBlock):
            squares += back(X.with_data(X.data**2), c) - 2 * centre * back(X, c) + c.sum() * centre**2
        else:
            squares += c @ (X + (origin - centre)) ** 2
    return sums, squares
