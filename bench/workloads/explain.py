"""Exact SHAP values of forests and boosting, against the `shap` package's TreeExplainer on the very same trees.

The package is handed our trees as its own dictionaries, so that what is timed is the explanation alone. It reads them by one thread, ours by two; its
interventional values agree with ours to about 4e-8 only, ours with brute force over all subsets to 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import shap

import assay
from assay.families.trees.importance import node_values
from bench.harness import Contender, Race, Target

TREES, COLUMNS = 100, 20


@cache
def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A function of some columns in pairs, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS))
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + np.sin(3 * X[:, 3]) + X[:, 4] * X[:, 5]
    return X, y + 0.1 * rng.normal(size=n)


@cache
def forest(n: int, leaves: int | None) -> Any:
    return assay.RandomForestRegressor(TREES, max_leaf_nodes=leaves, max_features=0.5).fit(*rows(n))


def as_shap_takes_them(model: Any) -> dict[str, Any]:
    """The trees of a model as the dictionaries that the package reads."""
    trees = []
    for tree in model.estimators_ if hasattr(model, "estimators_") else [model]:
        shape = tree.tree_shape()
        leaf, answer = shape.left < 0, shape.value
        if hasattr(model, "classes_"):
            answer = answer / shape.n[:, None]
        lacking = np.zeros(len(leaf), dtype=bool)
        lacking[~leaf] = tree.missing_left_ != 0
        trees.append(
            {
                "children_left": shape.left.astype(np.int32),
                "children_right": shape.right.astype(np.int32),
                "children_default": np.where(lacking, shape.left, shape.right).astype(np.int32),
                "features": np.where(leaf, -2, shape.feature).astype(np.int32),
                "thresholds": np.where(leaf, 0.0, shape.threshold),
                "values": answer / len(model.nodes_),
                "node_sample_weight": shape.n,
            }
        )
    return {"trees": trees}


def added_as_shap_takes_them(model: Any) -> dict[str, Any]:
    """The trees of a boosted score likewise: their leaves are added up, not averaged."""
    known, ends, first = node_values(model), model._predictor.ends, 0
    splits = np.cumsum(model.feature_ != -1) - 1
    trees = []
    for count in model.nodes_.tolist():
        here = slice(first, first + count)
        leaf, nodes, place = model.feature_[here] == -1, np.arange(count), splits[here]
        left = np.where(leaf, -1, nodes + 1).astype(np.int32)
        right = np.where(leaf, -1, ends[np.minimum(nodes + 1, count - 1) + first] - first).astype(np.int32)
        trees.append(
            {
                "children_left": left,
                "children_right": right,
                "children_default": np.where(model.missing_left_[place] != 0, left, right).astype(np.int32),
                "features": np.where(leaf, -2, model.feature_[here]).astype(np.int32),
                "thresholds": np.where(leaf, 0.0, model.cut_[place]),
                "values": known.answer[here],
                "node_sample_weight": known.weight[here],
            }
        )
        first += count
    return {"trees": trees}


def races() -> list[Race]:
    few, full = forest(10_000, 31), forest(2_000, None)
    boosted = assay.GradientBoostingRegressor(n_estimators=TREES).fit(*rows(10_000))
    X = rows(10_000)[0]
    return [
        _race("SHAP, 10 000 rows × 100 trees of 31 leaves", few, X, None, 5),
        _race("SHAP, 50 rows × 100 full trees of 2000 rows", full, X[:50], None, 5),
        _race("SHAP of boosting, 10 000 rows × 100 trees of 31 leaves", boosted, X, None, 5),
        _race("SHAP of boosting against 50 background rows, 1000 rows × 100 trees", boosted, X[:1000], X[-50:], 5),
        _race("SHAP against 50 background rows, 1000 rows × 100 trees of 31 leaves", few, X[:1000], X[-50:], 5),
    ]


def _race(title: str, model: Any, X: np.ndarray, background: np.ndarray | None, wanted: float) -> Race:
    how = "tree_path_dependent" if background is None else "interventional"
    added = hasattr(model, "baseline_")
    trees = added_as_shap_takes_them(model) if added else as_shap_takes_them(model)
    peer = shap.TreeExplainer(trees, background, feature_perturbation=how)
    return Race(
        title,
        [
            Contender("assay", lambda: model.shap_values(X, background), rounds=7),
            Contender("shap", _explained_by(peer, X), rounds=2),
        ],
        _agree,
        [Target("shap", at_least=wanted)],
    )


def _explained_by(peer: Any, X: np.ndarray) -> Callable[[], np.ndarray]:
    return lambda: np.asarray(peer.shap_values(X, check_additivity=False))


def _agree(ours: np.ndarray, theirs: np.ndarray) -> str:
    return f"differ by at most {np.abs(ours - theirs.reshape(ours.shape)).max():.1e}"
