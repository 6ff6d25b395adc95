"""Boosting in the making, for teaching: stage by stage, what is left shrinks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines.threads import Threads
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.boosting.fit import BoostingFit
from assay.families.trees.nodes import TreeNodes, join_trees, parts_of
from assay.numerics import Floats

if TYPE_CHECKING:
    from assay.families.boosting.model import BoostedTrees


def boosting_steps(model: BoostedTrees, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """A step a stage: leaves of its trees, its step, the training loss and that of the rows held out; of two classes the margins too."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    work = BoostingFit(fresh, Threads(fresh.n_jobs), rows, True, None)
    codes, lacking = work.rows.categories.code, work.rows.survey.missing
    known = {
        "category_code_": codes if len(codes) else None,
        "missing_columns_": lacking.astype(np.uint8) if lacking.any() else None,
        "baseline_": np.asarray(work.boosting.start),
        "delta_": getattr(work.loss, "delta", None),
    }
    vars(fresh).update(known)
    for number, stage in enumerate(work.run(), 1):
        values: dict[str, Any] = {
            "leaves": sum(len(tree.values) for tree in stage.trees),
            "step": float(work.steps[-1]),
            "training_loss": float(work.curve[-1]),
            "nodes_": np.array([len(t.feature) for t in work.trees]),
        }
        if stage.held is not None:
            values["held_out_loss"] = float(stage.held)
        margin = _least_margin(work)
        if margin is not None:
            values["least_margin"] = margin
        state = answering(fresh, partial(_first, work.trees, work.steps, number, work.loss.trees))
        yield Step(number, rows.n_rows or 0, values, _measures(values), state)


def _least_margin(work: BoostingFit) -> float | None:
    """Of two classes the least of ±F over the rows that count: above zero all are right, and it may go on growing."""
    if work.loss.name not in ("log_loss", "exponential") or work.loss.trees > 1:
        return None
    F: Floats = work.boosting.scores[0] + work.boosting.start[0]
    there = work.rows.w > 0
    return float((np.where(work.rows.y > 0, F, -F)[there]).min())


def _measures(values: dict[str, Any]) -> tuple[Measure, ...]:
    loss, held, margin = values["training_loss"], values.get("held_out_loss"), values.get("least_margin")
    return measures(
        Measure("training loss", loss, None, f"training loss {loss:.4g}"),
        None if held is None else Measure("held-out loss", held, None, f"loss of the rows held out {held:.4g}"),
        None if margin is None else Measure("least margin", margin, 0.0, f"least margin {margin:.4g}", better="up"),
    )


def _first(trees: list[TreeNodes], steps: list[float], number: int, K: int) -> dict[str, Any]:
    return {**parts_of(join_trees(trees[: number * K])), "step_": np.array(steps[:number])}
