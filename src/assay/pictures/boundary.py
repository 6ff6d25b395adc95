"""Where one class gives way to another: fields whose zero lines are the boundaries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.numerics import Array, Floats

SLACK = 1e-3  # a support vector has y·f ≤ 1 up to the tolerance of its solver


def inside_margin(f: Floats, t: Floats) -> Array:
    """Whether rows of side t = ±1 lie on the margin or within: y·f ≤ 1."""
    inside: Array = t * f <= 1 + SLACK
    return inside


def leads(scores: Floats | None, codes: Array) -> Iterator[tuple[int, Floats]]:
    """(k, s_k − max_{j≠k} s_j) of the classes that occur, of two classes of one alone.

    Scores (m, K) or (m,) of two classes; where their greatest is not the answer `codes` (m,), the edges of the pixels serve.
    """
    present = np.unique(codes)
    if len(present) < 2:
        return
    S = np.column_stack([-scores, scores]) if scores is not None and scores.ndim == 1 else scores
    if S is None or S.shape[1] <= codes.max() or np.any(S.argmax(axis=1) != codes):
        S = np.eye(int(codes.max()) + 1)[codes]
    for k in present if len(present) > 2 else present[:1]:
        yield int(k), S[:, k] - np.delete(S, k, axis=1).max(axis=1)
