"""Quantile regression forests (Meinshausen 2006): a forest's answer is a mean of targets, and its weights give their whole distribution.

    F(y | x) = Σ_i w_i(x) [y_i ≤ y],   w_i(x) = 1/T Σ_t  (weight of row i in the leaf of x in tree t) / (weight of that leaf)

The weight of a row in a tree is how often it was drawn for it, times its own: so Σ_i w_i(x) y_i is what the forest predicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from assay.errors import ModelFileError, ParameterError
from assay.layout import Layout, Tensor
from assay.numerics import Array, Floats

LAYOUT: Layout = {
    "member_": Tensor(("M",), dtype="<u4", optional=True, doc="with quantiles=True the numbers of the rows in the leaves, leaf after leaf"),
    "member_times_": Tensor(("M",), dtype="|u1", low=1, optional=True, doc="how often each of these rows was drawn for its tree"),
    "member_count_": Tensor(("L",), dtype="<u4", low=1, optional=True, doc="how many rows each leaf holds"),
    "member_target_": Tensor(("n",), optional=True, doc="the targets of the rows of the fit, of which quantiles are taken"),
    "member_weight_": Tensor(("n",), low=0, optional=True, doc="the weights of the rows of the fit; absent where all are 1"),
}  # fmt: skip


MOST_TIMES = 255


class Members(NamedTuple):
    """Which rows are in which leaf: of each leaf in turn `held` rows, by their places among the targets in order; `times` drawn.

    target, weight (n,): of the rows ordered by target; weight None: one each.
    """

    place: Array
    times: Array
    held: Array
    target: Floats
    weight: Floats | None


def members_of(found: list[tuple[Array, Array, Array]], truth: Floats, weight: Floats | None) -> Members:
    """What (rows, times, held) of each tree say, for rows with these targets."""
    order = np.argsort(truth, kind="stable")
    place = np.empty(len(order), dtype=np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    rows, times, held = (np.concatenate(parts) for parts in zip(*found))
    if times.max(initial=0) > MOST_TIMES:
        rows, times, held = _in_bytes(rows, times.astype(np.int64), held)
    return Members(
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


def more_members(before: Members, new: Members) -> Members:
    """The members of some trees, then of others that were grown from the same rows."""
    place, times, held = (np.concatenate(pair) for pair in zip(before[:3], new[:3]))
    return new._replace(place=place, times=times, held=held)


def check_parts(parts: Mapping[str, Any]) -> None:
    """Raise where a file has only some of the parts of members; their weights are optional."""
    there = [name in parts for name in LAYOUT]
    if any(there) and not all(there[:-1]):
        raise ModelFileError("The model file has only some of the parts that say which rows are in which leaf.")


def check_members(members: Members) -> None:
    """Raise where the members of a file are impossible."""
    good = (
        int(members.held.astype(np.int64).sum()) == len(members.place)
        and int(members.place.max(initial=0)) < len(members.target)
        and bool(np.all(members.target[1:] >= members.target[:-1]))
        and (members.weight is None or bool(np.all(members.weight[members.place] > 0)))
    )
    if not good:
        raise ModelFileError("The model file's rows in leaves do not fit its trees or targets.")


def levels_asked(q: Any) -> Floats:
    """The levels of quantiles as an array."""
    try:
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.array([np.nan])
    if levels.ndim != 1 or not len(levels) or not np.all((levels >= 0) & (levels <= 1)):
        raise ParameterError(f"q={q!r} is not possible: give a number from 0 to 1, or a list of such.")
    return levels


def quantiles_at(members: Members, leaves: Array, q: Floats) -> Floats:
    """(m, len(q)): quantiles for rows in these leaves (m, T), which are counted through all trees."""
    from assay.loops.tree.quantiles import weighted_quantiles

    order = np.argsort(q, kind="stable")
    out = np.empty((len(leaves), len(q)))
    first = np.concatenate([[0], np.cumsum(members.held.astype(np.int64))])
    weighted = members.weight is not None
    weight = members.weight if members.weight is not None else np.ones(1)
    weighted_quantiles(leaves, first, members.place, members.times, weight, weighted, members.target, q[order], out)
    answers = np.empty_like(out)
    answers[:, order] = out
    return answers
