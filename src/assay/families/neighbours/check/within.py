"""Check of the neighbours within a radius: every query is compared with every row, and the votes are counted again."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CountedRows, Floats, counted_rows
from assay.families.neighbours.check.distances import distances_of, mapped, tolerance_of
from assay.families.neighbours.check.k_nearest import rows_asked

NEAR = 1e-9  # of the radius: rows that are no nearer to it than this may be on either side, by rounding


@check("neighbours_within")
def check_within(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """So many rows are within the radius of each query as stated, and so they answer."""
    witness, tolerance = claim.witness, tolerance_of(claim)
    table = counted_rows(rows, witness.get("classes"))
    witness = {**witness, "numbers": table.number}
    X, counts, answers = (np.asarray(witness[name], dtype=np.float64) for name in ("queries", "counts", "answers"))
    if len(X) < min(4, len(table.X)) or claim.value != len(X) or not len(X) == len(counts) == len(answers):
        raise ValueError("the witness does not list the neighbours of enough queries")
    Z, Q, radius, off = mapped(table.X, witness), mapped(X, witness), float(witness["radius"]), 0.0
    for i, out in enumerate(rows_asked(table, X, witness)):
        if out < 0:
            return Verdict(claim.name, False, f"query {i} is none of the rows", kind=claim.kind)
        d, w = distances_of(Z, Q[i], witness), table.w.copy()
        w[out] = max(0.0, w[out] - 1.0)
        sure, perhaps = ((w > 0) & (d <= radius * (1 + side * NEAR)) for side in (-1, 1))
        if not sure.sum() <= counts[i] <= perhaps.sum() or counts[i] != int(counts[i]):
            reason = f"{sure.sum()} to {perhaps.sum()} rows are within the radius of query {i}, not {counts[i]:g}"
            return Verdict(claim.name, False, reason, kind=claim.kind)
        near = np.flatnonzero(perhaps)
        near = near[np.argsort(d[near], kind="stable")][: int(counts[i])]
        answer = _answer_of(table, near, w[near] * _factors_of(d[near], witness), len(witness.get("classes", ())))
        size = max(1e-300, float(np.abs(answer).max()))
        off = max(off, float((np.abs(answer - answers[i]) / size).max()))
    reason = f"{len(X)} queries against {len(table.X)} rows: all counts are right, answers differ by {off:.2g} at most (relative)"
    return Verdict(claim.name, off <= tolerance, reason, float(len(X)), claim.kind)


def _factors_of(d: Floats, witness: dict[str, Any]) -> Floats:
    """What a vote of each row counts, the nearest first."""
    if "vote_function" in witness and len(d):
        given = np.asarray(witness["vote_function"](d[None].copy()), dtype=np.float64)[0]
        if not (given >= 0).all():
            raise ValueError("the function of distances gives what is no weight")
        return np.asarray(np.isinf(given), dtype=np.float64) if np.isinf(given).any() else np.asarray(given)
    if witness["by_distance"] and len(d):
        return np.asarray(d == 0, dtype=np.float64) if d[0] == 0 else np.asarray(d[0] / d)
    return np.ones(len(d))


def _answer_of(table: CountedRows, near: Array, votes: Floats, K: int) -> Floats:
    """Votes of each class, or the mean number; 0 where there is none."""
    if K:
        return np.bincount(table.y[near].astype(np.int64), weights=votes, minlength=K).astype(np.float64)
    return np.array([float(votes @ table.y[near]) / float(votes.sum()) if votes.sum() > 0 else 0.0])
