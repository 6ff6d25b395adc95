"""What is proved of boosted trees, from their parts alone: losses, leaves and splits of every stage; and what the rows held out say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.certify.held_out import normal_interval
from assay.engines.derived import keys_of
from assay.families.trees.claims import tree_witness
from assay.numerics import Array

MOST_WORK = 2e7  # rows times columns of the nodes that are searched again
CALL = 2000  # rows that could be counted while NumPy is called
CONFIDENCE = 0.95
COVERAGE = Coverage(
    proof={
        "boosting_losses": "baseline_ loss_curve_",
        "boosting_leaves": "leaf_ nodes_ table_ step_",
        "boosting_splits": "gain_ feature_ cut_",
    },
    estimate={"boosting_held_out": "validation_curve_"},
    nothing="missing_left_ sets_ category_code_ missing_columns_ weight_ rows_ delta_ mixed_ held_error_ cv_curve_",
    but="the side of missing values and of categories at splits that no such row reaches; another edge of a bin that holds no row of its node; "
    "that leaves which were not split gain less",
)
SAMPLED = replace(
    COVERAGE,
    proof={**{k: v for k, v in COVERAGE.proof.items() if k != "boosting_splits"}, "boosting_splits": "gain_"},
    nothing=f"{COVERAGE.nothing} feature_ cut_",
)


def boosting_coverage(model: Any, claims: tuple[Claim, ...]) -> Coverage:
    """Questions are tied to the rows where every split was tried again; one by categories never is."""
    tried = [c.witness for c in claims if c.check == "boosting_splits"]
    whole = all(w["searched"] is None for w in tried) and getattr(model, "sets_", None) is None
    return COVERAGE if whole else SAMPLED


def boosting_claims(model: Any) -> tuple[Claim, ...]:
    """The claims of a fit; none of a loss of one's own, which is code, and of stages that warm_start has mixed."""
    if model.mixed_ or not isinstance(model.loss, str):
        return ()
    witness = witness_of(model)
    claims = [_losses(model, witness), _leaves(model, witness)]
    if len(model.cut_):
        claims.append(_splits(model, witness))
    if model.validation_curve_ is not None:
        claims.append(_held_out(model, witness))
    return tuple(claims)


def witness_of(model: Any) -> dict[str, Any]:
    """The trees and what they were told; all claims share it, so that a check plays the stages again once."""
    share = 0.0 if model.validation_curve_ is None else float(model.validation_fraction)
    return {
        **tree_witness(model),
        "gain": model.gain_,
        "baseline": model.baseline_,
        "step": model.step_,
        "loss_curve": model.loss_curve_,
        "loss": model.loss,
        "quantile": float(getattr(model, "quantile", 0.5)),
        "alpha": float(getattr(model, "alpha", 0.9)),
        "power": float(getattr(model, "power", 1.5)),
        "delta": 1.0 if model.delta_ is None else float(model.delta_),
        "rate": float(model.learning_rate),
        "l1": float(model.l1_regularization),
        "l2": float(model.l2_regularization),
        "least": int(model.min_samples_leaf),
        "light": float(model.min_sum_hessian),
        "min_gain": float(model.min_gain_to_split),
        "cat_smooth": float(model.cat_smooth),
        "cat_l2": float(model.cat_l2),
        "subsample": float(model.subsample),
        **({"by_gradient": True} if model.sampling_method == "gradient_based" else {}),
        "colsample": float(model.colsample_bytree),
        "max_bins": int(model.max_bins),
        "groups": _groups(model),
        "held_out": share,
        "seed": model._seed(),
        "searched": searched_splits(model),
    }


def _groups(model: Any) -> Array:
    from assay.families.boosting.training_rows import groups_of

    return groups_of(model.interaction_cst, model._column_names(), model.n_features_in_)


def searched_splits(model: Any) -> Array | None:
    """The splits that a check searches again: all, or as many as it can go through, drawn by the seed."""
    splits, stages = len(model.cut_), len(model.nodes_)
    work = model.n_features_in_ * (
        model.rows_ * np.log2(1.0 + model.nodes_.max()) + CALL * splits / stages
    )  # of a tree
    count = splits if work * stages <= MOST_WORK else max(1, int(splits * MOST_WORK / (work * stages)))
    if count >= splits:
        return None
    return np.sort(np.argsort(keys_of(np.arange(splits, dtype=np.uint64), model._seed()), kind="stable")[:count])


def _losses(model: Any, witness: dict[str, Any]) -> Claim:
    curve = model.loss_curve_
    return Claim(
        name="training loss",
        statement=f"{len(model.step_)} stages bring the training loss ({model.loss}) from {curve[0]:.6g}, that of the best constant, to "
        f"{curve[-1]:.6g}; no stage raises it, as its step is halved until it does not",
        holds=True,
        check="boosting_losses",
        value=float(curve[-1]),
        witness=witness,
    )


def _leaves(model: Any, witness: dict[str, Any]) -> Claim:
    what = (
        "the quantile of what was left"
        if model.loss in ("absolute_error", "quantile")
        else "the Newton step −S(G)/(H + l2), with the slopes and curvatures of the loss before its stage"
    )
    return Claim(
        name="leaves",
        statement=f"each of {len(model.leaf_)} leaves adds rate · step · {what}, of the rows that reach it (to the units in which sums are exact)",
        holds=True,
        check="boosting_leaves",
        value=float(len(model.leaf_)),
        witness=witness,
    )


def _splits(model: Any, witness: dict[str, Any]) -> Claim:
    splits, tried = len(model.cut_), witness["searched"]
    count = splits if tried is None else len(tried)
    which = "at none" if tried is None else f"at none of {count} that were drawn"
    return Claim(
        name="splits",
        statement=f"each of {splits} splits gains what is stated, and {which} would another question between the bins that the settings allow gain more",
        holds=True,
        check="boosting_splits",
        value=float(count),
        witness=witness,
    )


def _held_out(model: Any, witness: dict[str, Any]) -> Claim:
    stages = len(model.step_)
    loss, error = float(model.validation_curve_[stages]), float(model.held_error_[0])
    rows = int(model.held_error_[1])
    low, high = normal_interval(loss, error, CONFIDENCE)
    low = max(0.0, low)
    return Claim(
        name="held-out loss",
        statement=f"stage {stages} was chosen as {rows} rows held out are answered best there: loss {loss:.6g}, true one in [{low:.6g}, {high:.6g}] with "
        f"about {CONFIDENCE:.0%} confidence (normal approximation); as the stage was chosen by them it is a little too good",
        holds=True,
        check="boosting_held_out",
        value=loss,
        bound=high,
        kind="estimate",
        witness={
            **witness,
            "validation_curve": model.validation_curve_,
            "standard_error": error,
            "rows": rows,
            "confidence": CONFIDENCE,
            "interval": np.array([low, high]),
        },
    )
