"""The report draws a tree, and how a forest's error falls as it grows."""

from __future__ import annotations

import numpy as np

from assay.report import report_html
from assay.selection.compare import compare


def test_trees_and_forests_have_figures_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.where((X[:, 0] > 0) ^ (rng.random(150) < 0.1), "up", "down")
    found = compare(X, y=y, models=["decision-tree", "random-forest"], resampling="holdout", workers=1)
    assert {entry.state for entry in found.entries} == {"done"}
    page = report_html(found)
    for title in ("The tree", "Error as the forest grows"):
        assert page.count(f"<strong>{title}</strong>") == 1
    assert "could not be drawn" not in page
    assert "Pruning by cross-validation" not in page  # nothing was chosen so


def test_a_tree_pruned_by_cross_validation_shows_its_curve():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    found = compare(
        X,
        y=X[:, 0] + 0.3 * rng.standard_normal(150),
        models=["tree-regressor"],
        params={"tree-regressor": {"ccp_alpha": "cv"}},
        resampling="holdout",
        workers=1,
    )
    assert "<strong>Pruning by cross-validation</strong>" in report_html(found)


def test_what_columns_add_is_drawn_and_checked():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    found = compare(X, y=X[:, 0] * X[:, 1], models=["boosting-regressor", "ridge"], resampling="holdout", workers=1)
    page = report_html(found, models="all")
    assert page.count("<strong>What the columns add</strong>") == 1  # a linear model has weights in its place
    assert "add up to the score of every row was checked by walking the trees again" in page
