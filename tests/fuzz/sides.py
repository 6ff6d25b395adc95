"""Separability against linear programs whose answer is looked at without rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.exact import on_their_sides
from scipy.optimize import linprog

Problem = tuple[str, str]


def separating(X: np.ndarray, s: np.ndarray, fitted: bool) -> tuple[np.ndarray, float] | None:
    """A hyperplane that has every row on its side exactly, or None where none was found."""
    centre = X.mean(axis=0) if fitted else np.zeros(X.shape[1])
    A = X - centre
    length = np.abs(A).max(axis=0)
    length = np.where(length > 0, length, 1.0)
    A = np.column_stack([A / length, np.full(len(X), float(fitted))])
    found = linprog(np.zeros(A.shape[1]), -s[:, None] * A, -np.ones(len(A)), bounds=(None, None), method="highs")
    if found.x is None:
        return None
    w = found.x[:-1] / length
    b = float(found.x[-1]) * fitted - float(w @ centre)
    return (w, b) if np.isfinite([*w, b]).all() and on_their_sides(X, s, w, b) else None


def _rows(case: Case, claim: Any) -> tuple[np.ndarray, np.ndarray]:
    table = case.table
    live = np.ones(len(table.y), dtype=bool) if table.w is None else table.w > 0
    return table.dense[live], np.where(table.y[live] == claim.witness["positive"], 1, -1)


def hulls(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Hulls that meet: no hyperplane may have the rows on their sides."""
    for claim in model.certificate_:
        if claim.check != "separability_hulls" or not claim.holds or claim.kind != "proof":
            continue
        X, s = _rows(case, claim)
        with np.errstate(all="ignore"):
            plane = separating(X, s, claim.witness["space"] != "linear")
        if plane is not None:
            yield (
                "separability_hulls: a hyperplane separates them",
                f"{claim.name}: w = {plane[0].tolist()}, b = {plane[1]!r}",
            )


def planes(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """A stated hyperplane: every row must be on its side without rounding."""
    for claim in model.certificate_:
        if claim.check == "separability_hyperplane" and claim.holds:
            X, s = _rows(case, claim)
            if not on_their_sides(X, s, claim.witness["coef"], float(claim.witness["intercept"])):
                yield "separability_hyperplane has a row on the wrong side", claim.name
