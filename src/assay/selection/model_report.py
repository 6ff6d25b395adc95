"""A saved model on a table, as a comparison of one: what `assay report MODEL DATA` writes about.

Where the table is the one of the fit (by its fingerprint) and a part was held out, the model is judged on that part; where it was fitted
again on all rows after it had been measured, the measured fit is made again and judged on the rows it never saw; else the model is judged on
all rows, and it is said whether these are the rows of the fit or another table.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from assay.assess.worry import Worry
from assay.certify.certificate import UNUSABLE, fingerprint_of
from assay.engines import engine_for
from assay.estimator.params import defaults
from assay.numerics import Array
from assay.selection.comparison import Comparison, Entry
from assay.selection.data import Answers, TableData, row_losses
from assay.selection.held_out_rows import rows_of_fit
from assay.selection.judge import judged
from assay.selection.measured_fit import MEASURED, fitted_like, sides_of
from assay.selection.plan import check_loss
from assay.selection.splits import Resampling, Split
from assay.selection.table_model import TableModel, held_out_of
from assay.selection.trial import Trial
from assay.tables.table_rows import TableRows

OF_FIT = "rows of the fit"


def comparison_of(model: TableModel, data: Any, loss: str | None = None) -> Comparison:
    """The model judged on a table with its target."""
    began = time.monotonic()
    table = model.table(data, labelled=True)
    classes = getattr(model.model_, "classes_", None)
    found = TableData.of(model.schema_, engine_for(table).open(table), classes is not None, classes)
    found = replace(found, source=table.source)
    split, judged_on = _split(model, table, found)
    name = check_loss(loss, classes is not None)
    measured = _measured(model, table, found) if judged_on == OF_FIT else None
    if measured is not None:
        split, judged_on = measured[1], "measured fit"
    entry = _entry(model if measured is None else measured[0], found, split, name)
    oddities = model.oddities(table.source)
    question = {"data": table.source.where, "target": model.target, "loss": name, "judged_on": judged_on}
    return judged(
        Comparison(
            data=found,
            where=table.source.where,
            task="regression" if classes is None else "classification",
            loss=name,
            resampling=Resampling("holdout"),
            splits=[split],
            tested=split.test,
            entries=[entry],
            left_out=[],
            question=question,
            provenance={"notes": [*table.source.notes, *oddities]},
            worries=[_odd(note) for note in oddities],
            refits={} if measured is None else {model.name: model},
        ),
        began,
    )


def _odd(note: str) -> Worry:
    return Worry(
        "medium",
        "other than at the fit",
        f"{note[0].upper()}{note[1:]}.",
        "Check how the table came about; if the world has changed, fit again.",
    )


def _entry(model: TableModel, found: TableData, split: Split, loss: str) -> Entry:
    answers = Answers.of(model.learner, found.encoded(model.encoding_, split.test), found.classes)
    train_risk = float("nan")
    if len(split.train):
        train = Answers.for_loss(model.learner, found.encoded(model.encoding_, split.train), found.classes, loss)
        train_risk = float(row_losses(loss, found, split.train, train).mean())
    usual = defaults(type(model.model_))
    changed = {k: v for k, v in model.model_.fitted_params_.items() if k != "n_jobs" and v != usual[k]}
    trial = Trial(
        setting=changed,
        search=None,
        answers=answers,
        test_risk=float(row_losses(loss, found, split.test, answers).mean()),
        train_risk=train_risk,
        train_rows=len(split.train),
        complexity=float(model.model_.complexity()),
        columns=len(model.encoding_.outputs),
    )
    entry = Entry(model.name, "done", setting=changed, trials=[trial], model=model, answers=answers)
    entry.fold_risks, entry.complexity, entry.columns = np.array([trial.test_risk]), trial.complexity, trial.columns
    return entry


def _split(model: TableModel, table: TableRows, found: TableData) -> tuple[Split, str]:
    """Rows of the fit and rows to judge on, and what the latter are."""
    everything, nothing = found.everything, np.empty(0, dtype=np.int64)
    stated = model.model_.provenance_.get("split")
    if len(found) == model.schema_.n_rows:
        mask = held_out_of(stated, table)
        train, held_out = rows_of_fit(found.rows, mask)
        rows = everything if train is None else np.flatnonzero(train)
        if _are_those_of_the_fit(model, found, rows):
            if held_out is not None:
                return Split(rows, np.flatnonzero(held_out)), "held-out rows"
            return Split(nothing, everything), OF_FIT
    return Split(nothing, everything), "another table"


def _measured(model: TableModel, table: TableRows, found: TableData) -> tuple[TableModel, Split] | None:
    """The fit that was measured before the model was fitted again on all rows, made again, and its split; None where there is none."""
    claim = next((c for c in model.certificate_ if c.check == MEASURED), None)
    if claim is None:
        return None
    try:
        split = sides_of(found, claim.witness["split"], table.source)
        fitted, encoding = fitted_like(model, found, split.train)
    except UNUSABLE:  # a file may state anything
        return None
    classes: list[Any] = [getattr(each, "classes_", None) for each in (fitted, model.model_)]
    calibration = model.calibration_ if np.array_equal(*classes) else None  # it was learnt with this fit
    return TableModel(fitted, encoding, (), calibration), split


def _are_those_of_the_fit(model: TableModel, found: TableData, rows: Array) -> bool:
    """Whether rows are those of the fit, by their fingerprint."""
    try:
        mark = fingerprint_of(
            found.encoded(model.encoding_, rows, of_fit=True), getattr(model.model_, "classes_", None)
        )
    except UNUSABLE:
        return False
    return mark == model.model_.provenance_.get("fingerprint")
