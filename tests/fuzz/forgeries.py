"""Copies of a fitted model in which a number is another one: `verify` must refuse each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.optima import against_optima

from assay.errors import AssayError
from assay.estimator.layout import Tensor


def forged(case: Case, model: Any) -> Iterator[tuple[str, str]]:
    """Problems: forgeries that are verified. One claim is drawn by the seed, so that a case stays cheap."""
    table, certificate = case.table, model.certificate_
    claims = [i for i, claim in enumerate(certificate.claims) if claim.holds]
    if not claims:
        return
    i = claims[case.seed // 7 % len(claims)]
    own = None if certificate.own is None else certificate.own()
    apart = dataclasses.replace(certificate, own=None if own is None else lambda: own, fingerprint=None)
    for part, wrong in other_claims(certificate.claims[i]):
        alone = dataclasses.replace(apart, claims=(wrong,))  # the others are honest, and need not be asked again
        if next(iter(alone.verify(table.rows, table.y, table.w))).holds:
            yield f"{wrong.check} with another {part} is verified", f"{part} of {wrong.statement}"


NOTICED = 1e-3  # relative: answers that differ by less may be as good


def altered(case: Case, model: Any) -> Iterator[tuple[str, str]]:
    """Problems: a model with another number that is said to be proved, and claims made to fit it, which answers otherwise and is verified.

    A tolerance of the user's own may allow for it, so that such cases are not asked.
    """
    table = case.table
    proved = () if "tol" in case.params else model.certificate_.covers.proof
    X = table.rows if table.w is None else table.taking(table.w > 0).rows
    before = _finest(model, X)
    size = np.abs(before).max(initial=0.0 if case.classifies else np.abs(table.y).max())
    for name, array in _learnt(model):
        if name not in proved:
            continue
        other = forgery(model, name, another(array))
        if other is None or not _answers_otherwise(other, X, before, size):
            continue
        if other.certificate_.verify(table.rows, table.y, table.w).holds and not _as_good(case, other):
            yield (
                f"another {name} that answers otherwise is verified",
                f"{array.flat[0]!r} is {another(array).flat[0]!r}",
            )


#: claims of what an objective is, which other numbers may reach as well: several intercepts of a hinge, weights whose penalty is nothing
#: against the losses, maps of rows that no map helps (each the only one of its class)
OF_OBJECTIVES = {
    "duality_gap",
    "boxed_duality_gap",
    "kernel_svm_gap",
    "kernel_svr_gap",
    "hard_margin",
    "neighbours_learned",
}


def _as_good(case: Case, other: Any) -> bool:
    """Whether the claim is one of an objective, and an independent optimum has nothing against it."""
    if not OF_OBJECTIVES & {claim.witness.get("of_features", claim.check) for claim in other.certificate_}:
        return False
    with np.errstate(all="ignore"):
        return not any(True for _ in against_optima(case, other))


def _learnt(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    for name, field in type(model).layout.items():
        array = None if name.startswith("state.") else getattr(model, name, None)
        if isinstance(field, Tensor) and isinstance(array, np.ndarray) and array.size and array.dtype.kind == "f":
            yield name, array


def forgery(model: Any, name: str, array: np.ndarray) -> Any:
    """The model with another part, and the claims that follow from that; None where no file could hold it."""
    other = copy(model)
    setattr(other, name, array)
    try:
        with np.errstate(all="ignore"):
            other._claims = other._own_claims()
            return type(model).from_record(other.to_record())
    except (AssayError, ArithmeticError, LookupError, ValueError, TypeError):
        return None


def _finest(model: Any, X: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        for finest in ("predict_proba", "decision_function", "predict"):
            if hasattr(model, finest):
                found = np.asarray(getattr(model, finest)(X))
                return found if found.dtype.kind == "f" else np.searchsorted(model.classes_, found)
    raise AssertionError


def _answers_otherwise(other: Any, X: Any, before: np.ndarray, size: float) -> bool:
    """Whether answers differ; one that refuses the rows misleads nobody."""
    try:
        return not np.allclose(_finest(other, X), before, rtol=NOTICED, atol=NOTICED * size)
    except AssayError:
        return False


def other_claims(claim: Any) -> Iterator[tuple[str, Any]]:
    """The claim with its value, its bound, or a number of its witness changed by more than rounding."""
    if claim.value is not None:
        yield "value", dataclasses.replace(claim, value=another(claim.value) + abs(claim.bound or 0.0))
    if claim.bound is not None:
        yield "bound", dataclasses.replace(claim, bound=another(claim.bound))
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
