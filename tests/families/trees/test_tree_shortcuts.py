"""Shortcuts of growing a forest change nothing: rows brought near, rows walked down, columns that cannot win left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import assay
from assay.compiled import jit
from assay.compiled.simd.memory import data_pointer
from assay.families.trees import codes, forest_builder, grow
from assay.families.trees.loops.two_classes import run_up, upper_bounds

PARTS = ("feature_", "cut_", "missing_left_", "leaf_", "table_")


def _table(n: int, kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(n, 6)), 1 if kind == "missing" else 9)
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    score = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2]) + 0.3 * rng.normal(size=n)
    return X, score if kind == "numbers" else np.digitize(score, [0.0] if kind == "two" else [-1.0, 0.0, 1.0])


def _fit(kind: str, X: Any, y: Any, weight: Any, bins: Any) -> list[Any]:
    make: Any = assay.RandomForestRegressor if kind == "numbers" else assay.RandomForestClassifier
    model = (
        make(n_estimators=3, max_features=3, bins=bins, quantiles=True)
        if kind == "numbers"
        else make(n_estimators=3, max_features=3, bins=bins)
    )
    model.fit(X, y, sample_weight=weight)
    answers = model.oob_prediction_ if kind == "numbers" else model.oob_decision_function_
    quantiles = [model.predict_quantiles(X[:50], [0.2, 0.7])] if hasattr(model, "predict_quantiles") else []
    return [np.asarray(getattr(model, part)) for part in PARTS] + [answers, model.oob_curve_, *quantiles]


def _alike(a: list[Any], b: list[Any]) -> bool:
    return [x.tobytes() for x in a] == [x.tobytes() for x in b]


@pytest.mark.parametrize("bins", ["exact", 64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["two", "many", "numbers", "missing"])
def test_rows_brought_near_grow_the_same_trees(
    kind: str, weighted: bool, bins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = _table(700, kind)
    weight = np.random.default_rng(1).random(len(y)) if weighted else None
    plain = _fit(kind, X, y, weight, bins)
    monkeypatch.setattr(codes, "CACHE", 0)
    monkeypatch.setattr(grow, "LEAST_NEAR", 5)
    monkeypatch.setattr(grow, "NEAR", 6 * 150)
    assert _alike(plain, _fit(kind, X, y, weight, bins))


@pytest.mark.parametrize("bins", ["exact", 64])
@pytest.mark.parametrize("kind", ["two", "many", "numbers"])
def test_rows_walked_down_end_where_rows_that_go_along_end(
    kind: str, bins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = _table(700, kind)
    walked = _fit(kind, X, y, None, bins)
    monkeypatch.setattr(forest_builder, "can_walk", lambda table: False)
    assert _alike(walked, _fit(kind, X, y, None, bins))


@jit
def _candidates(hist, running, used, n, s, best):  # type: ignore[no-untyped-def]
    zero = np.uint64(0)
    run_up(data_pointer(hist), used + 1, zero, zero, zero, zero, data_pointer(running))
    return upper_bounds(data_pointer(hist), data_pointer(running), used, n, s, best)


def test_a_column_without_hope_holds_no_better_split() -> None:
    rng = np.random.default_rng(3)
    hopeless = 0
    for _ in range(300):
        m, used = int(rng.integers(3, 40)), int(rng.integers(1, 12))
        bucket = np.sort(rng.integers(0, used, m))
        label, times = rng.integers(0, 2, m), rng.integers(1, 4, m)
        hist, running = np.zeros(4 * used + 8, np.uint64), np.zeros(4 * used + 8, np.uint64)
        np.add.at(hist, 4 * bucket + 1, (times.astype(np.uint64) << np.uint64(32)) + (times * label).astype(np.uint64))
        n, s = times.sum(), (times * label).sum()
        a, b = np.cumsum(times)[:-1], np.cumsum(times * label)[:-1]
        score = (b * b / a + (s - b) ** 2 / (n - a)).max()
        best = s * s / n + rng.random() * 2 * (score - s * s / n) + 1e-9
        bound = _candidates(hist, running, used, n, s, best)
        assert bound & ~2 == 0
        hopeless += bound == 0
        if score >= best:
            assert bound == 2
    assert hopeless > 20
