"""What is asked of every fit. An answer that is no good is a finding; its key says which of two are of one cause.

- the fit ends in a model or in an `AssayError`, and nothing warns of arithmetic;
- answers are finite, probabilities add up to one;
- what the certificate says is what `verify` finds, now and from the file, and what independent optima allow (`optima`);
- a copy with another number in it is refused (`forgeries`).
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.forgeries import altered, forged
from fuzz.optima import against_optima

import assay
from assay.errors import AssayError

SUM_TO_ONE = 1e-9
MEMORY = "/dev/shm"


@dataclass(frozen=True)
class Finding:
    """What is wrong (`key`: the same for the same cause), in words, and the case that shows it."""

    key: str
    text: str
    case: Case

    def __str__(self) -> str:
        return f"{self.key}: {self.text}"


class Refused(Exception):
    """The fit ended in an error that Assay raises on purpose."""


def questions(case: Case) -> list[Finding]:
    """All findings of a case; `Refused` where there is no model to ask about."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = list(_asked(case))
        except Refused:
            raise
        except Exception as error:
            found = [_foreign(case, error)]
    warned = {_place(w.filename): str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)}
    return found + [Finding(f"{case.name}: RuntimeWarning at {place}", text, case) for place, text in warned.items()]


def keys(case: Case) -> set[str]:
    """The keys of all findings; none where the fit is refused."""
    try:
        return {finding.key for finding in questions(case)}
    except Refused:
        return set()


def _place(file: str) -> str:
    return f"{Path(file).parent.name}/{Path(file).name}"


def _foreign(case: Case, error: Exception) -> Finding:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/assay/" in f.filename]
    where = f"{_place(frames[-1].filename)}:{frames[-1].name}" if frames else "outside"
    return Finding(f"{case.name}: {type(error).__name__} in {where}", f"{type(error).__name__}: {error}", case)


def _asked(case: Case) -> Iterator[Finding]:
    table = case.table
    try:
        model = case.model().fit(table.rows, table.y, sample_weight=table.w)
    except AssayError as error:
        raise Refused(str(error)) from error
    for word, text in [*_answers(case, model), *_certified(case, model)]:
        yield Finding(f"{case.name}: {word}", text, case)


# --- answers ---------------------------------------------------------------------------------------------------------

Problem = tuple[str, str]


def _answers(case: Case, model: Any) -> Iterator[Problem]:
    X = _answered(case, model)
    answer = model.predict(X)
    if not case.classifies:
        none_is_near = np.isnan(answer) & (case.name == "radius-neighbors-regressor")
        wrong = answer[~np.isfinite(answer) & ~none_is_near]
        if len(wrong):
            yield "predictions are not finite", str(wrong[:3])
    if case.classifies and not np.isin(answer, model.classes_).all():
        yield "predictions are no classes", str(answer[:5])
    if hasattr(model, "predict_proba"):
        yield from _probabilities(np.asarray(model.predict_proba(X)))
    if hasattr(model, "decision_function") and np.isnan(model.decision_function(X)).any():
        yield "decision values are nan", ""


def _answered(case: Case, model: Any) -> Any:
    """All rows; those of weight alone where the others are none that the model was taught to answer."""
    try:
        model.predict(case.table.rows)
    except AssayError:
        return case.table.taking(case.table.w > 0).rows if case.table.w is not None else case.table.rows
    return case.table.rows


def _probabilities(p: np.ndarray) -> Iterator[Problem]:
    if not np.isfinite(p).all():
        yield "probabilities are not finite", str(p[~np.isfinite(p).all(axis=1)][:2])
    elif (p < 0).any() or (p > 1).any():
        yield "probabilities outside of [0, 1]", str(p[((p < 0) | (p > 1)).any(axis=1)][:2])
    elif (abs(p.sum(axis=1) - 1.0) > SUM_TO_ONE).any():
        yield (
            "probabilities do not add up to one",
            str(p.sum(axis=1)[abs(p.sum(axis=1) - 1.0) > SUM_TO_ONE].tolist()[:4]),
        )


# --- certificates ----------------------------------------------------------------------------------------------------


def _certified(case: Case, model: Any) -> Iterator[Problem]:
    table = case.table
    rows = table.rows, table.y, table.w
    fitted = model.certificate_
    try:
        certificate = model.certify(*rows)
    except AssayError as error:
        yield "certify refuses what was fitted", str(error)
        certificate = model.certificate_
    verdicts = certificate.verify(*rows)
    known = len(fitted.claims)
    if all(a is b for a, b in zip(certificate.claims, fitted.claims)):  # then the same checks would be asked twice
        yield from _agreed("fit", fitted, list(verdicts)[:known])
    else:
        yield from _agreed("fit", fitted, fitted.verify(*rows))
    yield from _agreed("certify", certificate, verdicts, known)
    path = _folder() / "m.assay"
    model.save(path)
    again = assay.load(path)
    if str(again.certificate_.verify(*rows)) != str(verdicts):
        yield "the file is verified otherwise", f"{again.certificate_.verify(*rows)}\n{verdicts}"
    X = _answered(case, model)
    if not np.array_equal(again.predict(X), model.predict(X), equal_nan=not case.classifies):
        yield "the file answers otherwise", ""
    with np.errstate(all="ignore"):
        refuted = list(against_optima(case, model))
    yield from ((word + (", and it is verified" if verdicts.holds else ""), text) for word, text in refuted)
    yield from forged(case, model)
    yield from altered(case, model)


@lru_cache(maxsize=1)
def _folder() -> Path:
    """A folder of this process for files, in memory where the system has such: saving waits for the disk."""
    there = tempfile.mkdtemp(prefix="assay-fuzz-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
    atexit.register(shutil.rmtree, there, ignore_errors=True)
    return Path(there)


def _agreed(when: str, certificate: Any, verdicts: Any, known: int = 0) -> Iterator[Problem]:
    """Problems where certificate and verification do not say the same of a claim; so many were asked about before."""
    if certificate.holds and not certificate.claims:
        yield "holds without a claim", ""
    if any(v.claim == "the model's own claims" for v in verdicts):
        yield "own claims cannot be made", str(verdicts)
    for claim, verdict in zip(certificate.claims[known:], list(verdicts)[known:]):
        if claim.holds and not verdict.holds:
            yield f"{claim.check} of an honest {when} is refused", f"{claim.statement}: {verdict.reason}"
        if verdict.holds and not claim.holds and _clearly_fails(claim):
            yield f"{claim.check} is verified though the {when} says it fails", f"{claim.statement}: {verdict.reason}"


def _clearly_fails(claim: Any) -> bool:
    """Whether a claim says more than that it missed its bound by a rounding, which a checker may see otherwise."""
    return claim.value is None or claim.bound is None or not claim.value <= 10 * claim.bound + 1e-9
