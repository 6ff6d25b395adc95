"""The least point of a quadratic with l1 and l2 penalties: coordinate descent, then Newton on the weights that are not zero.

    m(v) = g·(v − w) + ½(v − w)ᵀH(v − w) + Σ_j l1_j|v_j| + ½ l2_j v_j²

Coordinate descent finds quickly which weights are zero, but crawls where columns are alike; with the signs known, what is
left is a linear system. The two take turns until a pass over all weights gains nothing more.
"""

from __future__ import annotations

import numpy as np

from assay.engines.blas import one_thread_blas, scipy_linalg
from assay.numerics import Floats
from assay.risk.penalties import Penalty

ROUNDS = 40
TURNS = 8  # times that weights may become zero before coordinate descent is asked again
PASSES = 4  # over all weights, before the linear system is tried
LEAST_SHARE = 1e-13
ROUGH = 1e-7  # a share that coordinate descent alone is good for


def minimise_model(H: Floats, g: Floats, w: Floats, penalty: Penalty, share: float = LEAST_SHARE) -> Floats:
    """v (P,) from H (P, P), symmetric and positive semidefinite, g (P,) and w (P,).

    It is good enough when a pass over all weights gains no more than `share` of all that was gained.
    """
    from assay.loops.coordinate import descend

    share = max(share, LEAST_SHARE)
    H, v = np.ascontiguousarray(H), w.copy()
    bends = np.diag(H) + penalty.l2
    total = 0.0
    with one_thread_blas():
        for _ in range(ROUNDS):
            q = g + H @ (v - w)
            gained, last = descend(H, penalty.l1, penalty.l2, v, q, PASSES, share)
            total += gained
            enough = last <= max(share * total, 1e-31 * float(np.sum(bends * v * v)))  # the second: rounding of v
            if not enough or share < ROUGH:
                _solve_for_signs(H, q, v, penalty)
            if enough:
                break
    return v


def _solve_for_signs(H: Floats, q: Floats, v: Floats, penalty: Penalty) -> None:
    """Move v to the least point with the signs it has, or as far as these hold, a few times; q is kept at g + H(v − w)."""
    for _ in range(TURNS):
        live = np.flatnonzero((v != 0) | (penalty.l1 == 0))
        l1, l2, at = penalty.l1[live], penalty.l2[live], v[live]
        A = H[np.ix_(live, live)] + np.diag(l2)
        slope = q[live] + l2 * at + l1 * np.sign(at)
        step = -_solve_with_ridge(A, slope)
        turns = (l1 > 0) & (at * (at + step) < 0)
        move = np.where(turns, -at, step)
        if turns.any() and _rise(A, slope, move) > 0:  # then the first weight that would turn stops the whole step
            reach = -at[turns] / step[turns]
            move = float(reach.min()) * step
            first = np.flatnonzero(turns)[reach == reach.min()]
            move[first] = -at[first]
        if not _rise(A, slope, move) < 0:
            return
        v[live] = at + move
        q += H[:, live] @ move
        if not turns.any():
            return


def _solve_with_ridge(A: Floats, b: Floats) -> Floats:
    """A⁻¹b for a positive semidefinite A, with the least ridge, in its own scale, that lets it be factored.

    A direction without curvature that promises a fall is thus followed far, until a weight becomes zero.
    """
    linalg = scipy_linalg()
    root = np.sqrt(np.diag(A))
    unit = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    scaled = A * unit * unit[:, None]
    ridge = 1e-15 * len(A)
    while True:
        np.fill_diagonal(scaled, 1.0 + ridge)
        try:
            solved: Floats = unit * linalg.cho_solve(
                linalg.cho_factor(scaled, lower=True, check_finite=False), unit * b
            )
            return solved
        except np.linalg.LinAlgError:
            ridge *= 10


def _rise(A: Floats, slope: Floats, move: Floats) -> float:
    """How far m rises where no weight changes its sign; `slope` is that of m with the signs there are."""
    return float(slope @ move + 0.5 * move @ (A @ move))
