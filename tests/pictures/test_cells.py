"""Leaves of a tree as rectangles of the picture."""

from __future__ import annotations

import numpy as np

import assay
from assay.families.trees.nodes import LEAF, tree_ends
from assay.pictures.geometry import cells

SIDE = (-3.0, 3.0)


def cells_of(model: assay.DecisionTreeClassifier, c: np.ndarray, u: np.ndarray, v: np.ndarray) -> list:
    cut = np.zeros(len(model.feature_))
    cut[model.feature_ != LEAF] = model.cut_
    return list(cells(model.feature_, cut, tree_ends(model.feature_), c, u, v, SIDE, SIDE))


def rows(d: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(80, d))
    return X, (X[:, 0] * X[:, 1] + 0.3 * X[:, -1] > 0).astype(int)


def test_the_cells_fill_the_picture_and_each_point_lies_in_the_cell_of_its_leaf() -> None:
    X, y = rows(2)
    model = assay.DecisionTreeClassifier(max_depth=4).fit(X, y)
    found = cells_of(model, np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    areas = [(cell.x[1] - cell.x[0]) * (cell.y[1] - cell.y[0]) for cell in found]
    assert abs(sum(areas) - 36) < 1e-9
    for point, leaf in zip(X, model.apply(X)):
        (cell,) = [c for c in found if c.x[0] < point[0] <= c.x[1] and c.y[0] < point[1] <= c.y[1]]
        assert cell.node == leaf


def test_a_slice_of_more_columns_turned_around_has_the_cells_that_it_meets() -> None:
    X, y = rows(4)
    model = assay.DecisionTreeClassifier(max_depth=5).fit(X, y)
    c, u, v = np.array([0.2, -0.1, 0.4, 0.3]), np.array([0.0, -2.0, 0.0, 0.0]), np.array([0.5, 0.0, 0.0, 0.0])
    found = cells_of(model, c, u, v)
    for a in np.random.default_rng(1).uniform(-3, 3, size=(50, 2)):
        leaf = model.apply((c + a[0] * u + a[1] * v)[None])[0]
        assert leaf in [f.node for f in found if f.x[0] <= a[0] <= f.x[1] and f.y[0] <= a[1] <= f.y[1]]
