"""The claim that a model's cross-validated error is what it is said to be, and its re-check by fitting every fold again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.certify.compare import differs_in
from assay.certify.intervals import clopper_pearson, normal_interval
from assay.engines import Engine, Rows, engine_for
from assay.numerics import Array
from assay.select.data import TableData
from assay.select.row_losses import Answers, row_losses
from assay.select.splits import Resampling, Split, make_splits
from assay.tables.encoding import Encoding

if TYPE_CHECKING:
    from assay.select.table_model import TableModel
    from assay.select.trial import Trial

REMADE = ("k-fold", "repeated")  # resamplings that can be made again from the rows and a seed alone


def cross_validated_claim(
    table: TableData, splits: list[Split], trials: list[Trial], plan: Resampling, loss: str
) -> list[Claim]:
    """The claim, where the folds can be made again from the table and the seed (not where groups or given rows decide)."""
    if plan.kind not in REMADE or table.w is not None:
        return []
    kind = "zero-one" if table.classes is not None else "squared"
    sums = [float(row_losses(kind, table, s.test, t.answers).sum()) for s, t in zip(splits, trials)]
    remade = make_splits(plan, len(table), y=strata(table, plan))
    if not all(np.array_equal(a.test, b.test) for a, b in zip(remade, splits)) or len(remade) != len(splits):
        return []
    settings = [dict(t.setting) for t in trials]
    return [claim_of(kind, sums, [len(s.test) for s in splits], settings, plan)]


def strata(table: TableData, plan: Resampling) -> Array | None:
    """Class codes to stratify by; None for numbers, and where a class is too rare to be in every fold."""
    if table.classes is None or np.bincount(table.codes).min() < plan.folds:
        return None
    return table.codes


def claim_of(kind: str, sums: list[float], rows: list[int], settings: list[Any], plan: Resampling) -> Claim:
    """The claim that follows from the losses of the folds; a row tested again is no new row, so its interval is that of one time."""
    n, total = sum(rows), float(sum(sums))
    mean, once = total / n, plan.repeats if plan.kind == "repeated" else 1
    if kind == "zero-one":
        low, high = clopper_pearson(round(total / once), n // once)
        what = f"{round(total)} of {n} rows wrong"
    else:
        means = np.array(sums) / np.array(rows)
        low, high = normal_interval(mean, float(means.std(ddof=1) / np.sqrt(len(means) / once)))
        what = f"mean squared error {mean:.6g} on {n} rows"
    times = f", {plan.repeats} times over" if plan.repeats > 1 else ""
    return Claim(
        name="cross-validated error" if kind == "zero-one" else "cross-validated squared error",
        statement=(
            f"{what}, each answered by a fit on the other {plan.folds - 1} of {plan.folds} folds{times} (seed {plan.seed}); [{low:.4g}, {high:.4g}] "
            "were the 95% interval if the folds' fits were one; this model itself is fitted on all rows"
        ),
        holds=True,
        check="cross_validated",
        value=mean,
        bound=high,
        kind="estimate",
        witness={
            "loss": kind,
            "sums": np.array(sums),
            "rows": np.array(rows, dtype=np.int64),
            "settings": settings,
            "resampling": plan.kind,
            "folds": plan.folds,
            "repeats": plan.repeats,
            "seed": plan.seed,
        },
    )


def recount(model: TableModel, claim: Claim, engine: Engine, raw: Rows) -> tuple[bool, str]:
    """Fit every fold again with its settings and count its errors."""
    w = claim.witness
    plan = Resampling(w["resampling"], folds=int(w["folds"]), repeats=int(w["repeats"]), seed=int(w["seed"]))
    settings = list(w["settings"])
    due = claim_of(w["loss"], [float(s) for s in w["sums"]], [int(r) for r in w["rows"]], settings, plan)
    part = differs_in(claim, due)
    if part is not None:
        return False, f"the {part} is not the one that follows from the folds"
    table = TableData.of(model.schema_, raw.in_memory(), hasattr(model.model_, "classes_"))
    splits = make_splits(plan, len(table), y=strata(table, plan))
    if len(splits) != len(settings) or [len(s.test) for s in splits] != [int(r) for r in w["rows"]]:
        return False, "the folds of these rows are not those of the claim"
    for number, (split, setting) in enumerate(zip(splits, settings)):
        found = _fold_loss(model, table, split, setting, w["loss"])
        if not np.isclose(found, float(w["sums"][number]), rtol=1e-6, atol=1e-9):
            return False, f"fold {number} costs {found:g}, not {float(w['sums'][number]):g}"
    return True, f"all {len(splits)} folds fitted again: {due.statement.split(',')[0]} again"


def _fold_loss(model: TableModel, table: TableData, split: Split, setting: Any, loss: str) -> float:
    raw = table.pick(split.train)
    encoding = Encoding.learn(engine_for(raw), table.schema, model.encoding_.wants, raw)
    fresh = type(model.model_)(**{**model.model_.get_params(), **setting})
    fitted = fresh.fit(table.encoded(encoding, split.train))  # type: ignore[attr-defined]
    answers = Answers.for_loss(fitted, table.encoded(encoding, split.test), table.classes, loss)
    return float(row_losses(loss, table, split.test, answers).sum())
