"""Rows kept sorted by every column: the tree that is grown by sorting node by node, and the ranks that NumPy's sort gives."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import assay
from assay.engines import ArrayRows
from assay.engines.engine import Threads
from assay.families.trees import codes as coded
from assay.families.trees import grow_parallel
from assay.families.trees.loops.coding import order_words, pack_values, turn
from assay.families.trees.loops.splitting import _last_below
from assay.families.trees.survey import Categories, Levels

PARTS = ("feature_", "cut_", "missing_left_", "leaf_", "table_", "gain_", "sets_")


def _columns(kind: str, n: int, rng: np.random.Generator) -> Any:
    X = rng.normal(size=(n, 6))
    X[:, 5] = rng.integers(0, 3, n)
    if kind == "ties":
        X = np.round(X, 1)
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    elif kind == "missing ties":
        X = np.round(X)
        X[rng.random(X.shape) < 0.2] = np.nan
    elif kind == "far apart":
        X *= 10.0 ** rng.integers(-300, 300, X.shape)
    return X


def _models() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for criterion in ("gini", "entropy"):
        found[criterion] = assay.DecisionTreeClassifier(criterion=criterion, bins="exact")
        found[f"{criterion}, leaves of 5"] = assay.DecisionTreeClassifier(
            criterion=criterion, bins="exact", min_samples_leaf=5
        )
    found["by sets"] = assay.DecisionTreeClassifier(bins="exact", categorical_features=[5])
    found["squared error"] = assay.DecisionTreeRegressor(bins="exact")
    found["squared error, leaves of 5"] = assay.DecisionTreeRegressor(bins="exact", min_samples_leaf=5)
    found["squared error, trend"] = assay.DecisionTreeRegressor(bins="exact", monotonic_cst=[1, 0, -1, 0, 0, 0])
    found["poisson"] = assay.DecisionTreeRegressor(criterion="poisson", bins="exact", min_samples_leaf=2)
    return found


@pytest.mark.parametrize("kind", ["plain", "ties", "float32", "missing", "missing ties", "far apart"])
@pytest.mark.parametrize("name", list(_models()))
def test_sorted_lists_grow_the_tree_that_sorting_every_node_grows(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(len(name) + len(kind))
    model, n = _models()[name], 5000
    if name == "by sets" and kind in ("far apart", "missing ties", "ties"):
        kind = "plain"
    X = _columns(kind, n, rng)
    score = np.clip(np.nan_to_num(X[:, 0].astype(float)), -3, 3) + rng.normal(size=n)
    y = score if name.startswith("squared") else np.digitize(score, [-1.0, 0.0, 1.0])
    targets = [y] if name.startswith("squared") or name == "poisson" else [(y > 1).astype(int), y]
    for target in targets:
        for weight in (None, rng.integers(0, 4, n) / 3):
            grown = []
            for worth in (1, 1 << 40):
                monkeypatch.setattr(grow_parallel, "WORTH", worth)
                for jobs in (1, 2):
                    model.n_jobs = jobs
                    model.fit(X, target, sample_weight=weight)
                    grown.append([getattr(model, part) for part in PARTS])
            for other in grown[1:]:
                for part, a, b in zip(PARTS, grown[0], other):
                    assert (a is None) == (b is None), part
                    assert a is None or (a.dtype == b.dtype and np.array_equal(a, b)), part


def _hard_columns() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    near = 1.0 + rng.integers(0, 1 << 12, 3000) * 2.0**-52
    near[0] = 1e300
    return {
        "normal": rng.normal(size=3000),
        "one": np.array([7.0]),
        "missing": np.array([np.nan]),
        "all missing": np.full(9, np.nan),
        "some missing": np.where(rng.random(3000) < 0.3, -np.nan, np.round(rng.normal(size=3000), 2)),
        "zeros": np.array([0.0, -0.0, 0.0, -1.0, -0.0, 5e-324, -5e-324]),
        "infinite": np.array([np.inf, 1.0, -np.inf, np.nan, -1.0, np.inf]),
        "extreme": np.array([1.7e308, -1.7e308, 1e-308, 0.0, -1e-308]),
        "agreeing in their first bits": near,
        "the same all over": np.full(100, 2.5),
        "whole": rng.integers(-5, 5, 2000),
        "large and whole": rng.integers(-(2**62), 2**62, 2000),
        "float32": rng.normal(size=3000).astype(np.float32),
    }


@pytest.mark.parametrize("name", list(_hard_columns()))
def test_ranks_are_those_of_a_stable_sort(name: str) -> None:
    x = _hard_columns()[name]
    plain = x.astype(np.float64)
    n = len(x)
    rows = SimpleNamespace(in_memory=lambda: ArrayRows(np.column_stack([x, x[::-1]]), np.zeros(n)))
    gone = np.isnan(plain)
    categories = Categories.of(Levels.of([0, 0], [False, False]), np.zeros(0, np.int64))
    found = SimpleNamespace(missing=np.array([gone.any()] * 2))
    table, order = coded.exact_table(rows, found, categories, Threads(1))  # type: ignore[arg-type]
    for j, v in enumerate((plain, plain[::-1])):
        values, codes = np.unique(v[v == v], return_inverse=True)
        assert np.array_equal(order[j], np.argsort(v, kind="stable"))
        assert np.array_equal(table.codes[j][v == v], codes)
        assert (table.codes[j][v != v] == table.missing[j]).all()
        assert np.array_equal(table.values[table.first[j] :][: len(values)], values)
        assert table.missing[j] == (-1 if not gone.any() else table.buckets[j] << table.shift[j])


def test_values_that_agree_in_their_first_bits_are_left_to_another_sort() -> None:
    x = _hard_columns()["agreeing in their first bits"]
    column = np.empty((1, len(x)))
    turn(x[:, None], 0, column)
    words, order = np.empty(len(x), np.uint64), np.empty(len(x), np.uint32)
    there = pack_values(column[0].view(np.int64), words, order)
    words.sort()
    assert there == len(x)
    assert not order_words(column[0], words, there, order)


@pytest.mark.parametrize("kind", ["even", "normal", "steep", "far apart", "two heaps"])
def test_the_last_value_below_a_threshold_is_that_of_a_search_by_halves(kind: str) -> None:
    rng = np.random.default_rng(3)
    drawn = {
        "even": rng.random(5000),
        "normal": rng.normal(size=5000),
        "steep": np.exp(20 * rng.normal(size=5000)),
        "far apart": rng.choice([-1.0, 1.0], 5000) * 10.0 ** rng.uniform(-300, 308, 5000),
        "two heaps": np.concatenate([rng.random(4000) * 1e-9, 1e9 + rng.random(1000)]),
    }
    values = np.unique(drawn[kind])
    for _ in range(500):
        cut, after = np.sort(rng.choice(len(values), 2, replace=False))
        middle = 0.5 * values[cut] + 0.5 * values[after]
        middle = middle if values[cut] <= middle < values[after] else values[cut]
        with np.errstate(over="ignore", invalid="ignore"):
            found = _last_below(values, np.int64(0), np.int64(cut), np.int64(after), middle)
        assert found == np.searchsorted(values, middle, side="right") - 1
