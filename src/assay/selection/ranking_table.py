"""The ranking of a comparison as columns: one row a model, the best first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from assay.assess import Score
from assay.selection.comparison import Comparison, Entry


def ranking_columns(found: Comparison) -> dict[str, list[Any]]:
    """Who it is, how it ended, its risk with its interval, every other score, and what it cost; None where there is no such number."""
    entries = found.entries
    risks = [e.risk for e in entries]
    return {
        "model": [e.name for e in entries],
        "recommended": [e.name == found.recommended for e in entries],
        "state": [e.state for e in entries],
        "risk": _numbers(None if r is None else r.value for r in risks),
        "low": _numbers(None if r is None else r.low for r in risks),
        "high": _numbers(None if r is None else r.high for r in risks),
        "train_risk": _numbers(None if e.train_risk is None else e.train_risk.value for e in entries),
        "p": _numbers(None if e.against_best is None else e.against_best.p for e in entries),
        **{name: _numbers(_value(e.scores, name) for e in entries) for name in _score_names(entries)},
        "complexity": _numbers(e.complexity for e in entries),
        "seconds": _numbers(e.seconds for e in entries),
        "settings": [", ".join(f"{k}={v}" for k, v in e.setting.items()) for e in entries],
        "message": [e.message for e in entries],
    }


def _score_names(entries: Iterable[Entry]) -> list[str]:
    return list(dict.fromkeys(score.name for entry in entries for score in entry.scores))


def _value(scores: Iterable[Score], name: str) -> float | None:
    return next((score.value for score in scores if score.name == name), None)


def _numbers(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None or math.isnan(value) else float(value) for value in values]
