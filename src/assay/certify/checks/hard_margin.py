"""Checks of hard margins: every constraint is tried on every row, and the dual value is summed from the multipliers.

½‖w‖² ≥ min ≥ Σα − ½‖Σ α t x‖²    for α ≥ 0 with Σ α t = 0 (where an intercept is fitted)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import CheckedRows, CsrBlock, Floats, back, times

TOUCHING = 1e-6  # by how much rounding may let t(w·x + b) fall below 1
LOOSEST = 1e-1


def _witness(claim: Claim, rows: CheckedRows) -> tuple[Floats, Floats, list[int]]:
    """coef (m, d), intercept (m,) and the class with t = 1 of each problem."""
    w = claim.witness
    coef, b = np.asarray(w["coef"], dtype=np.float64), np.asarray(w["intercept"], dtype=np.float64)
    K = len(w["classes"])
    positives = [1] if K == 2 else list(range(K))
    if coef.shape != (len(positives), rows.n_columns) or b.shape != (len(positives),):
        raise ValueError(f"coefficients {coef.shape} and intercepts {b.shape} do not fit the rows")
    if not (np.isfinite(coef).all() and np.isfinite(b).all()) or (not w["fit_intercept"] and b.any()):
        raise ValueError("the coefficients are not possible")
    return coef, b, positives


def _centre(claim: Claim, rows: CheckedRows) -> tuple[Floats, float]:
    """The mean of the rows that count, and the length of the longest x − mean."""
    total, n, longest = np.zeros(rows.n_columns), 0, 0.0
    for X, _, counts in _blocks(claim, rows):
        total += back(X, counts.astype(np.float64))
        n += int(counts.sum())
    if n == 0:
        raise ValueError("there are no rows of positive weight")
    centre = total / n
    for X, _, counts in _blocks(claim, rows):
        squares = times(_squared(X), np.ones(rows.n_columns)) - 2 * times(X, centre) + centre @ centre
        if not isinstance(X, CsrBlock):
            squares = ((X - centre) ** 2).sum(axis=1)
        longest = max(longest, float(np.sqrt(np.max(squares[counts], initial=0.0))))
    return centre, longest


def _squared(X: Any) -> Any:
    return X.with_data(X.data.astype(np.float64) ** 2) if isinstance(X, CsrBlock) else X**2


def _blocks(claim: Claim, rows: CheckedRows) -> Iterator[tuple[Any, Any, Any]]:
    """(X, labels, which rows count) of each block."""
    for block in rows.blocks():
        if block.y is None or not np.isin(block.y, claim.witness["classes"]).all():
            raise ValueError("the rows hold classes that the witness does not know")
        X = block.X if isinstance(block.X, CsrBlock) else block.X.astype(np.float64, copy=False)
        yield X, block.y, np.ones(len(block.y), dtype=bool) if block.w is None else block.w > 0


def _problem(claim: Claim, rows: CheckedRows, k: int, coef: Floats, b: float, positive: Any) -> tuple[float, float]:
    """The least t(w·x + b) of a row, and the dual value.

    About the mean p, no minimum has an intercept beyond 1 + max‖x − p‖·‖w‖: that is what Σ α t ≠ 0 costs.
    """
    w = claim.witness
    mine = np.asarray(w["dual_problem"]) == k
    at, alpha = np.asarray(w["dual_rows"])[mine], np.asarray(w["dual_values"], dtype=np.float64)[mine]
    if np.any(np.diff(at) <= 0) or not np.isfinite(alpha).all() or np.any(alpha < 0):
        raise ValueError("the multipliers are not possible")
    centre, longest = _centre(claim, rows) if w["fit_intercept"] else (np.zeros(rows.n_columns), 0.0)
    least, pull, balance, used, start = np.inf, np.zeros(rows.n_columns), 0.0, 0, 0
    sides: set[float] = set()
    for X, y, counts in _blocks(claim, rows):
        t = np.where(y == positive, 1.0, -1.0)
        least = float(np.minimum(least, np.min((t * (times(X, coef) + b))[counts], initial=np.inf)))
        here = (at >= start) & (at < start + len(t))
        a = np.zeros(len(t))
        a[at[here] - start] = alpha[here]
        if np.any(a[~counts]):
            raise ValueError("a multiplier belongs to a row without weight")
        used += int(here.sum())
        sides |= set(np.unique(t[counts]))
        pull += back(X, a * t) if isinstance(X, CsrBlock) else (a * t) @ (X - centre)
        balance += float(a @ t)
        start += len(t)
    if used != len(at) or len(sides) < 2:
        raise ValueError("a multiplier belongs to a row that is not there, or all rows are on one side")
    if not w["fit_intercept"]:
        return least, float(alpha.sum()) - 0.5 * float(pull @ pull)
    pull = pull - balance * centre if rows.sparse else pull
    cost = abs(balance) * (1.0 + longest * float(np.linalg.norm(coef)))
    return least, float(alpha.sum()) - 0.5 * float(pull @ pull) - cost


@check("hard_margin")
def check_hard_margin(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Try the constraints and compare ½‖w‖² with the dual value."""
    coef, b, positives = _witness(claim, rows)
    tolerance = float(claim.witness["tolerance"])
    worst, tightest = 0.0, np.inf
    for k, positive in enumerate(positives):
        label = claim.witness["classes"][positive]
        least, dual = _problem(claim, rows, k, coef[k], float(b[k]), label)
        primal = 0.5 * float(coef[k] @ coef[k])
        tightest = min(tightest, least)
        if not least >= 1 - TOUCHING:
            return Verdict(claim.name, False, f"a row has t(w.x + b) = {least:.9g}", worst, claim.kind)
        worst = float(np.maximum(worst, (primal - dual) / primal if primal > 0 else 0.0))
    if not 0 <= tolerance <= LOOSEST or claim.bound != tolerance:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} proves nothing", worst, claim.kind)
    reason = f"the least t(w.x + b) is {tightest:.9g}, the gap {worst:.3g}; {tolerance:g} is allowed"
    return Verdict(claim.name, bool(worst <= tolerance * 1.001 + 1e-12), reason, worst, claim.kind)


@check("leave_one_out_bound")
def check_leave_one_out_bound(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the support rows, once the hard margin itself was checked."""
    tolerance = float(claim.witness["tolerance"])
    hard = check_hard_margin(Claim(**{**vars(claim), "bound": tolerance}), rows, predict)
    n = sum(_counted(block) for block in rows.blocks())
    share = len(claim.witness["dual_rows"]) / n
    same = claim.value is not None and abs(claim.value - share) <= 1e-9
    return Verdict(
        claim.name, bool(hard.holds and same), f"{share:.6g} of the rows are support rows", share, claim.kind
    )


def _counted(block: Any) -> int:
    return len(block.y) if block.w is None else int((block.w > 0).sum())
