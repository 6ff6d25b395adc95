"""Claims about a model of a table beyond those of the model itself, and their re-checks.

Its encoding: counted again from the rows, and the schema from the table. Its cross-validated error: every fold searched and fitted again.
(The error of the fit that was measured before it was fitted again on all rows: measured_fit.py.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.assess.distinct_rows import effective_rows
from assay.assess.score import around
from assay.certify import Claim
from assay.certify.certificate import unusable
from assay.certify.claim import Verdict, differs_in
from assay.certify.held_out import clopper_pearson, normal_interval
from assay.engines import Rows
from assay.estimator.params import defaults
from assay.numerics import Array
from assay.selection.calibration_claim import CALIBRATION, candidate_like, check_calibration
from assay.selection.candidates import Candidate
from assay.selection.data import Answers, TableData, row_losses
from assay.selection.measured_fit import MEASURED, check_measured_fit
from assay.selection.plan import OF_CLASSES, OF_NUMBERS
from assay.selection.splits import PAIRS, Resampling, Split, make_splits, parts_of, shared_by
from assay.selection.text_check import wrong_components, wrong_strings
from assay.selection.trial import Trial, fit_one, learnt, quietly, search_settings
from assay.tables.encoding import Encoding
from assay.tables.encoding.columns import MISSING
from assay.tables.schema.schema import USED, Schema, infer
from assay.tables.sources.source import Source

if TYPE_CHECKING:
    from assay.selection.table_model import TableModel

REMADE = ("k-fold", "repeated")  # resamplings that can be made again from the rows and a seed alone
TABLE_CHECKS = ("encoding", "cross_validated", MEASURED, CALIBRATION)
TOLERANCE = 1e-9
OF_OVERLAP = (
    "is its 95% interval on new rows, widened since fits share rows (estimate; half of Nadeau and Bengio's correction); "
    "this model itself is fitted on all rows"
)
DESCRIBED = ("kind", "missing", "distinct", "about", "levels", "counts", "low", "high", "whole", "with_time", "words")


def table_verdicts(
    model: TableModel, claims: tuple[Claim, ...], raw: Rows, source: Source, opened: Rows
) -> list[Verdict]:
    """Re-check the claims about the table itself: `raw` are the rows of the fit, `opened` all rows, `source` holds the whole table."""
    verdicts = []
    for claim in claims:
        try:
            with np.errstate(all="ignore"):
                holds, reason = _CHECKS[claim.check](model, claim, raw, source, opened)
        except Exception as error:
            holds, reason = False, f"the claim cannot be checked: {unusable(error)}"
        verdicts.append(Verdict(claim.name, holds, reason, kind=claim.kind))
    if not any(claim.check == "encoding" for claim in claims):
        verdicts.append(Verdict("encoding", False, "the claim is missing", kind="proof"))
    if model.calibration_ is not None and not any(claim.check == CALIBRATION for claim in claims):
        verdicts.append(Verdict("calibrated probabilities", False, "the claim is missing", kind="estimate"))
    return verdicts


def encoding_claim(encoding: Encoding) -> Claim:
    """The statistics of the encoding are those of the rows of the fit."""
    s = encoding.statistics
    texts = "; the components of texts are orthonormal and hold 99 % of what as many directions can" if s.texts else ""
    strings = "; so are the counts and sums of targets of strings, part by part" if s.strings else ""
    return Claim(
        name="encoding",
        statement=(
            f"means, deviations and category counts of the encoding are those of the {s.n} rows of the fit: nothing of the rows "
            f"held out went into it; within {TOLERANCE:.0e} of a deviation{texts}{strings}; the schema is that of the whole table"
        ),
        holds=True,
        check="encoding",
        value=None,
        bound=None,
        kind="proof",
        witness={"rows": s.n},
    )


def _check_encoding(model: TableModel, claim: Claim, raw: Rows, source: Source, _: Rows) -> tuple[bool, str]:
    due = encoding_claim(model.encoding_)
    part = differs_in(claim, due)
    if part is not None:
        return False, f"the {part} is not the one that follows from the model"
    wrong = _schema_is_wrong(model.schema_, source)
    if wrong is not None:
        return False, wrong
    s = model.encoding_.statistics
    n, total, count, levels, documents = _sums(model.encoding_, raw)
    if n != s.n or not np.array_equal(count, s.present):
        return False, f"the rows are {n}, the encoding was learnt from {s.n}; or values are missing elsewhere"
    if not all(np.array_equal(a, b) for a, b in zip(levels, s.levels)) or not np.array_equal(documents, s.documents):
        return False, "the categories or words are not as frequent as the encoding says"
    wrong = wrong_components(model.encoding_, raw) or wrong_strings(model.encoding_, raw)
    if wrong is not None:
        return False, wrong
    mean = total / np.maximum(count, 1)
    m2 = _scatter(model.encoding_, raw, mean)
    scale = np.sqrt(m2 / np.maximum(count, 1)) + TOLERANCE * np.abs(mean)
    off = np.max(np.abs(mean - s.mean) / np.where(scale > 0, scale, 1.0), initial=0.0)
    spread = np.max(np.abs(m2 - s.m2) / np.where(m2 > 0, m2, 1.0), initial=0.0)
    return bool(
        off <= TOLERANCE and spread <= 1e-6
    ), f"counted again from {n} rows in two passes; means agree within {off:.1e} deviations"


def _schema_is_wrong(schema: Schema, source: Source) -> str | None:
    """In what the stored schema does not describe the table, read once more; None where it does."""
    there = [c for c in schema.columns if c.name in source.types and c.kind != "ignored"]
    target = schema.target if schema.target is not None and schema.target.name in source.types else None
    kinds = {c.name: c.kind for c in schema.used} | (
        {target.name: target.kind} if target and target.kind in USED else {}
    )
    found = infer(
        source,
        target=target.name if target else None,
        features=[c.name for c in there],
        kinds=kinds,
        **{role: name for role, name in schema.roles.items() if name in source.types},
    )
    if found.n_rows != schema.n_rows:
        return f"the schema is that of {schema.n_rows} rows, the table has {found.n_rows}"
    for column in (*schema.used, *([target] if target else [])):
        for part in DESCRIBED:
            stated = getattr(column, part)
            if part == "words" and stated is None:  # columns are then called by number
                continue
            if stated != getattr(found[column.name], part):
                return f"the schema's {part} of the column {column.name!r} is not that of the table"
    return None


def _sums(encoding: Encoding, raw: Rows) -> tuple[int, Any, Any, list[Any], Any]:
    """Rows, sums and counts of the numbers, and how often categories and words occur: added up plainly, block by block."""
    n = 0
    total: Any = 0.0
    count: Any = 0
    documents: Any = 0
    levels: list[Any] = [0] * len(encoding.groups.categories)
    for part in raw.blocks():
        found = encoding.groups.expand(part.load().X)
        N = found.numbers.astype(np.longdouble)
        n += len(N)
        total = total + np.nansum(N, axis=0)
        count = count + (~np.isnan(N)).sum(axis=0)
        for k, (codes, column) in enumerate(zip(found.codes.T, encoding.groups.categories)):
            width = len(column.levels or ())
            places = np.where(codes >= 0, codes, np.where(codes == MISSING, width + 1, width))
            levels[k] = levels[k] + np.bincount(places, minlength=width + 2)
        if found.words is not None:
            documents = documents + np.bincount(found.words.indices, minlength=found.words.n_columns)
    return n, total, count, levels, documents if np.ndim(documents) else np.zeros(0, np.int64)


def _scatter(encoding: Encoding, raw: Rows, mean: Any) -> Any:
    m2: Any = 0.0
    for part in raw.blocks():
        N = encoding.groups.expand(part.load().X).numbers.astype(np.longdouble)
        m2 = m2 + np.nansum((N - mean) ** 2, axis=0)
    return m2


def cross_validated_claim(
    table: TableData, splits: list[Split], trials: list[Trial], plan: Resampling, candidate: Candidate, loss: str
) -> list[Claim]:
    """The claim, where the folds can be made again from the table and the seed (not where groups or given rows decide)."""
    if plan.kind not in REMADE or table.w is not None:
        return []
    kind = "zero-one" if table.classes is not None else "squared"
    sums = [float(row_losses(kind, table, s.test, t.answers).sum()) for s, t in zip(splits, trials)]
    remade = make_splits(plan, len(table), y=table.strata(plan.folds))
    if not all(np.array_equal(a.test, b.test) for a, b in zip(remade, splits)) or len(remade) != len(splits):
        return []
    among, chosen = [dict(s) for s in candidate.settings()], [dict(t.setting) for t in trials]
    rough, fixed = dict(candidate.search_space.rough), dict(candidate.fixed)
    searched = Searched(among, chosen, rough, fixed, loss, shared_by(table), ties=True)
    return [claim_of(kind, sums, [len(s.test) for s in splits], searched, plan)]


class Searched(NamedTuple):
    """The settings searched, those that each fold's search chose, what was changed to be quick, what the user fixed, the loss, and whether
    folds shared their searches (splits.py; files from before have none of that)."""

    among: list[dict[str, Any]]
    chosen: list[dict[str, Any]]
    rough: dict[str, Any]
    fixed: dict[str, Any]
    loss: str
    shared: bool | str = False
    ties: bool = False


def claim_of(
    kind: str, sums: list[float], rows: list[int], searched: Searched, plan: Resampling, overlap: bool = True
) -> Claim:
    """The claim that follows from the losses of the folds; a row tested again is no new row, so its interval is that of one time.

    `overlap`: the interval is widened for fits that share rows (assess/distinct_rows.py); older files state one that is not.
    """
    n, total = sum(rows), float(sum(sums))
    mean, once = total / n, plan.repeats if plan.kind == "repeated" else 1
    distinct = n / once
    worth = effective_rows(distinct, distinct * (1 - 1 / plan.folds)) if overlap else distinct
    if kind == "zero-one":
        low, high = clopper_pearson(mean * worth if overlap else round(total / once), worth if overlap else n // once)
        what = f"{round(total)} of {n} rows wrong"
    else:
        means = np.array(sums) / np.array(rows)
        error = float(means.std(ddof=1) / np.sqrt(len(means) / once))
        wider = error * float(np.sqrt(distinct / worth))
        low, high = around(mean, wider, plan.folds - 1, least=0.0) if overlap else normal_interval(mean, error)
        what = f"mean squared error {mean:.6g} on {n} rows"
    times = f", {plan.repeats} times over" if once > 1 else ""
    many = len(searched.among)
    how = f" with the best of {many} settings on inner folds by {searched.loss} loss" if many > 1 else ""
    return Claim(
        name="cross-validated error" if kind == "zero-one" else "cross-validated squared error",
        statement=(
            f"{what}, each answered by a fit on the other {plan.folds - 1} of {plan.folds} folds{how}{times} (seed {plan.seed}); [{low:.4g}, {high:.4g}] "
            + (
                OF_OVERLAP
                if overlap
                else "were the 95% interval if the folds' fits were one; this model itself is fitted on all rows"
            )
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
            **({"shared": searched.shared} if searched.shared else {}),
            **({"ties": True} if searched.ties else {}),
            **({"overlap": True} if overlap else {}),
            "resampling": plan.kind,
            "folds": plan.folds,
            "repeats": plan.repeats,
            "seed": plan.seed,
        },
    )


def _check_cross_validated(model: TableModel, claim: Claim, raw: Rows, *_: Any) -> tuple[bool, str]:
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
    shared, ties = w.get("shared", False), bool(w.get("ties", False))
    if shared not in (False, True, PAIRS):
        return False, f"searches are not shared in a way {shared!r}"
    searched = Searched(
        list(w["searched"]), list(w["chosen"]), dict(w["rough"]), dict(w["fixed"]), str(w["by"]), shared, ties
    )
    overlap = "overlap" in w
    due = claim_of(w["loss"], [float(s) for s in w["sums"]], [int(r) for r in w["rows"]], searched, plan, overlap)
    part = differs_in(claim, due)
    if part is not None:
        return False, f"the {part} is not the one that follows from the folds"
    if len(searched.chosen) != plan.folds * plan.repeats or len(w["rows"]) != len(w["sums"]):
        return False, "the folds stated are more or fewer than those counted"
    table = TableData.of(model.schema_, raw.in_memory(), hasattr(model.model_, "classes_"))
    splits = make_splits(plan, len(table), y=table.strata(plan.folds))
    if len(splits) != len(searched.chosen) or [len(s.test) for s in splits] != [int(r) for r in w["rows"]]:
        return False, "the folds of these rows are not those of the claim"
    table = replace(table, parts=parts_of(plan, splits, table) if shared else None, pairs=shared == PAIRS)
    candidate = candidate_like(model, searched.among, searched.rough, searched.fixed)
    if [dict(s) for s in candidate.settings()] != searched.among:  # what is fixed is not searched
        return False, "the settings searched and those fixed contradict each other"
    setting = _chosen(candidate, table, table.everything, plan.seed, searched)
    due_params = {**defaults(type(model.model_)), **searched.fixed, **setting}
    if any(v != due_params[k] for k, v in model.model_.fitted_params_.items() if k != "n_jobs"):
        return False, "the search on all rows does not lead to the settings of the model"
    for number, split in enumerate(splits):
        wrong = _wrong_fold(candidate, table, split, plan.seed, searched, w, number)
        if wrong is not None:
            return False, wrong
    return True, f"all {len(splits)} folds searched and fitted again: {due.statement.split(',')[0]} again"


def _chosen(candidate: Candidate, table: TableData, train: Array, seed: int, searched: Searched) -> dict[str, Any]:
    """The setting that a search on these rows chooses."""
    with quietly():
        search = search_settings(candidate, table, train, searched.loss, seed, ties=searched.ties)
    at = 0 if search is None else search.chosen
    return dict(searched.among[at])


def _wrong_fold(
    candidate: Candidate,
    table: TableData,
    split: Split,
    seed: int,
    searched: Searched,
    w: Mapping[str, Any],
    number: int,
) -> str | None:
    """What is wrong with the claim about one fold, if anything."""
    setting = searched.chosen[number]
    if _chosen(candidate, table, split.train, seed, searched) != setting:
        return f"the search of fold {number} does not choose {setting}"
    with quietly():
        encoding, rows = learnt(candidate, table, split.train)
        fitted = fit_one(candidate, rows, setting)
        answers = Answers.for_loss(fitted, table.encoded(encoding, split.test), table.classes, w["loss"])
    found = float(row_losses(w["loss"], table, split.test, answers).sum())
    if not np.isclose(found, float(w["sums"][number]), rtol=1e-6, atol=1e-9):
        return f"fold {number} costs {found:g}, not {float(w['sums'][number]):g}"
    return None


_CHECKS: dict[str, Any] = {
    "encoding": _check_encoding,
    "cross_validated": _check_cross_validated,
    MEASURED: check_measured_fit,
    CALIBRATION: check_calibration,
}
