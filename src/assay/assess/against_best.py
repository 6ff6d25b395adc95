"""The best of many models against every other, with one error rate for all the comparisons together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.assess.paired import PairedTest, compare_pair, verdict_of
from assay.errors import DataError
from assay.numerics import Array, Floats


def holm(p: Sequence[float] | Array, of: int | None = None) -> Floats:
    """Holm's adjusted p-values: the j-th smallest of m times m − j + 1, never falling. `of`: m, where only some of m tests are given.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    times = (len(p) if of is None else of) - np.arange(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * times))
    return adjusted


def compare_with_best(
    columns: Mapping[str, Any],
    *,
    y: Any = None,
    n_train: float | None = None,
    n_test: float | None = None,
    confidence: float = 0.95,
) -> tuple[str, dict[str, PairedTest]]:
    """The name of the best column (answers, or losses) and its test against every other, p by Holm for all of them together.

    The best is found on the same rows, so any two models might have been compared: the correction is for all m(m − 1)/2 pairs.
    """
    if not columns:
        raise DataError("There is nothing to compare: give at least one model.")
    risks = {k: np.mean(np.asarray(v) != np.asarray(y)) if y is not None else np.mean(v) for k, v in columns.items()}
    best = min(risks, key=lambda k: risks[k])
    others = [k for k in columns if k != best]
    given: dict[str, Any] = {"y": y, "n_train": n_train, "n_test": n_test, "confidence": confidence}
    tests = [compare_pair(columns[best], columns[k], **given) for k in others]
    adjusted = holm([t.p for t in tests], len(columns) * (len(columns) - 1) // 2)
    alpha = 1 - confidence
    return best, {
        k: replace(t, name=f"{t.name}, Holm", p=float(p), verdict=verdict_of(float(p), t.difference, alpha))
        for k, t, p in zip(others, tests, adjusted)
    }
