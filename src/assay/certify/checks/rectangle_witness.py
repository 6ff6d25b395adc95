"""What the witness of a claim about rectangles says, and the rows that it speaks of, with weights as whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim
from assay.certify.rows import Array, CheckedRows, Floats


class Seen(NamedTuple):
    """CheckedRows that count: X (n, d), codes (n,), whole weights u (n,); and whether a weight is rounded."""

    X: Floats
    codes: Array
    u: Array
    rounded: bool


class Rectangles(NamedTuple):
    """What the witness says: the classes' names and factors, those that have rectangles, and the rectangles."""

    names: list[Any]
    places: list[int]
    of: list[int]
    lower: Floats
    upper: Floats
    owner: Array
    factor: Floats
    shift: int

    def mine(self, k: int) -> Array:
        """The numbers of the rectangles of class k."""
        return np.flatnonzero(self.owner == k)

    def holds(self, r: int, X: Floats) -> Array:
        """Which rows lie in rectangle r."""
        inside: Array = ((self.lower[r] <= X) & (self.upper[r] >= X)).all(axis=1)
        return inside


def stated_in(claim: Claim, rows: CheckedRows) -> Rectangles:
    """What the witness says, refused where it cannot be."""
    t = claim.witness
    lower, upper, factor = (np.asarray(t[name], dtype=np.float64) for name in ("lower", "upper", "factor"))
    owner, places = np.asarray(t["owner"], dtype=np.int64), [int(k) for k in t["places"]]
    K, d = len(t["classes"]), rows.n_columns
    if lower.shape != (len(owner), d) or upper.shape != lower.shape or factor.shape != (K,) or K < 2:
        raise ValueError("rectangles and classes of the witness do not fit together")
    if places not in ([[0], [1]] if K == 2 else [list(range(K))]):
        raise ValueError(f"classes {places} of {K} cannot be those with rectangles")
    if not (np.all(lower <= upper) and np.all(np.diff(owner) >= 0) and set(owner.tolist()) <= set(places)):
        raise ValueError("a rectangle of the witness is empty or of no class")
    if not (np.all(np.isfinite(factor)) and np.all(factor >= 0) and set(t["of"]) <= set(places)):
        raise ValueError("factors or classes that cannot be")
    return Rectangles(list(t["classes"]), places, list(t["of"]), lower, upper, owner, factor, int(t["shift"]))


def blocks_of(stated: Rectangles, rows: CheckedRows) -> Iterator[Seen]:
    """The rows that count, block by block."""
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        codes = np.full(len(block.y), -1)
        for k, label in enumerate(stated.names):
            codes[block.y == label] = k
        if np.any(codes < 0):
            raise ValueError("the rows hold classes that the witness does not know")
        w = stated.factor[codes] if block.w is None else stated.factor[codes] * block.w
        scaled = np.ldexp(w, stated.shift)
        u = np.where(scaled > 0, np.maximum(np.rint(scaled), 1), 0)
        if u.sum() >= 2.0**62:
            raise ValueError("weights so large that they cannot be summed as whole numbers")
        keep = u > 0
        whole = u.astype(np.int64)
        yield Seen(np.asarray(block.X[keep], np.float64), codes[keep], whole[keep], bool(np.any(whole != scaled)))


def all_rows(stated: Rectangles, rows: CheckedRows) -> Seen:
    """All rows that count."""
    seen = list(blocks_of(stated, rows))
    X, codes, u = (np.concatenate([getattr(s, part) for s in seen]) for part in ("X", "codes", "u"))
    return Seen(X, codes, u, any(s.rounded for s in seen))


class Extent:
    """The box of some rows, as they pass by: low, high (d,)."""

    def __init__(self, d: int) -> None:
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, X: Floats) -> None:
        """Widen the box to hold the rows X."""
        self.low = np.minimum(self.low, X.min(axis=0, initial=np.inf))
        self.high = np.maximum(self.high, X.max(axis=0, initial=-np.inf))

    def is_box(self, lower: Floats, upper: Floats) -> bool:
        """Whether these are its sides, to the last digit."""
        return np.array_equal(self.low, lower) and np.array_equal(self.high, upper)
