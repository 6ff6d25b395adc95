"""Votes of the nearest rows.

A row of weight w has w votes, as w copies of it would have; k neighbours are the nearest k votes, and of the row that exceeds them only the
part that is left counts. With `by_distance` a vote counts in inverse proportion to its distance, and where rows are at distance
zero they alone do. The class of most votes wins; of equal ones that whose nearest voter is nearest, then the lowest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.numerics import Array, Floats


class Voters(NamedTuple):
    """For each query the rows nearest to it, in order: reduced distances, numbers, and votes of each (0: does not count), (m, k) each."""

    r: Floats
    rows: Array
    votes: Floats


def first_votes(w: Floats, k: float) -> Floats:
    """How much of the weights w (m, n), in order, is among the first k.

    >>> first_votes(np.array([[1.0, 3.0, 1.0]]), 2)
    array([[1., 1., 0.]])
    """
    before = np.zeros_like(w)
    np.cumsum(w[:, :-1], axis=1, out=before[:, 1:])
    return np.clip(k - before, 0.0, w)


def nearer_more(distance: Floats, there: Array) -> Floats:
    """What a vote counts in inverse proportion to its distance, relative to the nearest's: the shares are those of 1/d, and nothing
    overflows. Rows that are not `there` count nothing; the first one is.

    >>> nearer_more(np.array([[2.0, 4.0], [0.0, 3.0]]), np.array([[True, True], [True, True]]))
    array([[1. , 0.5],
           [1. , 0. ]])
    """
    near = distance[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(near == 0, (distance == 0).astype(np.float64), near / distance)
    return np.where(there, factor, 0.0)


def tally(voters: Voters, codes: Array, K: int) -> Floats:
    """Votes for each class, (m, K), added up in the order of the voters."""
    total, every = np.zeros((len(voters.rows), K)), np.arange(len(voters.rows))
    for j in range(voters.rows.shape[1]):
        total[every, codes[voters.rows[:, j]]] += voters.votes[:, j]
    return total


def winners(total: Floats, voters: Voters, codes: Array) -> Array:
    """The class of each query."""
    most = total.max(axis=1, keepdims=True)
    best: Array = total.argmax(axis=1)
    tied = np.flatnonzero((total == most).sum(axis=1) > 1)
    if len(tied):
        near, every = np.full((len(tied), total.shape[1]), np.inf), np.arange(len(tied))
        for j in range(voters.rows.shape[1] - 1, -1, -1):
            mine = np.flatnonzero(voters.votes[tied, j] > 0)
            near[every[mine], codes[voters.rows[tied[mine], j]]] = voters.r[tied[mine], j]
        best[tied] = np.where(total[tied] == most[tied], near, np.inf).argmin(axis=1)
    return best


def mean_value(voters: Voters, y: Floats) -> Floats:
    """The mean of the voters' numbers, added up in their order."""
    total, votes = np.zeros(len(voters.rows)), np.zeros(len(voters.rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(voters.rows.shape[1]):
            votes += voters.votes[:, j]
            total += voters.votes[:, j] * y[voters.rows[:, j]]
        return total / votes
