"""Extremely random trees, one alone: the best of one random threshold a column (Geurts, Ernst and Wehenkel 2006)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.estimator.search_space import SearchSpace, TableTraits
from assay.families.trees.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from assay.families.trees.hyper_parameters import MAX_FEATURES, SPLITTER


class ExtraTreeClassifier(DecisionTreeClassifier):
    """A tree whose splits are the best of one random threshold for each of some columns. Shape: repeated fold.

        h(x) = the class of most weight in the leaf C(x);   a split is the best of max_features thresholds, one drawn a column

    Certificate
    -----------
    The leaves hold what the rows that reach them say, and each split gains as much as is stated.

    See Also
    --------
    ExtraTreesClassifier : the mean of many such trees.
    DecisionTreeClassifier : the best of all thresholds.

    Examples
    --------
    >>> ExtraTreeClassifier(random_state=0).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]).predict([[0.0], [1.0]]).tolist()
    ['a', 'b']
    """

    title = "Extra tree"
    name = "extra-tree"
    splitter: str = replace(SPLITTER, default="random")
    max_features: Any = replace(MAX_FEATURES, default="sqrt")

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: forests of such trees are there."""
        found = super().search_space(kind, features)
        return None if found is None else replace(found, when_named=True)


class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree whose splits are the best of one random threshold for each of some columns. Shape: repeated fold.

        h(x) = the mean of the leaf C(x);   a split is the best of max_features thresholds, one drawn a column

    Certificate
    -----------
    The leaves hold what the rows that reach them say, and each split gains as much as is stated.

    See Also
    --------
    ExtraTreesRegressor : the mean of many such trees.
    DecisionTreeRegressor : the best of all thresholds.

    Examples
    --------
    >>> ExtraTreeRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 5.0, 2.0]).predict([[0.0], [1.0]]).tolist()
    [1.0, 5.0]
    """

    title = "Extra tree"
    name = "extra-tree-regressor"
    splitter: str = replace(SPLITTER, default="random")
    max_features: Any = replace(MAX_FEATURES, default=1.0)

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Where somebody names it: forests of such trees are there."""
        found = super().search_space(kind, features)
        return None if found is None else replace(found, when_named=True)
