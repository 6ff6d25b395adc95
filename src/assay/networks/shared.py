"""A mini-batch whose gradient is computed in shares, each anywhere, and whose weights are changed once: `Trainer.epoch` taken apart, with the same bits.

A batch is cut into pieces by its size alone, and their gradients are added like a tournament: neighbours, then neighbouring pairs, and so on. 2, 4, 8, … pieces that
begin at a multiple of their number are a whole branch of that tree, so whoever has such a stretch sends one sum, and the bits do not tell who had it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from assay.compiled.simd.networks import SHORT
from assay.loops.network.rules import ADAM, SGD
from assay.loops.network.shared import change_weights, team_gradient
from assay.networks.prepared import Prepared
from assay.networks.training import PIECE, Rule, Trainer
from assay.numerics import Array, Floats


class Branch(NamedTuple):
    """The gradients of the teams first … first + many − 1 of a batch, added up."""

    first: int
    many: int
    gradient: Array


class Share(NamedTuple):
    """Branches of a batch in order, as few as there can be; Σ c loss and Σ c [wrong] of each of their pieces (pieces, 2)."""

    branches: list[Branch]
    sums: Floats


class Batch(NamedTuple):
    """The rows order[start …], `size` of them or what is left; `team` (a power of two) pieces are computed by one thread."""

    rows: Prepared
    order: Array
    start: int
    size: int
    team: int

    @property
    def many(self) -> int:
        return min(self.size, len(self.order) - self.start)


def pieces_of(batch: int) -> int:
    """How many pieces a batch of so many rows has."""
    return max(1, -(-batch // PIECE))


def share_of(trainer: Trainer, batch: Batch, rule: Rule, first: int, stop: int) -> Share:
    """What the teams first … stop − 1 find of a batch, at the trainer's weights."""
    turned = trainer.shape.turned(trainer.P)
    found = list(trainer.workers.map(partial(_team, trainer, turned, batch, rule), range(first, stop)))
    branches = joined(Branch(team, 1, G) for team, (G, _) in enumerate(found, first))
    return Share(branches, np.concatenate([sums for _, sums in found]))


def _team(trainer: Trainer, turned: Array, batch: Batch, rule: Rule, team: int) -> tuple[Array, Floats]:
    shape, size, pieces = trainer.shape, len(trainer.P), pieces_of(batch.size)
    units, work = shape.units(-(-batch.size // pieces) + SHORT)
    leader, last = team * batch.team, min(pieces, (team + 1) * batch.team)
    G, *rooms = (np.zeros(n, dtype=trainer.dtype) for n in ((last - leader) * size, work, work, work, work))
    sums = np.zeros((last - leader, 2))
    team_gradient(
        *batch.rows[:3], batch.rows.weights, batch.order, batch.start, batch.many, pieces, leader, last, *trainer._fixed(), units,
        *trainer._kind(), trainer.P, turned, G, *rooms, rule.dropout, rule.seed, trainer.begun, sums,
    )  # fmt: skip
    return G[:size].copy(), sums


def joined(branches: Iterable[Branch]) -> list[Branch]:
    """Neighbours that make a larger branch added up, as far as it goes.

    >>> one = [Branch(team, 1, np.ones(1)) for team in range(1, 8)]
    >>> [(first, many) for first, many, _ in joined(one)]
    [(1, 1), (2, 2), (4, 4)]
    """
    found: list[Branch] = []
    for branch in branches:
        while found and found[-1].many == branch.many and found[-1].first % (2 * branch.many) == 0:
            left = found.pop()
            branch = Branch(left.first, 2 * left.many, left.gradient + branch.gradient)
        found.append(branch)
    return found


def change(trainer: Trainer, rule: Rule, shares: Iterable[Share], many: int) -> None:
    """Change the weights by the shares of all teams, in order, of a batch of `many` rows."""
    *rest, last = joined(branch for share in shares for branch in share.branches)
    G = last.gradient
    for branch in reversed(rest):
        G = branch.gradient + G
    numbers = np.array(
        [rule.rate, rule.penalty, rule.momentum, rule.beta1, rule.beta2, rule.small], dtype=trainer.dtype
    )
    G, how = np.require(G, None, ["C", "A", "W"]), ADAM if rule.how == "adam" else SGD
    trainer.P, trainer.M, trainer.V = trainer.P.copy(), trainer.M.copy(), trainer.V.copy()
    change_weights(trainer.P, trainer.M, trainer.V, G, trainer.decays, numbers, rule.nesterov, how, many, trainer.begun)
    trainer.begun += 1
