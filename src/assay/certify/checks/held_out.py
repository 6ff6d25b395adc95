"""Checks of claims about held-out rows: count again, and put the interval's ends back into the binomial law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.engines import Rows

TOLERANCE = 1e-6


def _upper_tail(k: int, n: int, p: float) -> float:
    """P(at least k errors of n | rate p), summed term by term."""
    if p <= 0:
        return 1.0 if k == 0 else 0.0
    if p >= 1:
        return 1.0
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k, n + 1)
    ]
    return math.fsum(math.exp(v) for v in logs)


def interval_is_exact(errors: int, n: int, confidence: float, low: float, high: float) -> bool:
    """Whether each end leaves (1 − confidence)/2 in the tail beyond the count."""
    tail = (1 - confidence) / 2
    low_good = low == 0.0 if errors == 0 else abs(_upper_tail(errors, n, low) - tail) <= TOLERANCE
    high_good = high == 1.0 if errors == n else abs(1 - _upper_tail(errors + 1, n, high) - tail) <= TOLERANCE
    return low_good and high_good


def check_held_out_error(claim: Claim, rows: Rows, predict: Any) -> Verdict:
    """Predict the held-out rows again, count the mistakes, and verify the interval."""
    w = claim.witness
    low, high = (float(v) for v in w["interval"])
    errors = n = 0
    for part in rows.blocks():
        block = part.load()
        errors += int(np.sum(predict(block.X) != block.y))
        n += len(block.X)
    if (errors, n) != (w["errors"], w["rows"]):
        reason = f"counted {errors} errors of {n} rows, the certificate says {w['errors']} of {w['rows']}"
        return Verdict(claim.name, False, reason, errors / max(1, n), claim.kind)
    if not interval_is_exact(errors, n, float(w["confidence"]), low, high):
        return Verdict(claim.name, False, f"[{low:.4f}, {high:.4f}] is not the exact interval", errors / n, claim.kind)
    reason = f"{errors} of {n} held-out rows wrong again; the interval [{low:.4f}, {high:.4f}] is exact"
    return Verdict(claim.name, True, reason, errors / n, claim.kind)
