"""What to worry about before believing a number: everything about the table and the split that makes it doubtful."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.assess.drift import drift_worries
from assay.assess.groups import is_missing
from assay.assess.leaks import id_like, same_rows, target_like
from assay.assess.score import Score
from assay.assess.verdict import percent
from assay.assess.worry import RANK, Columns, Worry, names
from assay.inputs.labels import plain_labels
from assay.numerics import Array

MOSTLY = 0.5  # share of missing values
NEAR_CONSTANT = 0.999  # share of the most frequent value
RARE = 0.05  # share of a class
FEW = 10  # rows of a class


def table_worries(
    train: Columns, y_train: Any, test: Columns | None = None, y_test: Any = None, *, classes: bool = True
) -> list[Worry]:
    """All worries about a table and, if the held-out part is given, about the split; worst first."""
    y_train = np.asarray(y_train)
    found = [*constant(train), *mostly_missing(train), *id_like(train)]
    if classes:
        found += class_balance(y_train)
    if test is not None and y_test is not None:
        y_test = np.asarray(y_test)
        found += same_rows(train, y_train, test, y_test, classes)
        found += target_like(train, y_train, test, y_test, classes)
        found += drift_worries(train, test)
    return by_severity(found)


def by_severity(found: list[Worry]) -> list[Worry]:
    """Worst first, otherwise as they came."""
    return sorted(found, key=lambda w: RANK[w.severity])


def constant(columns: Columns) -> list[Worry]:
    """Columns with one value only, or with hardly any other."""
    shares = {name: _top_share(np.asarray(column)) for name, column in columns.items()}
    same = tuple(c for c, s in shares.items() if s == 1)
    nearly = tuple(c for c, s in shares.items() if NEAR_CONSTANT <= s < 1)
    found = []
    if same:
        found.append(Worry("low", "constant columns", f"One value only: {names(same)}.", "Leave them out.", same))
    if nearly:
        detail = f"{names(nearly)}: one value in at least {NEAR_CONSTANT:.1%} of the rows."
        found.append(Worry("low", "nearly constant columns", detail, "Leave them out, unless the rare value matters.", nearly))  # fmt: skip
    return found


def _top_share(column: Array) -> float:
    """The share of the most frequent value; missing counts as one."""
    if not len(column):
        return 0.0
    missing = is_missing(column)
    present = column[~missing]
    if not len(present):
        return 1.0
    head = present[: 1 << 12]
    if missing.mean() < NEAR_CONSTANT and (head == head[0]).mean() < 0.5 and len(set(head.tolist())) > 100:
        return 0.0  # surely many values: no need to sort a long column
    counts = np.unique(present if present.dtype.kind in "fiub" else present.astype(str), return_counts=True)[1]
    return float(max(counts.max(), missing.sum()) / len(column))


def mostly_missing(columns: Columns) -> list[Worry]:
    """Columns without a value in more than half of the rows."""
    shares = {name: float(is_missing(np.asarray(column)).mean()) for name, column in columns.items() if len(column)}
    empty = tuple(c for c, s in shares.items() if s > MOSTLY)
    if not empty:
        return []
    worst = max(empty, key=lambda c: shares[c])
    detail = f"{names(empty)}: no value in more than half of the rows ({worst!r}: {shares[worst]:.0%})."
    return [Worry("low", "columns mostly missing", detail, "Check how they were filled; leave out what is empty.", empty)]  # fmt: skip


def class_balance(y: Array) -> list[Worry]:
    """Classes that are rare, and classes with too few rows to learn or to judge."""
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) < 2:
        return []
    shown = plain_labels(labels)
    found = []
    few = [f"{shown[k]!r} ({counts[k]})" for k in np.flatnonzero(counts < FEW)]
    if few:
        detail = f"Classes with fewer than {FEW} rows: {', '.join(few[:6])}{', …' if len(few) > 6 else ''}."
        found.append(Worry("medium", "few rows of a class", detail, "Collect more of them, or merge classes."))
    rare, top = int(counts.argmin()), int(counts.argmax())
    share = counts[rare] / counts.sum()
    if share < RARE and share < 0.5 / len(labels):
        guess = 1 - counts[top] / counts.sum()
        detail = f"{shown[rare]!r} makes up {percent(share)} of the rows; always answering {shown[top]!r} errs on {percent(guess)} only."
        found.append(
            Worry(
                "medium",
                "unbalanced classes",
                detail,
                "Look at the balanced error and recall; class_weight=balanced makes every class count the same.",
            )
        )
    return found


def overfitting(train: Score, test: Score) -> list[Worry]:
    """Training and held-out risk whose intervals do not meet."""
    apart = train.high < test.low if test.better == "low" else train.low > test.high
    if not apart:
        return []
    gap = abs(test.value - train.value) / max(abs(test.value), 1e-300)
    return [
        Worry(
            "medium" if gap > 0.5 else "low",
            "overfitting",
            f"{train.name}: {train.value:.4g} on training rows, {test.value:.4g} on held-out rows, and the intervals do not meet.",
            "Take a simpler model, more regularisation, or more rows.",
        )
    ]
