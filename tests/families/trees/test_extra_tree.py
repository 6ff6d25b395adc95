"""One extremely random tree is a decision tree with random thresholds, and a forest of one of them."""

from __future__ import annotations

import numpy as np
import pytest
from cases import blobs, lines
from sklearn import tree as theirs
from sklearn.model_selection import cross_val_score

import assay


@pytest.mark.parametrize(
    ("extra", "plain", "data", "columns"),
    [
        (assay.ExtraTreeClassifier, assay.DecisionTreeClassifier, blobs, "sqrt"),
        (assay.ExtraTreeRegressor, assay.DecisionTreeRegressor, lines, 1.0),
    ],
)
def test_it_is_a_tree_with_random_thresholds(extra, plain, data, columns):
    X, y = data(120, 4, 0)
    for seed in (0, 7):
        one = extra(random_state=seed).fit(X, y)
        other = plain(splitter="random", max_features=columns, random_state=seed).fit(X, y)
        assert np.array_equal(one.predict(X), other.predict(X))
        assert one.certificate_.verify(X, y).holds


@pytest.mark.parametrize("name", ["ExtraTreeClassifier", "ExtraTreeRegressor"])
def test_it_is_about_as_good_as_scikit_learns(name):
    X, y = (blobs if "Classifier" in name else lines)(400, 5, 1)
    ours, peer = (
        np.mean([cross_val_score(getattr(module, name)(random_state=s), X, y, cv=4).mean() for s in range(5)])
        for module in (assay, theirs)
    )
    assert ours == pytest.approx(peer, abs=0.05)
