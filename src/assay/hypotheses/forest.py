"""Random forests. Shape: independent tasks, one a tree.

    h(x) = 1/T Σ_t label(C_t(x))        (majority;  soft: the mean of the leaves' shares)

Tree t is grown from m rows drawn with replacement by (seed, t), and tries √d columns at each node.
"""

from __future__ import annotations

from dataclasses import replace

from assay.hypotheses.trees.forest_model import ClassForest, NumberForest
from assay.hypotheses.trees.settings import BOOTSTRAP


class RandomForestClassifier(ClassForest):
    """Many trees, each grown from other rows and other columns, that vote.

        p(k | x) = 1/T Σ_t (share of class k in leaf C_t(x)),   tree t grown from m rows drawn with replacement by (seed, t)

    Certificate
    -----------
    Each tree was grown from the rows that (seed, number of the tree) draw, and its leaves hold what these rows say; the out-of-
    bag error is an estimate with an interval.

    See Also
    --------
    ExtraTreesClassifier : random thresholds, and all rows for each tree.
    DecisionTreeClassifier : a single tree.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]
    >>> RandomForestClassifier(n_estimators=20).fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1], [2.3]]).tolist()
    [0, 1]
    """

    name = "random-forest"


class ExtraTreesClassifier(ClassForest):
    """A forest whose thresholds are drawn at random; each tree sees all rows unless told otherwise.

        p(k | x) = 1/T Σ_t (share of class k in leaf C_t(x)),   each split the best of one random threshold a column

    Certificate
    -----------
    Each tree was grown from the stated rows, and its leaves hold what these rows say; where trees draw rows, the out-of-bag error
    is an estimate with an interval.

    See Also
    --------
    RandomForestClassifier : best thresholds, and rows drawn for each tree.
    DecisionTreeClassifier : a single tree.

    Examples
    --------
    >>> X = [[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]
    >>> ExtraTreesClassifier(n_estimators=20).fit(X, [0, 0, 0, 1, 1, 1]).predict([[0.1], [2.3]]).tolist()
    [0, 1]
    """

    name = "extra-trees"
    random_splits = True

    bootstrap: bool = replace(BOOTSTRAP, default=False)


class RandomForestRegressor(NumberForest):
    """The mean of many trees, each grown from other rows.

        h(x) = 1/T Σ_t (mean of y in leaf C_t(x)),   tree t grown from m rows drawn with replacement by (seed, t)

    Certificate
    -----------
    Each tree was grown from the rows that (seed, number of the tree) draw, and its leaves hold what these rows say; the out-of-
    bag error is an estimate with an interval.

    See Also
    --------
    ExtraTreesRegressor : random thresholds, and all rows for each tree.
    DecisionTreeRegressor : a single tree.

    Examples
    --------
    >>> model = RandomForestRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "forest-regressor"


class ExtraTreesRegressor(NumberForest):
    """A forest of numbers whose thresholds are drawn at random.

        h(x) = 1/T Σ_t (mean of y in leaf C_t(x)),   each split the best of one random threshold a column

    Certificate
    -----------
    Each tree was grown from the stated rows, and its leaves hold what these rows say; where trees draw rows, the out-of-bag error
    is an estimate with an interval.

    See Also
    --------
    RandomForestRegressor : best thresholds, and rows drawn for each tree.
    DecisionTreeRegressor : a single tree.

    Examples
    --------
    >>> model = ExtraTreesRegressor(n_estimators=50).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 4.0, 4.0])
    >>> bool(model.predict([[0.1]])[0] < 2 < model.predict([[2.9]])[0])
    True
    """

    name = "extra-regressor"
    random_splits = True

    bootstrap: bool = replace(BOOTSTRAP, default=False)
