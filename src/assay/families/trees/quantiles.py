"""Quantile regression forests (Meinshausen 2006): a forest's answer is a mean of targets, and its weights give their whole distribution.

    F(y | x) = Σ_i w_i(x) [y_i ≤ y],   w_i(x) = 1/T Σ_t  (weight of row i in the leaf of x in tree t) / (weight of that leaf)

The weight of a row in a tree is how often it was drawn for it, times its own: so Σ_i w_i(x) y_i is what the forest predicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.engines import Block
from assay.errors import ModelFileError, ParameterError
from assay.estimator.layout import Layout, Tensor
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.trees.forest_builder import OutOfBag
    from assay.families.trees.model import Forest
    from assay.families.trees.training_data import TrainingData

OF_QUANTILES: Layout = {
    "member_": Tensor(("M",), dtype="<u4", index="n", optional=True, doc="with quantiles=True the numbers of the rows in the leaves, leaf after leaf"),
    "member_times_": Tensor(("M",), dtype="|u1", low=1, optional=True, doc="how often each of these rows was drawn for its tree"),
    "member_count_": Tensor(("L",), dtype="<u4", most="M", low=1, optional=True, doc="how many rows each leaf holds"),
    "member_target_": Tensor(("n",), optional=True, doc="the targets of the rows of the fit, of which quantiles are taken"),
    "member_weight_": Tensor(("n",), low=0, optional=True, doc="the weights of the rows of the fit; absent where all are 1"),
}  # fmt: skip
MOST_TIMES = 255  # that a byte can say


class LeafMembers(NamedTuple):
    """Which rows are in which leaf: of each leaf in turn `held` rows, by their places among the targets in order; `times` drawn.

    target, weight (n,): of the rows ordered by target; weight None: one each.
    """

    place: Array
    times: Array
    held: Array
    target: Floats
    weight: Floats | None


def predict_quantiles(model: Any, X: Any, q: Any = (0.05, 0.5, 0.95)) -> Array:
    """Quantiles of the target given each row: (n,) for one level q, (n, len(q)) for several (Meinshausen 2006).

    Of the training targets, weighted by how often their rows share a leaf with the new one, the least at or below which
    lies a share of at least q (0: the least of all). Needs a fit with quantiles=True.
    """
    model._check_fitted()
    members = kept_members(model)
    if members is None:
        raise ParameterError(
            f"This {type(model).__name__} did not keep which rows are in which leaf: fit it with quantiles=True for predict_quantiles."
        )
    found: Array = model._answer(X, partial(_quantiles_block, model, members, _levels_asked(q)))
    return found[:, 0] if np.ndim(q) == 0 else found


def _quantiles_block(model: Forest, members: LeafMembers, levels: Floats, block: Block) -> Array:
    model._refuse_infinite(block)
    return _quantiles_at(members, model._predictor.numbers(block.X), levels)


def _levels_asked(q: Any) -> Floats:
    """The levels of quantiles as an array."""
    try:
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not len(levels) or not np.all((levels >= 0) & (levels <= 1)):
        raise ParameterError(f"q={q!r} is not possible: give a number from 0 to 1, or a list of such.")
    return levels


def _quantiles_at(members: LeafMembers, leaves: Array, q: Floats) -> Floats:
    """(m, len(q)): quantiles for rows in these leaves (m, T), which are counted through all trees."""
    from assay.families.trees.loops.forest import weighted_quantiles

    order = np.argsort(q, kind="stable")
    out = np.empty((len(leaves), len(q)))
    first = np.concatenate([[0], np.cumsum(members.held.astype(np.int64))])
    weighted = members.weight is not None
    weight = members.weight if members.weight is not None else np.ones(1)
    weighted_quantiles(leaves, first, members.place, members.times, weight, weighted, members.target, q[order], out)
    answers = np.empty_like(out)
    answers[:, order] = out
    return answers


def kept_members(model: Any) -> LeafMembers | None:
    """The members that a forest has kept."""
    if getattr(model, "member_", None) is None:
        return None
    weight = getattr(model, "member_weight_", None)
    return LeafMembers(model.member_, model.member_times_, model.member_count_, model.member_target_, weight)


def keep_members(model: Any, bag: OutOfBag, training_data: TrainingData) -> None:
    """Keep which rows are in which leaf, where quantiles are asked for."""
    before = kept_members(model)
    for name in OF_QUANTILES:
        vars(model).pop(name, None)
    if not model.quantiles:
        return
    new = _members_of(bag.members, training_data.truth, training_data.weights)
    bag.members = []
    if len(new.held) < len(model.leaf_):
        if before is None:
            raise ParameterError(
                f"{type(model).__name__}: the trees of the fit before were grown without quantiles=True, so quantiles of all trees "
                "cannot be had: fit with warm_start=False."
            )
        new = _more_members(before, new)
    model.member_, model.member_times_, model.member_count_, model.member_target_ = new[:4]
    model.member_weight_ = new.weight


def _members_of(found: list[tuple[Array, Array, Array]], truth: Floats, weight: Floats | None) -> LeafMembers:
    """What (rows, times, held) of each tree say, for rows with these targets."""
    order = np.argsort(truth, kind="stable")
    place = np.empty(len(order), dtype=np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    rows, times, held = (np.concatenate(parts) for parts in zip(*found))
    if times.max(initial=0) > MOST_TIMES:
        rows, times, held = _in_bytes(rows, times.astype(np.int64), held)
    return LeafMembers(
        place[rows],
        times.astype(np.uint8),
        held.astype(np.uint32),
        truth[order],
        None if weight is None else weight[order],
    )


def _in_bytes(rows: Array, times: Array, held: Array) -> tuple[Array, Array, Array]:
    """Rows drawn more often than a byte can say are there several times."""
    pieces = -(-times // MOST_TIMES)
    first = np.cumsum(pieces) - pieces
    many = np.full(int(pieces.sum()), MOST_TIMES)
    many[first + pieces - 1] = times - MOST_TIMES * (pieces - 1)
    ends = np.cumsum(held.astype(np.int64))
    return np.repeat(rows, pieces), many, np.diff(np.append(0, np.cumsum(pieces)[ends - 1]))


def _more_members(before: LeafMembers, new: LeafMembers) -> LeafMembers:
    """The members of some trees, then of others that were grown from the same rows."""
    place, times, held = (np.concatenate(pair) for pair in zip(before[:3], new[:3]))
    return new._replace(place=place, times=times, held=held)


def check_members(model: Forest, parts: Mapping[str, Any]) -> None:
    """Raise where the members of a file are impossible, or only some of their parts are there; their weights are optional."""
    there = [name in parts for name in OF_QUANTILES]
    if any(there) and not all(there[:-1]):
        raise ModelFileError("The model file has only some of the parts that say which rows are in which leaf.")
    members = kept_members(model)
    if members is None:
        return
    good = (
        int(members.held.astype(np.int64).sum()) == len(members.place)
        and int(members.place.max(initial=0)) < len(members.target)
        and bool(np.all(members.target[1:] >= members.target[:-1]))
        and (members.weight is None or bool(np.all(members.weight[members.place] > 0)))
    )
    if not good:
        raise ModelFileError("The model file's rows in leaves do not fit its trees or targets.")
