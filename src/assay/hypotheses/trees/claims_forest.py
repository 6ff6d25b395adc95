"""What is proved and estimated of a forest: its trees come from rows drawn by (seed, tree), and how they judge rows they did not see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.certify.intervals import clopper_pearson, normal_interval
from assay.hypotheses.trees.claims import held_in_leaves, witness_of

if TYPE_CHECKING:
    from assay.hypotheses.trees.orchard import Orchard

MOST_VISITS = 10_000_000  # pairs of a row and a tree that a check goes through
CONFIDENCE = 0.95
HOW_MANY = (
    "n_estimators",
    "n_jobs",
    "warm_start",
    "verbose",
    "oob_score",
    "quantiles",
    "voting",
)  # nothing to a single tree


def evidence_of(model: Any, orchard: Orchard, trees: int, afresh: bool) -> dict[str, Any]:
    """What a fitted forest keeps for its claims, while the model still is that of the fit before: whether all trees come from the same rows
    and settings, whether rows have weights, how many are drawn for a tree, and how many trees judged the rows that they did not see."""
    have = 0 if afresh else len(model.nodes_)
    alike, judged = True, 0
    if have:
        before, now = (
            {k: v for k, v in params.items() if k not in HOW_MANY}
            for params in (model._fitted_with, model.get_params())
        )
        same_rows = model._provenance.get("fingerprint") == orchard.ground.survey.mark.hex()
        alike = bool(model.alike_ and same_rows and repr(before) == repr(now))
        judged = (
            0 if vars(model).get("_bagged") is None else model.oob_trees_
        )  # a file does not hold how rows were judged
    return {
        "alike_": alike,
        "weighted_": orchard.ground.weights is not None,
        "draws_": orchard.drawing.m,
        "oob_trees_": judged + trees - have if orchard.out_of_bag else 0,
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
        what, how = f"{errors} of {n} rows wrong", "Clopper-Pearson"
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
