"""Checks of claims about held-out rows: count again, and put the interval's ends back into the law they come from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict, differs_in
from assay.certify.registry import check
from assay.certify.rows import CheckedRows

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


def _judged(rows: CheckedRows, predict: Any) -> Iterator[tuple[Any, Any]]:
    """(truth, answer) block by block, for the rows that count (a row of weight 0 is as good as absent)."""
    for block in rows.blocks():
        answer = predict(block.X)
        counts = slice(None) if block.w is None else block.w > 0
        assert block.y is not None
        yield block.y[counts], np.asarray(answer)[counts]


def _due(claim: Claim, name: str, statement: str, value: float, **found: Any) -> Claim:
    """The claim that must have been made where this was found; what else it depends on is as the witness says."""
    w = claim.witness
    given = {key: w[key] for key in ("confidence", "interval", "fraction", "seed")}
    return Claim(name, statement, True, claim.check, value, float(w["interval"][1]), "estimate", {**given, **found})


@check("held_out_error")
def check_held_out_error(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Predict the held-out rows again, count the mistakes, and verify the interval."""
    w = claim.witness
    low, high = (float(v) for v in w["interval"])
    errors = n = 0
    for truth, answer in _judged(rows, predict):
        errors += int(np.sum(answer != truth))
        n += len(truth)
    if (errors, n) != (w["errors"], w["rows"]):
        reason = f"counted {errors} errors of {n} rows, the certificate says {w['errors']} of {w['rows']}"
        return Verdict(claim.name, False, reason, errors / max(1, n), claim.kind)
    if not interval_is_exact(errors, n, float(w["confidence"]), low, high):
        return Verdict(claim.name, False, f"[{low:.4f}, {high:.4f}] is not the exact interval", errors / n, claim.kind)
    confidence = float(w["confidence"])
    slack = math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))  # 2 exp(−2nt²) = 1 − confidence (Hoeffding 1963)
    statement = (
        f"{errors} of {n} held-out rows wrong; true error in [{low:.4f}, {high:.4f}] with {confidence:.0%} confidence "
        f"(Clopper-Pearson), within {slack:.4f} of the rate (Hoeffding); rows independent and alike"
    )
    due = _due(claim, "held-out error", statement, errors / n, rows=n, errors=errors, hoeffding=slack)
    part = differs_in(claim, due, noise=0.0)
    if part is not None:
        return Verdict(
            claim.name, False, f"the {part} is not that of {errors} errors of {n} rows", due.value, claim.kind
        )
    reason = f"{errors} of {n} held-out rows wrong again; the interval [{low:.4f}, {high:.4f}] is exact"
    return Verdict(claim.name, True, reason, errors / n, claim.kind)


@check("held_out_loss")
def check_held_out_loss(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Predict the held-out rows again, average the squared errors, and verify standard error and interval."""
    w = claim.witness
    sums = [(math.fsum((t - a) ** 2), len(t)) for t, a in _judged(rows, predict)]
    n = sum(length for _, length in sums)
    if n != w["rows"] or n < 2:
        return Verdict(claim.name, False, f"{n} rows are held out, the certificate says {w['rows']}", None, claim.kind)
    loss = math.fsum(part for part, _ in sums) / n
    squares = math.fsum(math.fsum(((t - a) ** 2 - loss) ** 2) for t, a in _judged(rows, predict))
    error = math.sqrt(squares / (n - 1) / n)
    scale = max(loss, error) * TOLERANCE
    if abs(loss - float(w["loss"])) > scale or abs(error - float(w["standard_error"])) > scale:
        reason = f"found {loss:.6g} ± {error:.3g}, the certificate says {w['loss']:.6g} ± {w['standard_error']:.3g}"
        return Verdict(claim.name, False, reason, loss, claim.kind)
    low, high = (float(v) for v in w["interval"])
    stated, spread = float(w["loss"]), float(w["standard_error"])
    reach = NormalDist().inv_cdf((1 + float(w["confidence"])) / 2) * spread
    if not np.allclose([low, high], [max(0.0, stated - reach), stated + reach], rtol=1e-9, atol=1e-12):
        return Verdict(claim.name, False, f"[{low:.6g}, {high:.6g}] is not the normal interval", loss, claim.kind)
    statement = (
        f"mean squared error {stated:.6g} on {n} held-out rows, standard error {spread:.3g}; true one in "
        f"[{low:.6g}, {high:.6g}] with about {float(w['confidence']):.0%} confidence (normal approximation); rows independent and alike"
    )
    due = _due(claim, "held-out squared error", statement, stated, rows=n, loss=stated, standard_error=spread)
    part = differs_in(claim, due, noise=0.0)
    if part is not None:
        return Verdict(claim.name, False, f"the {part} is not that of {loss:.6g} ± {error:.3g}", loss, claim.kind)
    return Verdict(claim.name, True, f"mean squared error {loss:.6g} on {n} held-out rows again", loss, claim.kind)
