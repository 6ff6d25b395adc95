"""Copies of a fitted model in which a number is another one: `verify` must refuse each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz.case import Case


def forged(case: Case, model: Any) -> Iterator[tuple[str, str]]:
    """Problems: forgeries that are verified. One claim is drawn by the seed, so that a case stays cheap."""
    table, certificate = case.table, model.certificate_
    claims = [i for i, claim in enumerate(certificate.claims) if claim.holds]
    if not claims:
        return
    i = claims[case.seed // 7 % len(claims)]
    for part, wrong in other_claims(certificate.claims[i]):
        claims_ = (*certificate.claims[:i], wrong, *certificate.claims[i + 1 :])
        if dataclasses.replace(certificate, claims=claims_).verify(table.rows, table.y, table.w).holds:
            yield f"{wrong.check} with another {part} is verified", f"{part} of {wrong.statement}"


def other_claims(claim: Any) -> Iterator[tuple[str, Any]]:
    """The claim with its value, its bound, or a number of its witness changed by more than rounding."""
    if claim.value is not None:
        yield "value", dataclasses.replace(claim, value=claim.value * 1.1 + (claim.bound or 0.1))
    if claim.bound is not None:
        yield "bound", dataclasses.replace(claim, bound=claim.bound * 1.1 + 1e-3)
    for key, entry in claim.witness.items():
        if _is_number(entry):
            yield key, dataclasses.replace(claim, witness={**claim.witness, key: another(entry)})


def _is_number(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.size > 0 and entry.dtype.kind in "iuf"
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def another(entry: Any) -> Any:
    """The same with its first number another one, by more than rounding."""
    if isinstance(entry, np.ndarray):
        changed = entry.copy()
        changed.flat[0] = another(changed.flat[0].item())
        return changed
    if isinstance(entry, float) and not math.isfinite(entry):
        return 1.0
    if isinstance(entry, int):
        return entry - 1 if entry > 0 else entry + 1
    return entry * 1.1 + 0.13
