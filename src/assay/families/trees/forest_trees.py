"""The trees of a forest as estimators of their own, made when they are asked for; and the rows that each was grown from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from assay.errors import ParameterError
from assay.estimator.params import defaults
from assay.estimator.shown import kept
from assay.families.trees.several import codes_said, refuse_several
from assay.numerics import Array

if TYPE_CHECKING:
    from assay.families.trees.forest_builder import OutOfBag
    from assay.families.trees.importance import ShuffledColumns
    from assay.families.trees.model import DecisionTree, Forest


class ForestTrees(Sequence["DecisionTree"]):
    """All trees of a forest, each made once."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._made: dict[int, DecisionTree] = {}

    def __len__(self) -> int:
        return len(self._forest.nodes_)

    @overload
    def __getitem__(self, number: int) -> DecisionTree: ...
    @overload
    def __getitem__(self, number: slice) -> list[DecisionTree]: ...
    def __getitem__(self, number: int | slice) -> DecisionTree | list[DecisionTree]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        place = number + len(self) if number < 0 else number
        if not 0 <= place < len(self):
            raise IndexError(f"There is no tree {number}: the forest has {len(self)}.")
        if place not in self._made:
            self._made[place] = self._forest.tree(int(place))
        return self._made[place]

    def __repr__(self) -> str:
        return f"<{len(self)} trees>"


def estimators_of(forest: Forest) -> Sequence[DecisionTree]:
    """All trees, each as a decision tree of its own, made when it is asked for."""
    forest._check_fitted()
    return forest._once("estimators", lambda: ForestTrees(forest))


def estimator_of(forest: Forest) -> DecisionTree:
    """A decision tree, not fitted, with the settings that the forest's trees have."""
    from assay.families.trees.estimators import DecisionTreeClassifier, DecisionTreeRegressor

    forest._check_fitted()
    cls: Any = DecisionTreeClassifier if forest._kind == "classifier" else DecisionTreeRegressor
    same = {k: v for k, v in forest._fitted_with.items() if k in defaults(cls)}
    made: DecisionTree = cls(**{**same, "splitter": "random" if forest.random_splits else "best"})
    return made


def tree_at(forest: Forest, number: int) -> DecisionTree:
    """Tree `number` of the forest."""
    found: DecisionTree = estimators_of(forest)[number]
    return found


def iter_trees(forest: Forest) -> Iterator[DecisionTree]:
    """The trees, one after another."""
    return iter(estimators_of(forest))


def count_of(forest: Forest) -> int:
    """The number of trees."""
    return len(estimators_of(forest))


def is_a_model(forest: Forest) -> bool:
    """A forest without trees is no empty list: it is a model that was not fitted yet."""
    return True


def estimators_samples(forest: Forest) -> list[Array]:
    """Of each tree the numbers of the rows that it was grown from, as often as each was drawn; they follow from the seed; (draws,) each."""
    from assay.families.trees.grow import RowSample

    forest._check_fitted()
    if not forest.alike_ or (forest.weighted_ and not hasattr(forest, "_counted")):
        raise ParameterError(
            "Which rows each tree saw is not known: the rows had weights and the model was loaded from a file, or warm_start mixed draws. "
            "Fit again."
        )
    n, draws = forest.rows_, getattr(forest, "draws_", None)
    seed, replace = int(forest._fitted_with["random_state"] or 0), bool(forest._fitted_with["bootstrap"])
    sample = RowSample(seed, draws, replace, getattr(forest, "_counted", None))
    every = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)  # as scikit-learn has them
    times = [sample.times(number, n) for number in range(len(forest.nodes_))]
    return [every if not len(drawn) else np.repeat(every, drawn) for drawn in times]


def oob_importance(
    forest: Forest, X: Any, y: Any = None, sample_weight: Any = None, *, n_repeats: int = 5
) -> ShuffledColumns:
    """How much worse trees do on the rows that they did not see when a column is shuffled among these (Breiman 2001).

    X and y must be the rows of the fit, in their order: which of them a tree saw follows from the seed. Unlike
    `feature_importances_` it does not favour columns with many values; of columns that say the same, each looks dispensable.
    """
    from assay.families.trees.importance import oob_importance

    forest._check_fitted()
    refuse_several(forest, "oob_importance")
    return oob_importance(forest, X, y, sample_weight, n_repeats)


def own_oob_score(forest: Forest, bag: OutOfBag) -> float:
    """What the function given as `oob_score` says of the truths and the out-of-bag answers of the rows that some tree did not see."""
    seen = bag.count > 0
    truth, answers = bag.truth[seen], bag.answers()[seen]
    if bag.targets > 1:
        if bag.of_targets is None:
            return float(forest.oob_score(truth, answers))
        labels, own = kept(forest, "classes_"), bag.of_targets.each()
        sides = (truth, codes_said(answers, bag.of_targets))
        return float(forest.oob_score(*(np.column_stack([labels[k][c] for k, c in zip(own, s.T)]) for s in sides)))
    if bag.classes:
        return float(forest.oob_score(forest.classes_[truth], forest.classes_[answers.argmax(axis=1)]))
    return float(forest.oob_score(truth, answers[:, 0]))
