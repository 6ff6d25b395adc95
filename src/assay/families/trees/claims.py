"""What is proved of trees and forests, and what they keep for it; a tree taken out of a forest keeps none of it, and claims nothing.

A tree: its leaves hold the rows that reach them, its splits gain what is stated, and no others gain more. A forest: its trees come from
rows drawn by (seed, tree), and how they judge the rows that they did not see.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.certify.held_out import clopper_pearson, normal_interval
from assay.engines.derived import row_keys
from assay.families.trees.hyper_parameters import columns_asked, rows_asked, trends_of
from assay.families.trees.nodes import LEAF, tree_ends
from assay.families.trees.several import training_loss
from assay.families.trees.survey import category_levels
from assay.inputs.labels import plain_labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.forest_builder import ForestBuilder
    from assay.families.trees.loops.arrays import NodeArrays
    from assay.families.trees.training_data import TrainingData


TOLERANCE = 1e-9
#: numbers are counted in whole units, so that sums are exact: one that is tiny beside the others is rounded to such a unit
EXACTNESS = f"(to {TOLERANCE:g} of how far the targets are apart, times the heaviest row's weight over theirs)"
MOST_WORK = 6e7  # rows · columns · classes whose splits a check tries again
DEAR = 100  # times that, for absolute errors
ROUNDING = 1e-13
NEAR = 1e-150
UNITS = {"gini": "", "entropy": " bits", "log_loss": " bits"}
MOST_VISITS = 10_000_000  # pairs of a row and a tree that a check of a forest goes through
CONFIDENCE = 0.95
OF_THE_FOREST = ("n_estimators", "n_jobs", "warm_start", "verbose", "oob_score", "quantiles", "voting")  # nothing to a single tree  # fmt: skip


NODES = "missing_left_ sets_ category_code_ missing_columns_ weight_ rows_"
TREE_COVERAGE = Coverage(
    proof={
        "tree_leaves": "leaf_ nodes_ table_ training_loss_",
        "tree_gains": "gain_",
        "tree_best_splits": "feature_ cut_",
    },
    nothing=f"{NODES} leaf_rows_ exact_ alpha_ pruning_curve_",
    but="the side of missing values and of categories at splits that no such row reaches; how alpha_ was chosen",
)
SAMPLED_TREE_COVERAGE = replace(
    TREE_COVERAGE,
    proof={check: names for check, names in TREE_COVERAGE.proof.items() if check != "tree_best_splits"},
    nothing=f"{TREE_COVERAGE.nothing} feature_ cut_",
    but=f"{TREE_COVERAGE.but}; a threshold may lie anywhere between values of the rows at its split",
)
FOREST_COVERAGE = Coverage(
    proof={"forest_leaves": "leaf_ nodes_ table_ draws_"},
    estimate={"out_of_bag": "oob_loss_ oob_rows_"},
    nothing=f"{NODES} feature_ cut_ gain_ oob_error_of_loss_ oob_curve_ alike_ weighted_ oob_trees_ member_ member_times_ member_count_ "
    "member_target_ member_weight_",
    but="that no other questions were better: a threshold may lie anywhere between values of the rows that a tree saw",
)
SAMPLED_FOREST_COVERAGE = replace(
    FOREST_COVERAGE,
    proof={"forest_leaves": "draws_"},
    nothing=f"{FOREST_COVERAGE.nothing} leaf_ nodes_ table_",
    but=f"{FOREST_COVERAGE.but}; leaves are checked of some of the trees alone",
)


def evidence_of(training_data: TrainingData, grown: NodeArrays, values: Floats, entries: Array) -> dict[str, Any]:
    """What a fitted tree keeps for its claims; values: what its leaves know."""
    return {
        "weight_": training_data.total,
        "rows_": training_data.survey.n,
        "exact_": not training_data.inputs.table.binned,
        "training_loss_": training_loss(training_data, grown, entries, values)
        if training_data.inputs.target.targets > 1
        else _training_loss(training_data, grown, values),
        "gain_": np.ascontiguousarray(grown.gain[grown.feature != LEAF]),
    }


def _training_loss(training_data: TrainingData, grown: NodeArrays, values: Floats) -> float:
    """The share of the weight that is answered wrongly; of numbers the mean squared error, by what the splits take off the variance."""
    target, leaf = training_data.inputs.target, grown.feature == LEAF
    sums = grown.sums.astype(np.float64)
    if target.classes:
        held = sums[leaf]
        if target.classes == 2 and not target.two:  # weight, and that of the second class
            held = np.column_stack([held[:, 0] - held[:, 1], held[:, 1]])
        said = (values / values.sum(axis=1, keepdims=True)).argmax(
            axis=1
        )  # by shares, of which equal ones may weigh a bit more
        right = np.take_along_axis(held, said[:, None], 1)
        return max(0.0, float((held.sum() - right.sum()) / held.sum()))
    W, mean = sums[:, 0], sums[:, 1] / sums[:, 0] * target.mean_unit
    split = np.flatnonzero(~leaf)
    left, right_ = split + 1, grown.right[split]
    W = W / W[0]
    taken = float((W[left] * W[right_] / W[split] * (mean[left] - mean[right_]) ** 2).sum())
    added = float(W[leaf] @ (mean[leaf] - (values[:, 0] - target.offset)) ** 2)
    w = np.ones(len(training_data.truth)) if training_data.weights is None else training_data.weights
    if training_data.weights is not None:
        w = np.where(target.weight > 0, w, 0.0)
    y = np.where(w > 0, training_data.truth, target.offset)  # rows that do not count may hold anything
    spread = float(np.average((y - target.offset - mean[0]) ** 2, weights=w / w.max()))
    loss = spread - taken + added
    return loss if loss > ROUNDING * spread else 0.0


def tree_claims(model: Any) -> tuple[Claim, ...]:
    """The claims of a single tree, from its parts alone."""
    witness = witness_of(model)
    claims = [_leaves(model, witness)]
    if _too_near(model):
        return tuple(claims)
    claims.append(_gains(model, witness))
    whole = columns_asked(model.max_features, model.n_features_in_, type(model).__name__) >= model.n_features_in_
    orders = model.n_outputs_ == 1 or witness["levels"] is None  # of categories, which a check tries of one target
    if whole and orders and model.splitter == "best" and len(model.cut_):
        claims.append(_best_splits(model, witness))
    return tuple(claims)


def tree_coverage(model: Any, claims: tuple[Claim, ...]) -> Coverage:
    """Questions are tied to the rows where every split was tried again at every threshold; one by categories never is."""
    tried = [c.witness for c in claims if c.check == "tree_best_splits"]
    whole = all(w.get("searched") is None and w.get("bins") is None for w in tried)
    found = TREE_COVERAGE if whole and getattr(model, "sets_", None) is None else SAMPLED_TREE_COVERAGE
    return _of_targets(found, "tree_leaves") if model.n_outputs_ > 1 else found


def _of_targets(found: Coverage, leaves: str) -> Coverage:
    """With which classes each target has, which leaves tell."""
    return replace(found, proof={**found.proof, leaves: f"{found.proof[leaves]} target_classes_ class_of_"})


def forest_coverage(model: Any, claims: tuple[Claim, ...]) -> Coverage:
    """Leaves are tied to the rows where those of all trees are looked at."""
    looked = [c.value for c in claims if c.check == "forest_leaves"]
    found = FOREST_COVERAGE if looked == [float(len(model.nodes_))] else SAMPLED_FOREST_COVERAGE
    return _of_targets(found, "forest_leaves") if model.n_outputs_ > 1 else found


def _too_near(model: Any) -> bool:
    """Whether answers are so near each other that the squares of their distances, which splits gain, are no numbers."""
    if model.criterion != "squared_error" or not len(model.cut_):
        return False
    answers = model.table_ if hasattr(model, "classes_") else model.table_[:, :-1]
    return bool(np.ptp(answers, axis=0).max() < NEAR and model.training_loss_ < NEAR**2)


def tree_witness(model: Any) -> dict[str, Any]:
    """Trees as every check reads them, whatever is made of them: their parts, and what the columns and classes are."""
    d, names = model.n_features_in_, model._column_names()
    levels = category_levels(model.categorical_features, names, model._levels()).count
    trend = trends_of(getattr(model, "monotonic_cst", None), names, d)
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
        "classes": _classes_in(model),
        "class_weight": model.class_weight,
    }


def _classes_in(model: Any) -> Any:
    """The labels; of several targets those of each; None of numbers."""
    found = getattr(model, "classes_", None)
    return (
        [plain_labels(own) for own in found]
        if isinstance(found, list)
        else None
        if found is None
        else plain_labels(found)
    )


def witness_of(model: Any) -> dict[str, Any]:
    """The trees, and what is asked of them."""
    targets = model.n_outputs_
    several = {"targets": targets} if targets > 1 else {}  # files written before tell of one without a word
    return {**tree_witness(model), "criterion": model.criterion, "tolerance": TOLERANCE, **several}


def held_in_leaves(model: Any) -> str:
    """What leaves hold, in words."""
    targets = model.n_outputs_
    what = "weight of each class" + (f" of each of the {targets} targets" if targets > 1 else "")
    if not hasattr(model, "classes_"):
        middle = "median" if model.criterion == "absolute_error" else "mean"
        what = f"weight and {middle} {'target' if targets == 1 else f'of each of the {targets} targets'} {EXACTNESS}"
    return (
        f"{what} of the rows that reach it{', as far as the trends allow' if model.monotonic_cst is not None else ''}"
    )


def _leaves(model: Any, witness: dict[str, Any]) -> Claim:
    loss = float(model.training_loss_)
    said = (
        f"the model is wrong on {loss:.6g} of their weight{' in some target' if model.n_outputs_ > 1 else ''}"
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
    run = np.zeros(len(ends) + 1)
    run[1:][model.feature_ == LEAF] = model._leaf_weights()[model.leaf_]
    run = np.cumsum(run)
    weights: Floats = run[ends] - run[:-1]
    return weights


def _gains(model: Any, witness: dict[str, Any]) -> Claim:
    weights = node_weights(model, tree_ends(model.feature_))
    split = model.feature_ != LEAF
    total = float((weights[split] / weights[0]) @ model.gain_)
    return Claim(
        name="gains",
        statement=f"each of the {len(model.cut_)} splits gains u(C) − (p_L u(C_L) + p_R u(C_R)) as stated, u the {_impurity(model)} of the "
        f"rows that reach it; weighted by their share of the rows the gains add up to {total:.6g}{UNITS.get(model.criterion, '')}, by which the "
        f"leaves are purer than the root{' on the mean over the targets' if model.n_outputs_ > 1 else ''}",
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
    sums = model.table_.shape[1] - 1
    each = model.n_features_in_ * (DEAR * model.n_outputs_ if model.criterion == "absolute_error" else max(1, sums))
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


def forest_evidence_of(model: Any, builder: ForestBuilder, judged: int, afresh: bool) -> dict[str, Any]:
    """What a fitted forest keeps for its claims, while the model still is that of the fit before: whether all trees come from the same rows
    and settings, whether rows have weights, how many are drawn for a tree, and how many trees judged the rows that they did not see."""
    alike = True
    if not afresh:
        before, now = (
            {k: v for k, v in params.items() if k not in OF_THE_FOREST}
            for params in (model._fitted_with, model.get_params())
        )
        same_rows = model._provenance.get("fingerprint") == builder.training_data.survey.mark.hex()
        alike = bool(model.alike_ and same_rows and repr(before) == repr(now))
    return {
        "alike_": alike,
        "weighted_": builder.training_data.weights is not None,
        "draws_": builder.sample.m,
        "oob_trees_": judged if builder.out_of_bag else 0,
    }


def forest_claims(model: Any) -> tuple[Claim, ...]:
    """The claims of a forest, from its parts alone; none where its trees come from several fits that were not alike."""
    if not model.alike_:
        return ()
    draws = getattr(model, "draws_", None)
    witness = {**witness_of(model), "seed": model._seed(), "draws": draws, "replace": bool(model.bootstrap)}
    claims = [_drawn(model, witness)]
    if getattr(model, "oob_rows_", 0) and model.oob_trees_ == len(model.nodes_):
        claims.append(_out_of_bag(model, witness))
    return tuple(claims)


def checked_trees(trees: int, rows: int) -> list[int]:
    """The trees whose rows are drawn again: all, or as many as a check can go through, evenly apart."""
    count = min(trees, max(1, MOST_VISITS // rows))
    return [int(k) for k in np.unique(np.linspace(0, trees - 1, count).round())]


def _drawn(model: Any, witness: dict[str, Any]) -> Claim:
    trees, draws = len(model.nodes_), witness["draws"]
    numbers = checked_trees(trees, model.rows_)
    which = f"each of the {trees} trees" if len(numbers) == trees else f"each of {len(numbers)} of the {trees} trees"
    each = f"each leaf holds the {held_in_leaves(model)}"
    if draws is None:
        statement = f"{which} was grown from all {model.rows_} rows: {each}"
    else:
        how = "with" if model.bootstrap else "without"
        statement = (
            f"{which} was grown from {draws} of {model.rows_} rows drawn {how} replacement by (seed {witness['seed']}, number of the tree) "
            f"alone: {each}"
        )
    return Claim(
        name="leaves" if draws is None else "bootstrap" if model.bootstrap else "draws",
        statement=statement,
        holds=True,
        check="forest_leaves",
        value=float(len(numbers)),
        witness={**witness, "trees": numbers},
    )


def _out_of_bag(model: Any, witness: dict[str, Any]) -> Claim:
    loss, error, n = float(model.oob_loss_), float(model.oob_error_of_loss_), int(model.oob_rows_)
    classes, weighted = witness["classes"] is not None, bool(model.weighted_)
    if classes and not weighted:
        errors = round(loss * n)
        low, high = clopper_pearson(errors, n, CONFIDENCE)
        what, how = f"{errors} of {n} rows wrong{' in some target' if model.n_outputs_ > 1 else ''}", "Clopper-Pearson"
    else:
        low, high = normal_interval(loss, error, CONFIDENCE)
        high = min(1.0, high) if classes else high
        what = (
            f"{loss:.6g} of the weight of {n} rows wrong" if classes else f"mean squared error {loss:.6g} on {n} rows"
        )
        how = "normal approximation"
    votes = ", votes being the leaves' shares" if classes and model.voting == "majority" else ""
    return Claim(
        name="out-of-bag error" if classes else "out-of-bag squared error",
        statement=f"{what}, each judged only by the trees that did not see it{votes}; true one in [{low:.6g}, {high:.6g}] with about "
        f"{CONFIDENCE:.0%} confidence ({how}), as if rows were judged independently: that judgments share trees and rows is left out, and so "
        "is that each row is judged by fewer trees than the forest has",
        holds=True,
        check="out_of_bag",
        value=loss,
        bound=high,
        kind="estimate",
        witness={
            **witness,
            "rows": n,
            "weighted": weighted,
            "standard_error": error,
            "confidence": CONFIDENCE,
            "interval": np.array([low, high]),
        },
    )
