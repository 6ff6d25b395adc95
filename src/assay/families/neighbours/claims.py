"""What is claimed of a fit of nearest neighbours.

- kept rows: the model answers from the rows of the fit and no others (sums of columns, of their sizes, of targets and weights);
- exact neighbours: rows drawn from the fit, each left out in turn, have these distances to their nearest others, and this answer (where
  all rows are neighbours none can be left out, and the drawn rows are asked as they are);
- whitened: under metric="mahalanobis" the mapped rows have covariance I;
- learned: under metric="learned" the soft leave-one-out accuracy is the stated one, and above that of the start;
- number of neighbours: its leave-one-out error is the least (or within one standard error) of all that were tried;
- Bayes error: the bracket of Cover and Hart from the leave-one-out error of the nearest neighbour, an estimate.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.certify.held_out import clopper_pearson
from assay.engines import Block, Engine, Rows, fold
from assay.engines.derived import row_keys
from assay.families.neighbours.leave_one_out import least_bayes_error, queries
from assay.families.neighbours.metrics import PLAINEST, POWERS, described, metric_of, power_of
from assay.families.neighbours.named_metrics import ABSENT
from assay.families.neighbours.neighbourhood import Neighbourhood
from assay.families.neighbours.search import HAMMING
from assay.inputs.labels import class_multipliers, plain_labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.neighbours.fit import NeighboursModel
    from assay.families.neighbours.kept_rows import NeighboursBase
    from assay.families.neighbours.radius import RadiusModel

TOLERANCE = 1e-8
SAMPLED = 32  # rows whose neighbours are in the certificate
COMPARED = 1 << 24  # pairs of rows that the check of those takes at most
LISTED = 32  # distances of each
NEIGHBOUR_PAIRS = 1 << 31  # numbers compared for the error of the nearest neighbour
CHOICE_PAIRS = 2e10  # numbers compared up to which the choice of k is claimed: its check takes a minute or two
ALL_LEARNT = 10_000  # rows up to which what a learned metric reached is claimed: its check compares all pairs
CALLS = 1 << 21  # of a metric function that a claim is worth: its check takes seconds
USELESS = 1e-2  # a bound on how far rows are from whitened that says nothing
CONFIDENCE = 0.95
SEED = 0x6B6E6E
VANISHES = 1e-280  # sums of powers of differences below this have lost digits, or all of them
VANISHED = "; not so: some rows are so near, beside the greatest distance, that powers of their differences vanish. Take other units, or a smaller p"


COVERAGE = Coverage(
    proof={
        "neighbours_kept": "rows_ weights_ codes_ y_",
        "neighbours_exact": "scale_ class_factor_",
        "neighbours_whitened neighbours_learned": "map_",
        "neighbours_choice": "n_neighbors_ leave_one_out_",
    },
    nothing="centre_ objective_",
    but="neighbours are looked for again of a sample of rows where these are many; a learned map is tied by what it reaches, which other maps may reach",
)


RADIUS_COVERAGE = Coverage(
    proof={"neighbours_kept": "rows_ weights_ codes_ y_", "neighbours_within": "scale_", "neighbours_whitened": "map_"},
    nothing="centre_",
    but="neighbours are looked for again of a sample of rows where these are many",
)


class ColumnSums(NamedTuple):
    """Σ w x and Σ w |x| of each column."""

    plain: Floats
    absolute: Floats


def claims_of(model: NeighboursModel) -> tuple[Claim, ...]:
    """All claims of a fitted model."""
    hood, rows, engine = model.neighbourhood(), model._training_rows(), model._engine()
    if metric_of(model) == "precomputed" and (model._rows_in_memory() >= ABSENT).any():
        return (_kept_rows(model, engine, rows),)  # of a graph: rows whose others it does not list cannot be left out
    how = {
        **_named(model),
        "k": model.n_neighbors_,
        "by_distance": model.weights == "distance",
        **({"vote_function": model.weights} if callable(model.weights) else {}),
        **({} if model.map_ is None else {"map": model.map_, "centre": model.centre_}),
        **_answering(model),
    }
    exact = _exact(model, hood, rows, how)
    made = [_kept_rows(model, engine, rows), exact]
    if metric_of(model) == "mahalanobis" and not model.metric_params:
        made.append(_whitened(model))
    if metric_of(model) == "learned" and _is_pairwise_checkable(model):
        made.append(_learned(model))
    if model.leave_one_out_ is not None and _is_checkable(model):
        made.append(replace(_choice(model, how), holds=exact.holds))
    if _classifies(model) and hood.size > 1:
        made.append(replace(_bracket(model, hood, rows, how), holds=exact.holds))
    return tuple(made)


def radius_claims_of(model: RadiusModel) -> tuple[Claim, ...]:
    """All claims of a fitted model of a radius."""
    hood, rows, engine = model.neighbourhood(), model._training_rows(), model._engine()
    kept = _kept_rows(model, engine, rows)
    if metric_of(model) == "precomputed" and (model._rows_in_memory() >= ABSENT).any():
        return (kept,)
    whitened = (_whitened(model),) if metric_of(model) == "mahalanobis" and not model.metric_params else ()
    return (kept, _within(model, hood, rows), *whitened)


def _named(model: NeighboursBase) -> dict[str, Any]:
    """The metric by its plainest name, or the function that it is."""
    metric, p = metric_of(model), power_of(model)
    if callable(metric):
        given = dict(model.metric_params or {})
        return {"metric": "own", "function": metric, "arguments": list(given), "given": list(given.values())}
    if metric not in POWERS:
        return {"metric": PLAINEST.get(metric, metric)}
    if "w" in (model.metric_params or {}):
        return {"metric": "minkowski", "p": p, "w": np.asarray(model.metric_params["w"], dtype=np.float64)}
    plain = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}.get(p)
    return {"metric": "minkowski", "p": p} if plain is None else {"metric": plain}


def _classifies(model: Any) -> bool:
    return hasattr(model, "classes_")


def _answering(model: Any) -> dict[str, Any]:
    """What a checker needs besides distances to answer: the factors of the classes as class_weight gives them, or to be compared with the rows."""
    if not _classifies(model):
        return {}
    factor, more = model.class_factor_, {}
    if isinstance(model.class_weight, str):
        more = {"balanced": True}
    elif model.class_weight is not None:
        factor = class_multipliers(model.class_weight, model.classes_, np.ones(len(factor)))
    return {"classes": plain_labels(model.classes_), "class_factor": factor, **more}


# --- kept rows -------------------------------------------------------------------------------------------------------


def _add(a: ColumnSums, b: ColumnSums) -> ColumnSums:
    return ColumnSums(a.plain + b.plain, a.absolute + b.absolute)


def _sum_block(block: Block) -> ColumnSums:
    w = np.ones(len(block.X)) if block.w is None else block.w
    X = np.asarray(block.X, dtype=np.float64)
    if np.isnan(w @ X).any():  # missing values, which nan_euclidean takes, add nothing
        X = np.where(np.isnan(X), 0.0, X)
    return ColumnSums(w @ X, w @ np.abs(X))


def _kept_rows(model: Any, engine: Engine, rows: Rows) -> Claim:
    sums = fold(engine, rows.blocks(), _sum_block, _add)
    assert sums is not None
    w, y = model.weights_, model._codes_or_numbers()
    if _classifies(model):
        target = np.bincount(y, weights=w, minlength=len(model.classes_)).astype(np.float64)
    else:
        weight = np.ones(len(y)) if w is None else w
        there = weight > 0
        with np.errstate(over="ignore"):  # the checker's sum is infinite then too
            target = np.array([float(weight @ y), float(weight[there] @ (y * y)[there])])
    witness = {
        "rows": len(y),
        "plain": sums.plain,
        "absolute": sums.absolute,
        "target": target,
        **({"classes": plain_labels(model.classes_)} if _classifies(model) else {}),
        "tolerance": TOLERANCE,
    }
    return Claim(
        name="kept rows",
        statement=f"the model answers from {len(y)} rows whose columns, sizes, targets and weights add up to those of the rows of the fit",
        holds=True,
        check="neighbours_kept",
        value=float(len(y)),
        bound=None,
        witness=witness,
    )


# --- exact neighbours ------------------------------------------------------------------------------------------------


def _drawn(model: Any, most: int) -> Array:
    """At most so many rows of positive weight, by a hash of their numbers."""
    n, w = model._rows_of_fit(), model.weights_
    there = np.arange(n) if w is None else np.flatnonzero(w > 0)
    if len(there) <= most:
        return there
    return np.sort(there[np.argpartition(row_keys(0, n, SEED)[there], most)[:most]])


def _exact(model: Any, hood: Neighbourhood, rows: Rows, how: dict[str, Any]) -> Claim:
    chosen = _drawn(model, max(4, min(SAMPLED, COMPARED // max(1, hood.size))))
    found = list(queries(rows, chosen))
    own = np.concatenate([one for one, _ in found])
    X = np.concatenate([np.asarray(X, dtype=np.float64) for _, X in found])
    Z = hood.geometry.rows(X)
    whole = model.n_neighbors_ > hood.total - 1  # with any row left out too few votes were left
    without, how_asked = (None, "asked as they are") if whole else (own, "each left out in turn")
    few = min(model.n_neighbors_, LISTED, hood.size if whole else hood.size - 1)
    r, near = hood.nearest(Z, few, without)
    far = hood.geometry.distances(r, hood.columns)
    told = _all_told_apart(hood, rows, Z, r, near)
    answers = model._leave_one_out(hood, Z, without)
    weight = np.ones(len(own)) if model.weights_ is None else model.weights_[own]
    return Claim(
        name="exact neighbours",
        statement=f"{len(own)} rows drawn from the fit, {how_asked}, have by {described(metric_of(model), model.p)} just these "
        f"{few} nearest {'rows' if whole else 'others'}, and get just these answers from {model.n_neighbors_} neighbours; comparing with every row gives the same"
        + ("" if told else VANISHED),
        holds=told,
        check="neighbours_exact",
        value=float(len(own)),
        witness={
            **how,
            "queries": X,
            "targets": np.asarray(model._codes_or_numbers()[own], dtype=np.float64),
            "weights": weight,
            "distances": np.ascontiguousarray(far),
            "answers": answers,
            "tolerance": TOLERANCE,
            **({"whole": True} if whole else {}),
        },
    )


def _within(model: RadiusModel, hood: Neighbourhood, rows: Rows) -> Claim:
    """Rows drawn from the fit, each left out: how many others are within the radius, and what they answer."""
    chosen = _drawn(model, max(4, min(SAMPLED, COMPARED // max(1, hood.size))))
    found = list(queries(rows, chosen))
    own = np.concatenate([one for one, _ in found])
    X = np.concatenate([np.asarray(X, dtype=np.float64) for _, X in found])
    Z = hood.geometry.rows(X)
    start, near, r = hood.within(Z, np.full(len(Z), hood.reduced_radius(model.radius)))
    told = _all_told_apart(hood, rows, Z[np.repeat(np.arange(len(Z)), np.diff(start))], r[:, None], near[:, None])
    who = model._found(hood, Z, own)
    return Claim(
        name="neighbours within the radius",
        statement=f"{len(own)} rows drawn from the fit, each left out in turn, have by {described(metric_of(model), model.p)} just so many others within "
        f"{model.radius:g}, which give just these answers; comparing with every row gives the same"
        + ("" if told else VANISHED),
        holds=told,
        check="neighbours_within",
        value=float(len(own)),
        witness={
            **_named(model),
            **({} if model.map_ is None else {"map": model.map_, "centre": model.centre_}),
            "radius": float(model.radius),
            "by_distance": model.weights == "distance",
            **({"vote_function": model.weights} if callable(model.weights) else {}),
            **({"classes": plain_labels(model.classes_)} if _classifies(model) else {}),
            "queries": X,
            "targets": np.asarray(model._codes_or_numbers()[own], dtype=np.float64),
            "weights": np.ones(len(own)) if model.weights_ is None else model.weights_[own],
            "counts": np.diff(who.start).astype(np.float64),
            "answers": np.nan_to_num(model._leave_one_out(hood, Z, own)),
            "tolerance": TOLERANCE,
        },
    )


def _all_told_apart(hood: Neighbourhood, rows: Rows, Z: Floats, r: Floats, near: Array) -> bool:
    """Whether the nearest rows (n, k) at reduced distances r are as far as they seem: powers of differences that are small beside the greatest vanish."""
    if hood.geometry.norm in (1.0, math.inf, HAMMING) or hood.geometry.unit or not (r < VANISHES).any():
        return True
    if ((r > 0) & (r < VANISHES)).any():
        return False
    at, which = np.nonzero(r == 0)
    place = np.unique(near[at, which])
    own = np.concatenate([hood.geometry.rows(np.asarray(X, dtype=np.float64)) for _, X in queries(rows, place)])
    return bool(np.array_equal(own[np.searchsorted(place, near[at, which])], Z[at]))


def _whitened(model: Any) -> Claim:
    W = model.map_ @ model.map_.T
    condition = float(np.linalg.cond(W * np.outer(*(2 * [1 / np.sqrt(np.diag(W))]))))
    eps, far = float(np.finfo(np.float64).eps), float((np.abs(model.centre_) @ np.abs(model.map_)).max())
    bound = max(TOLERANCE, 1e3 * len(W) * eps * condition, 8 * eps * far)  # far from zero no number is the mean
    return Claim(
        name="whitened",
        statement="distances are those of Mahalanobis: mapped by L, with L Lᵀ = Σ⁻¹, the rows of the fit have mean 0 and covariance I",
        holds=bound < USELESS,
        check="neighbours_whitened",
        bound=bound,
        witness={"map": model.map_, "centre": model.centre_},
    )


def _is_pairwise_checkable(model: Any) -> bool:
    return bool(model._rows_of_fit() <= ALL_LEARNT)


def _learned(model: Any) -> Claim:
    first, last = float(model.objective_[0]), float(model.objective_[-1])
    return Claim(
        name="learned metric",
        statement=f"with W = L Lᵀ a row left out is named rightly by a soft neighbour (chances ∝ exp(−(x − z)ᵀ W (x − z))) with a mean chance of "
        f"{last:.6g}; {first:.6g} before the {len(model.objective_) - 1} steps",
        holds=last >= first,
        check="neighbours_learned",
        value=last,
        bound=TOLERANCE,
        witness={
            "map": model.map_,
            "centre": model.centre_,
            "start": first,
            "classes": plain_labels(model.classes_),
            "tolerance": TOLERANCE,
        },
    )


# --- choice of k, and the Bayes error --------------------------------------------------------------------------------


def _is_checkable(model: Any) -> bool:
    n = model._rows_of_fit()
    if callable(metric_of(model)):
        return bool(n * (model.validation_rows or n) <= CALLS)
    return bool(float(n) * (model.validation_rows or n) * model.n_features_in_ <= CHOICE_PAIRS)


def _choice(model: Any, how: dict[str, Any]) -> Claim:
    loss, k = model.leave_one_out_, model.n_neighbors_
    what = "are wrong on a share of" if _classifies(model) else "have a mean square error of"
    rule = "the least" if model.rule == "best" else "within one standard error of the least"
    return Claim(
        name="number of neighbours",
        statement=f"left out in turn, the rows answered by {k} neighbours {what} {loss[k - 1]:.6g}: {rule} of 1, 2, …, {len(loss)} neighbours "
        "(chosen by it, so too low an estimate for new rows)",
        holds=True,
        check="neighbours_choice",
        value=float(loss[k - 1]),
        bound=TOLERANCE,
        witness={
            **how,
            "loss": loss,
            "rule": model.rule,
            "validated": 0 if model.validation_rows is None else int(model.validation_rows),
            "tolerance": TOLERANCE,
        },
    )


def _bracket(model: Any, hood: Neighbourhood, rows: Rows, how: dict[str, Any]) -> Claim:
    size = hood.size * max(1, hood.columns)
    room = CALLS // max(1, hood.size) if callable(metric_of(model)) else NEIGHBOUR_PAIRS // max(1, size)
    most = int(min(hood.size, max(64, min(2000, room))))
    wrong = asked = 0
    for own, X in queries(rows, _drawn(model, most)):
        near = hood.nearest(hood.geometry.rows(X), 1, own)[1][:, 0]
        wrong += int((model.codes_[near] != model.codes_[own]).sum())
        asked += len(own)
    K = len(model.classes_)
    e, interval = wrong / asked, clopper_pearson(wrong, asked, CONFIDENCE)
    low = least_bayes_error(e, K)
    return Claim(
        name="Bayes error",
        statement=f"left out in turn, {wrong} of {asked} rows differ in class from their nearest neighbour ({e:.4g}; {interval.low:.4g} to "
        f"{interval.high:.4g} with {CONFIDENCE:.0%} confidence, were rows independent): the least error that any classifier can reach in "
        f"these columns is about {low:.4g} to {e:.4g} (Cover and Hart, {K} classes; holds as the rows grow without end)",
        holds=True,
        check="neighbours_bayes",
        value=low,
        bound=e,
        kind="estimate",
        witness={**how, "wrong": wrong, "asked": asked, "most": most, "seed": SEED, "confidence": CONFIDENCE},
    )
