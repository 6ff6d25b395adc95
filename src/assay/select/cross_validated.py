"""The claim that a model's cross-validated error is what it is said to be, and its re-check by fitting every fold again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.compare import differs_in
from assay.certify.intervals import clopper_pearson, normal_interval
from assay.engines import Engine, Rows
from assay.learner.prospect import Prospect
from assay.numerics import Array
from assay.params import defaults
from assay.select.data import TableData
from assay.select.entrants import Entrant
from assay.select.row_losses import OF_CLASSES, OF_NUMBERS, Answers, row_losses
from assay.select.splits import Resampling, Split, make_splits
from assay.select.trial import Trial, learnt, quietly, search_settings

if TYPE_CHECKING:
    from assay.select.table_model import TableModel

REMADE = ("k-fold", "repeated")  # resamplings that can be made again from the rows and a seed alone


def cross_validated_claim(
    table: TableData, splits: list[Split], trials: list[Trial], plan: Resampling, entrant: Entrant, loss: str
) -> list[Claim]:
    """The claim, where the folds can be made again from the table and the seed (not where groups or given rows decide)."""
    if plan.kind not in REMADE or table.w is not None:
        return []
    kind = "zero-one" if table.classes is not None else "squared"
    sums = [float(row_losses(kind, table, s.test, t.answers).sum()) for s, t in zip(splits, trials)]
    remade = make_splits(plan, len(table), y=strata(table, plan))
    if not all(np.array_equal(a.test, b.test) for a, b in zip(remade, splits)) or len(remade) != len(splits):
        return []
    among, chosen = [dict(s) for s in entrant.settings()], [dict(t.setting) for t in trials]
    searched = Searched(among, chosen, dict(entrant.prospect.rough), dict(entrant.fixed), loss)
    return [claim_of(kind, sums, [len(s.test) for s in splits], searched, plan)]


class Searched(NamedTuple):
    """The settings searched, those that each fold's search chose, what was changed to be quick, what the user fixed, and the loss."""

    among: list[dict[str, Any]]
    chosen: list[dict[str, Any]]
    rough: dict[str, Any]
    fixed: dict[str, Any]
    loss: str


def strata(table: TableData, plan: Resampling) -> Array | None:
    """Class codes of the rows that count, to stratify by; None for numbers, and where a class is too rare to be in every fold."""
    if table.classes is None:
        return None
    codes: Array = table.codes[table.everything]
    return None if np.unique(codes, return_counts=True)[1].min(initial=len(codes)) < plan.folds else codes


def claim_of(kind: str, sums: list[float], rows: list[int], searched: Searched, plan: Resampling) -> Claim:
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
    times = f", {plan.repeats} times over" if once > 1 else ""
    many = len(searched.among)
    how = f" with the best of {many} settings on inner folds by {searched.loss} loss" if many > 1 else ""
    return Claim(
        name="cross-validated error" if kind == "zero-one" else "cross-validated squared error",
        statement=(
            f"{what}, each answered by a fit on the other {plan.folds - 1} of {plan.folds} folds{how}{times} (seed {plan.seed}); [{low:.4g}, {high:.4g}] "
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
            "searched": searched.among,
            "chosen": searched.chosen,
            "rough": searched.rough,
            "fixed": searched.fixed,
            "by": searched.loss,
            "resampling": plan.kind,
            "folds": plan.folds,
            "repeats": plan.repeats,
            "seed": plan.seed,
        },
    )


def recount(model: TableModel, claim: Claim, engine: Engine, raw: Rows) -> tuple[bool, str]:
    """Do it all again: every fold's search, fit and errors, and the search on all rows that the model itself came from."""
    w = claim.witness
    if w["loss"] != ("zero-one" if hasattr(model.model_, "classes_") else "squared"):
        return False, f"the loss {w['loss']!r} is not that of such a claim"
    if model.model_.provenance_.get("split") is not None:
        return False, "rows were held out, so the model is not fitted on all of them"
    if w["resampling"] not in REMADE:
        return False, f"folds of the kind {w['resampling']!r} cannot be made again"
    if w["by"] not in (OF_NUMBERS if w["loss"] == "squared" else OF_CLASSES):
        return False, f"no search goes by a loss {w['by']!r}"
    plan = Resampling(w["resampling"], folds=int(w["folds"]), repeats=int(w["repeats"]), seed=int(w["seed"]))
    searched = Searched(list(w["searched"]), list(w["chosen"]), dict(w["rough"]), dict(w["fixed"]), str(w["by"]))
    due = claim_of(w["loss"], [float(s) for s in w["sums"]], [int(r) for r in w["rows"]], searched, plan)
    part = differs_in(claim, due)
    if part is not None:
        return False, f"the {part} is not the one that follows from the folds"
    if len(searched.chosen) != plan.folds * plan.repeats or len(w["rows"]) != len(w["sums"]):
        return False, "the folds stated are more or fewer than those counted"
    table = TableData.of(model.schema_, raw.in_memory(), hasattr(model.model_, "classes_"))
    splits = make_splits(plan, len(table), y=strata(table, plan))
    if len(splits) != len(searched.chosen) or [len(s.test) for s in splits] != [int(r) for r in w["rows"]]:
        return False, "the folds of these rows are not those of the claim"
    entrant = _entrant(model, searched)
    if [dict(s) for s in entrant.settings()] != searched.among:  # what is fixed is not searched
        return False, "the settings searched and those fixed contradict each other"
    setting = _chosen(entrant, table, table.everything, plan.seed, searched)
    due_params = {**defaults(type(model.model_)), **searched.fixed, **setting}
    if any(v != due_params[k] for k, v in model.model_.fitted_params_.items() if k != "n_jobs"):
        return False, "the search on all rows does not lead to the settings of the model"
    for number, split in enumerate(splits):
        wrong = _wrong_fold(entrant, table, split, plan.seed, searched, w, number)
        if wrong is not None:
            return False, wrong
    return True, f"all {len(splits)} folds searched and fitted again: {due.statement.split(',')[0]} again"


def _entrant(model: TableModel, searched: Searched) -> Entrant:
    """The model as it took part in the comparison."""
    wants, inner = model.encoding_.wants, model.model_
    prospect = Prospect(tuple(searched.among), wants.categories, wants.scaled, searched.rough)
    return Entrant(inner.name, type(inner), prospect, wants, searched.fixed)


def _chosen(entrant: Entrant, table: TableData, train: Array, seed: int, searched: Searched) -> dict[str, Any]:
    """The setting that a search on these rows chooses."""
    with quietly():
        search = search_settings(entrant, table, train, searched.loss, seed)
    at = 0 if search is None else search.chosen
    return dict(searched.among[at])


def _wrong_fold(
    entrant: Entrant, table: TableData, split: Split, seed: int, searched: Searched, w: Mapping[str, Any], number: int
) -> str | None:
    """What is wrong with the claim about one fold, if anything."""
    setting = searched.chosen[number]
    if _chosen(entrant, table, split.train, seed, searched) != setting:
        return f"the search of fold {number} does not choose {setting}"
    with quietly():
        encoding, rows = learnt(entrant, table, split.train)
        fitted = next(iter(entrant.model(**entrant.fixed).fit_each(rows, [setting])))
        answers = Answers.for_loss(fitted, table.encoded(encoding, split.test), table.classes, w["loss"])
    found = float(row_losses(w["loss"], table, split.test, answers).sum())
    if not np.isclose(found, float(w["sums"][number]), rtol=1e-6, atol=1e-9):
        return f"fold {number} costs {found:g}, not {float(w['sums'][number]):g}"
    return None
