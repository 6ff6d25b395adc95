"""Hulls that meet up to rounding: the proof that they do meet, or, rarely, that they do not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.numerics import Floats
from assay.solvers.separation import exact
from assay.solvers.separation.exact import decide
from assay.solvers.separation.working_set import ExtremeRows, Hyperplane, SeparationSearch, dense, proved

LARGEST_SIMPLEX = (60, 600)  # columns and rows up to which hulls that touch but for rounding are decided exactly


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
        found = decide(X, search.S.sides, through_origin, search.weights > 0)
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
