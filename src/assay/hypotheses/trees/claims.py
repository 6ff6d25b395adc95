"""What is proved of a tree: its leaves hold the rows that reach them, its splits gain what is stated, and no others gain more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.engines.split import row_keys
from assay.hypotheses.trees.categories import category_levels
from assay.hypotheses.trees.nodes import LEAF, tree_ends
from assay.hypotheses.trees.settings import columns_asked, rows_asked, trends_of
from assay.labels import plain_labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.trees.ground import Ground
    from assay.loops.tree.shapes import Grown

TOLERANCE = 1e-9
MOST_WORK = 6e7  # rows · columns · classes whose splits a check tries again
DEAR = 100  # times that, for absolute errors
ROUNDING = 1e-13


def evidence_of(ground: Ground, grown: Grown, values: Floats) -> dict[str, Any]:
    """What a fitted tree keeps for its claims; values: what its leaves know."""
    return {
        "weight_": ground.total,
        "rows_": ground.survey.n,
        "exact_": not ground.plot.table.binned,
        "training_loss_": _training_loss(ground, grown, values),
        "gain_": np.ascontiguousarray(grown.gain[grown.feature != LEAF]),
    }


def _training_loss(ground: Ground, grown: Grown, values: Floats) -> float:
    """The share of the weight that is answered wrongly; of numbers the mean squared error, by what the splits take off the variance."""
    target, leaf = ground.plot.target, grown.feature == LEAF
    sums = grown.sums.astype(np.float64)
    if target.classes:
        held = sums[leaf]
        if target.classes == 2 and not target.two:  # weight, and that of the second class
            held = np.column_stack([held[:, 0] - held[:, 1], held[:, 1]])
        right = np.take_along_axis(held, values.argmax(axis=1)[:, None], 1)
        return max(0.0, float((held.sum() - right.sum()) / held.sum()))
    W, mean = sums[:, 0], sums[:, 1] / sums[:, 0] * (target.value_unit / target.weight_unit)
    split = np.flatnonzero(~leaf)
    left, right_ = split + 1, grown.right[split]
    W = W / W[0]
    taken = float((W[left] * W[right_] / W[split] * (mean[left] - mean[right_]) ** 2).sum())
    added = float(W[leaf] @ (mean[leaf] - (values[:, 0] - target.offset)) ** 2)
    w = np.ones(len(ground.truth)) if ground.weights is None else ground.weights
    y = np.where(w > 0, ground.truth, target.offset)  # rows of weight zero may hold anything
    spread = float(np.average((y - target.offset - mean[0]) ** 2, weights=w / w.max()))
    loss = spread - taken + added
    return loss if loss > ROUNDING * spread else 0.0


def tree_claims(model: Any) -> tuple[Claim, ...]:
    """The claims of a single tree, from its parts alone."""
    witness = witness_of(model)
    claims = [_leaves(model, witness), _gains(model, witness)]
    whole = columns_asked(model.max_features, model.n_features_in_, type(model).__name__) >= model.n_features_in_
    if whole and model.splitter == "best" and len(model.cut_):
        claims.append(_best_splits(model, witness))
    return tuple(claims)


def witness_of(model: Any) -> dict[str, Any]:
    """The trees, and what is asked of them."""
    d, names = model.n_features_in_, model._column_names()
    levels = category_levels(model.categorical_features, names, model._levels()).count
    trend = trends_of(model.monotonic_cst, names, d)
    return {
        "feature": model.feature_,
        "cut": model.cut_,
        "missing_left": model.missing_left_,
        "leaf": model.leaf_,
        "sets": getattr(model, "sets_", None),
        "nodes": model.nodes_,
        "table": model.table_,
        "category_code": getattr(model, "category_code_", None),
        "levels": levels if levels.any() else None,
        "trend": trend if trend.any() else None,
        "classes": plain_labels(model.classes_) if hasattr(model, "classes_") else None,
        "class_weight": model.class_weight,
        "criterion": model.criterion,
        "tolerance": TOLERANCE,
    }


def held_in_leaves(model: Any) -> str:
    """What leaves hold, in words."""
    what = "weight of each class" if hasattr(model, "classes_") else "weight and mean target"
    if model.criterion == "absolute_error":
        what = "weight and median target"
    return (
        f"{what} of the rows that reach it{', as far as the trends allow' if model.monotonic_cst is not None else ''}"
    )


def _leaves(model: Any, witness: dict[str, Any]) -> Claim:
    loss = float(model.training_loss_)
    said = (
        f"the model is wrong on {loss:.6g} of their weight"
        if witness["classes"]
        else f"their mean squared error is {loss:.6g}"
    )
    return Claim(
        name="leaves",
        statement=f"each of the {len(model.leaf_)} leaves holds the {held_in_leaves(model)}; {said} (training error)",
        holds=True,
        check="tree_leaves",
        value=loss,
        witness=witness,
    )


def _admissible(model: Any) -> dict[str, Any]:
    """What both sides of a split keep at least."""
    return {
        "least_rows": rows_asked(model.min_samples_leaf, model.rows_, 1),
        "least_share": float(model.min_weight_fraction_leaf),
    }


def node_weights(model: Any, ends: Array) -> Floats:
    """The weight of each node of a single tree, from those of its leaves."""
    table = model.table_
    of_leaf = table.sum(axis=1) if hasattr(model, "classes_") else table[:, 1]
    run = np.zeros(len(ends) + 1)
    run[1:][model.feature_ == LEAF] = of_leaf[model.leaf_]
    run = np.cumsum(run)
    weights: Floats = run[ends] - run[:-1]
    return weights


UNITS = {"gini": "", "entropy": " bits", "log_loss": " bits"}


def _gains(model: Any, witness: dict[str, Any]) -> Claim:
    weights = node_weights(model, tree_ends(model.feature_))
    split = model.feature_ != LEAF
    total = float((weights[split] / weights[0]) @ model.gain_)
    return Claim(
        name="gains",
        statement=f"each of the {len(model.cut_)} splits gains u(C) − (p_L u(C_L) + p_R u(C_R)) as stated, u the {_impurity(model)} of the "
        f"rows that reach it; weighted by their share of the rows the gains add up to {total:.6g}{UNITS.get(model.criterion, '')}, by which the "
        "leaves are purer than the root",
        holds=True,
        check="tree_gains",
        value=total,
        witness={**witness, **_admissible(model), "gain": model.gain_},
    )


def _impurity(model: Any) -> str:
    return {
        "gini": "Gini impurity",
        "entropy": "entropy",
        "log_loss": "entropy",
        "squared_error": "variance",
        "absolute_error": "mean distance from the median",
        "poisson": "half Poisson deviance",
    }[str(model.criterion)]


def searched_nodes(model: Any) -> Array | None:
    """The splits that a check tries again: all (None) where that is little work, else the first and some by a hash of their number."""
    ends = tree_ends(model.feature_)
    split = np.flatnonzero(model.feature_ != LEAF)
    weights = node_weights(model, ends)
    K = len(getattr(model, "classes_", ()))
    each = model.n_features_in_ * (DEAR if model.criterion == "absolute_error" else max(1, K - 1))
    work = weights[split] / weights[0] * model.rows_ * each
    if work.sum() <= MOST_WORK:
        return None
    order = np.argsort(row_keys(0, len(split), 0), kind="stable")
    order = np.concatenate([[0], order[order > 0]])
    return np.sort(split[order[: max(1, int(np.searchsorted(np.cumsum(work[order]), MOST_WORK)))]])


def _best_splits(model: Any, witness: dict[str, Any]) -> Claim:
    nodes = searched_nodes(model)
    count = len(model.cut_) if nodes is None else len(nodes)
    where = (
        f"at each of the {count} splits"
        if nodes is None
        else f"at {count} of the {len(model.cut_)} splits (the first, and others by lot)"
    )
    bins = None if model.exact_ else 255 if model.bins == "auto" else int(model.bins)
    among = (
        "no threshold of any column" if bins is None else f"no threshold between the {bins} quantile bins of any column"
    )
    sets = "" if witness["levels"] is None else _sets(witness)
    return Claim(
        name="best splits",
        statement=f"{where} {among}{sets} that the settings allow gains more",
        holds=True,
        check="tree_best_splits",
        value=float(count),
        witness={**witness, **_admissible(model), "searched": nodes, "bins": bins},
    )


def _sets(witness: dict[str, Any]) -> str:
    key = "their mean target"
    if witness["classes"]:
        key = "the share of a class" if len(witness["classes"]) > 2 else "the share of the second class"
    return f", and no cut of categories in the order of {key},"
