"""A tree grown level by level from rows that are never in memory together is the tree that memory gives, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import assay
from assay.families.trees import grow_by_level, training_data
from assay.families.trees.estimators import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.store import encode

N = 12_000


@pytest.fixture(scope="module")
def table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6))
    X[:, 1] = X[:, 1].round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 5] = rng.integers(0, 9, N)
    s = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.nan_to_num(X[:, 2])
    two = (s + 0.5 * rng.normal(size=N) + (X[:, 5] % 3 == 0) > 0).astype(int)
    return {
        "X": X,
        "two": two,
        "three": two + (X[:, 3] > 0.5),
        "number": s + rng.normal(size=N).round(2),
        "weight": rng.random(N) + 0.1,
        "whole": rng.integers(0, 3, N).astype(float),
    }


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binned from few rows on, and little room: three levels or so are folds."""
    monkeypatch.setattr(training_data, "FEW_ROWS", 100)
    monkeypatch.setattr(training_data, "GATHERED", 6 * 100)
    monkeypatch.setattr(grow_by_level, "GATHERED", 6 * 100)
    monkeypatch.setattr(grow_by_level, "COUNTS", 6 * 256 * 4 * 3)  # a level takes several passes


CASES: list[tuple[Any, dict[str, Any], str, str | None]] = [
    (DecisionTreeClassifier, {}, "two", None),
    (DecisionTreeClassifier, {"criterion": "entropy", "max_depth": 7}, "two", "weight"),
    (DecisionTreeClassifier, {"criterion": "entropy", "categorical_features": [5]}, "three", None),
    (DecisionTreeClassifier, {"max_features": 2, "min_samples_leaf": 20}, "three", "weight"),
    (DecisionTreeClassifier, {"class_weight": "balanced", "max_leaf_nodes": 40}, "two", "whole"),
    (DecisionTreeRegressor, {"min_impurity_decrease": 1e-3}, "number", None),
    (DecisionTreeRegressor, {"categorical_features": [5], "monotonic_cst": {0: 1}}, "number", "weight"),
    (RandomForestClassifier, {"n_estimators": 2}, "three", None),
    (RandomForestRegressor, {"n_estimators": 2, "max_samples": 0.5}, "number", "whole"),
]


def _bytes(cls: Any, params: dict[str, Any], t: dict[str, np.ndarray], y: str, w: str | None) -> bytes:
    model = cls(**params).fit(t["X"], t[y], sample_weight=None if w is None else t[w])
    return encode(model.to_record())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].name}-{c[2]}-{c[3]}")
def test_as_a_stream(case: Any, table: dict[str, np.ndarray], small: None) -> None:
    cls, params, y, w = case
    here = _bytes(cls, params, table, y, w)
    with assay.engine("stream"):
        assert _bytes(cls, params, table, y, w) == here


@pytest.mark.parametrize("case", [CASES[2], CASES[6], CASES[7]], ids=lambda c: f"{c[0].name}-{c[2]}-{c[3]}")
def test_on_a_cluster(case: Any, table: dict[str, np.ndarray], small: None, client: Any) -> None:
    cls, params, y, w = case
    here = _bytes(cls, params, table, y, w)
    with assay.engine("cluster", client):
        assert _bytes(cls, params, table, y, w) == here


def test_rows_of_levels_are_not_brought_into_memory(
    table: dict[str, np.ndarray], small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_data, "binned_table", None)  # would hold the codes of all rows
    with assay.engine("stream"):
        DecisionTreeClassifier(max_depth=5).fit(table["X"], table["two"])


def test_quantiles_need_the_rows(table: dict[str, np.ndarray], small: None) -> None:
    with assay.engine("stream"), pytest.raises(assay.errors.ParameterError, match="max_samples"):
        RandomForestRegressor(n_estimators=1, quantiles=True).fit(table["X"], table["number"])
