"""The mistakes of a perceptron as they are made, and the bound that they never pass where the rows can be separated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.engines import Engine, Rows
from assay.hypotheses.perceptron_claims import most_mistakes
from assay.labels import Labels
from assay.learner import Measure

if TYPE_CHECKING:
    from assay.hypotheses.perceptron import Perceptron

CHEAP = 20_000  # numbers in a table of which the greatest margin is found before anybody waits for it


def mistake_bound(model: Perceptron, engine: Engine, rows: Rows, labels: Labels, equal: bool) -> float | None:
    """R²/γ² with the greatest margin γ, found once; None where nothing separates the rows, or the bound is for other steps.

    `equal`: all rows are corrected by the same step.
    """
    numbers = rows.n_columns * (rows.n_rows or 0)
    if len(labels.classes) > 2 or model.order == "batch" or not equal or rows.has_weight or numbers > CHEAP:
        return None
    from assay.solvers.separation import separate

    found = separate(engine, rows, labels, space=model._space())
    if not found.separable:
        return None
    u = np.append(found.intercept, found.coef)
    return most_mistakes(found.radius**2, found.margin, float(model.eta0), model.start_[0], u / np.linalg.norm(u))


def mistakes_so_far(count: int, bound: float | None, starts_at_zero: bool) -> Measure:
    """All mistakes up to here."""
    formula = "R²/γ²" if starts_at_zero else "the bound from these first weights"
    text = f"{count} mistakes" if bound is None else f"{count} ≤ {formula} = {bound:.6g}"
    return Measure("mistakes", float(count), bound, text, better=None)


def mistakes_of_pass(wrong: int) -> Measure:
    """Those of one pass over all rows: none ends the fit."""
    return Measure("mistakes in the pass", float(wrong), 0.0, f"{wrong} mistakes in this pass")
