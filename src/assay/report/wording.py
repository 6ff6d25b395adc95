"""Numbers, scores and settings as a person reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from assay.assess import Score
from assay.assess.verdict import percent
from assay.report.markup import Html, el, join
from assay.selection.comparison import Comparison, Entry
from assay.selection.sentences import TESTED

QUOTED = re.compile(r"'([^']+)'")
SHARES = frozenset(("error", "balanced error", "zero-one", "train", "test", "share true", "precision", "recall", "F1"))
LOSSES = {
    "zero-one": "error",
    "log": "log loss",
    "brier": "Brier score",
    "squared": "squared error",
    "absolute": "absolute error",
}


def plain(value: Any) -> str:
    """A number with four digits that matter, grouped by thousands where it is whole; other values as they are.

    >>> plain(1234567), plain(0.123456), plain(None), plain(float("nan"))
    ('1 234 567', '0.1235', '–', '–')
    """
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}".replace(",", " ")
    if isinstance(value, float | np.floating):
        return f"{float(value):.4g}"
    return str(value)


def alone(found: Comparison) -> Entry | None:
    """The only model of a comparison, which then is a report on that model; None of several."""
    return found.entries[0] if len(found.entries) == 1 and not found.left_out else None


def of_fit(found: Comparison) -> bool:
    """Whether a saved model is judged on the rows it was fitted on."""
    return bool(found.question.get("judged_on") == "rows of the fit")


def tested_rows(found: Comparison) -> str:
    """What the rows are that the numbers come from: `judged_on` says so where a model that was saved is judged."""
    return TESTED.get(found.question.get("judged_on", ""), "rows that the fits never saw")


def place(where: str) -> str:
    """Where a table lies, without the quotes that messages put around a path.

    >>> place("'trees.csv'")
    'trees.csv'
    """
    quoted = len(where) > 2 and where[0] == where[-1] and where[0] in "'\""
    return where[1:-1] if quoted and where[0] not in where[1:-1] else where


def file_name(where: str) -> str:
    """Where a table lies as a title says it: a file by its name, without the folders above it.

    >>> file_name("'/data/2024/trees.csv'"), file_name("Table 'oaks' of '/data/all.duckdb'"), file_name("the DataFrame")
    ('trees.csv', "Table 'oaks' of all.duckdb", 'the DataFrame')
    >>> file_name("'parts/*.parquet'"), file_name("postgresql://me@host/trees")
    ('parts/*.parquet', 'postgresql://me@host/trees')
    """
    if place(where) != where:
        return _last(place(where))
    return QUOTED.sub(lambda found: _last(found[1]) if "/" in found[1] else found[0], where)


def _last(path: str) -> str:
    """The last part of a path; of a pattern such as *.csv the folder too, for it says more."""
    parts = PurePath(path).parts
    pattern = bool(parts) and any(mark in parts[-1] for mark in "*?[")
    return path if "://" in path or not parts else "/".join(parts[-2 if pattern else -1 :])


def is_share(score: Score, loss: str = "") -> bool:
    """Whether a score is a share of rows, to be said in per cent."""
    return (score.name in SHARES or loss == "zero-one") and score.low >= 0 and score.high <= 1


def amount(score: Score, value: float, loss: str = "") -> str:
    """One of the numbers of a score."""
    if math.isnan(value):
        return "–"
    return percent(value) if is_share(score, loss) else f"{value:.4g}"


def interval(score: Score, loss: str = "") -> str:
    """From low to high."""
    return f"{amount(score, score.low, loss)} to {amount(score, score.high, loss)}"


def exactness(score: Score) -> str:
    """How far the interval can be trusted."""
    return "exact" if score.kind == "exact" else "approximate"


def setting_words(setting: Mapping[str, Any]) -> str:
    """Hyper-parameters in a line.

    >>> setting_words({"C": 10.0, "penalty": "l1"})
    'C = 10, penalty = l1'
    """
    return ", ".join(f"{name} = {_value(value)}" for name, value in setting.items()) or "as it stands"


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def span_of_time(seconds: float) -> str:
    """A duration.

    >>> span_of_time(0.0123), span_of_time(75.0)
    ('0.01 s', '1 min 15 s')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def pill(word: str, tone: str = "") -> Html:
    """A word with a border, in a tone: good, mild or bad."""
    return el("span", word, class_=f"pill {tone}".strip())


def with_interval(score: Score, loss: str = "") -> Html:
    """Value and interval in one cell."""
    return join(el("strong", amount(score, score.value, loss)), f" ({interval(score, loss)})")
