"""What to worry about in a comparison: leaks between its parts, odd columns, overfitting, separable classes, fits that stopped early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay.assess import overfitting, table_worries
from assay.assess.drift import drift_worries
from assay.assess.leaks import same_rows, target_like
from assay.assess.worries import by_severity
from assay.assess.worry import Worry, evenly
from assay.engines import Rows
from assay.numerics import Array
from assay.selection.comparison import Comparison, Entry
from assay.selection.splits import each_once
from assay.tables.schema.schema import TEXTUAL

MOST_COMPARED = 50_000  # rows of each side on which leaks and drift are searched for


def concerns(found: Comparison) -> list[Worry]:
    """All worries about the table, the split and the models; worst first."""
    classes = found.data.classes is not None
    codes = found.data.y if classes else found.data.codes
    some = _some(found.data.everything)
    worries = table_worries(columns_of(found.data.pick(some), found), codes[some], classes=classes)
    worries += _between_sides(found, codes, classes)
    ids = tuple(c.name for c in found.schema.columns if c.kind == "id")
    if ids:
        detail = f"{', '.join(ids[:6])}: a value of its own in (nearly) every row, so nothing can be learnt from it."
        worries.append(
            Worry(
                "low",
                "id-like columns left out",
                detail,
                "If it means something, say --kind COLUMN=category (or number).",
                ids,
            )
        )
    same = tuple(c.name for c in found.schema.columns if c.kind == "constant")
    if same:
        worries.append(
            Worry(
                "low",
                "constant columns left out",
                f"{', '.join(same[:6])}: the same in every row.",
                "Nothing, or leave them out of the table.",
                same,
            )
        )
    worries += _of_models(found)
    return by_severity(worries)


def _between_sides(found: Comparison, codes: Array, classes: bool) -> list[Worry]:
    """Leaks and drift between training and test rows, of the first split where there are several."""
    split = found.splits[0]
    train, test = (_some(side) for side in (each_once(split.train), split.test))
    if not len(train) or not len(test):
        return []
    columns = [columns_of(found.data.pick(side), found) for side in (train, test)]
    whole = [{**plain, **_texts(found.data.pick(side), found)} for plain, side in zip(columns, (train, test))]
    worries = same_rows(whole[0], codes[train], whole[1], codes[test], classes)
    if columns[0]:
        worries += target_like(columns[0], codes[train], columns[1], codes[test], classes)
        worries += drift_worries(*columns)
    if len(found.splits) > 1:
        where = f"In the first of {len(found.splits)} splits: "
        worries = [replace(w, detail=where + w.detail) for w in worries]
    return worries


def _of_models(found: Comparison) -> list[Worry]:
    worries: list[Worry] = []
    if found.recommended is not None and len(found.entries) == 1:  # of several, what counts was measured and won
        entry = found[found.recommended]
        if entry.train_risk is not None and entry.risk is not None:
            worries += overfitting(entry.train_risk, entry.risk)
    separable = [e.title for e in found.done if _separates(e)]
    if separable:
        worries.append(
            Worry(
                "low",
                "separable classes",
                f"A hyperplane separates the classes of the training rows ({', '.join(separable)}).",
                "Believe held-out rows only; without a penalty no likelihood has a maximum.",
            )
        )
    stopped = [e.title for e in found.done if not e.converged]
    if stopped:
        worries.append(
            Worry(
                "low",
                "fits that did not converge",
                f"{', '.join(stopped)} stopped before their tolerance was reached.",
                "Their numbers are measured all the same; raise max_iter to be sure.",
            )
        )
    return worries


def columns_of(rows: Rows, found: Comparison) -> Mapping[str, Array]:
    """The columns of some rows in memory by name, as numbers and codes."""
    X: Any = rows.in_memory().X
    plain = [c.name for c in found.schema.used if c.kind not in TEXTUAL]
    dates = {c.name for c in found.schema.used if c.kind == "date"}  # moments of their own are natural
    if found.data.rows.sparse:
        X = X.columns(np.arange(len(plain))).toarray()
    return {name: X[:, j] for j, name in enumerate(plain) if name not in dates}


def _texts(rows: Rows, found: Comparison) -> Mapping[str, Array]:
    """One number a row for all its texts: equal where these hold the same words."""
    if not found.data.rows.sparse:
        return {}
    X: Any = rows.in_memory().X
    used = found.schema.used
    before = sum(c.kind not in TEXTUAL for c in used) + sum(
        c.kind == "string" for c in used
    )  # numbers, and keys of strings
    words = X.columns(np.arange(before, X.n_columns))
    marks = np.random.default_rng(0).random(words.n_columns)
    return {"texts": np.bincount(words.row_numbers(), weights=words.data * marks[words.indices], minlength=len(words))}


def _some(rows: Array) -> Array:
    return rows[evenly(len(rows), MOST_COMPARED)]


def _separates(entry: Entry) -> bool:
    """Whether a linear model makes no mistake on the rows of its fit, or says itself that some hyperplane makes none."""
    if entry.model is None:
        return False
    linear = hasattr(entry.model.model_, "coef_") and hasattr(entry.model.model_, "classes_")
    says_so = getattr(entry.model.model_, "separable_", False) in (True, "yes")
    return says_so or (
        linear and entry.train_risk is not None and entry.train_risk.name == "error" and entry.train_risk.value == 0
    )
