"""Successive halving: try all on few rows, go on with the better ones on more (Jamieson & Talwalkar 2016).

Rung r of `rungs` uses the share 3^−(rungs − 1 − r) of the rows; the last one uses all. A candidate that is within one standard
error of the last one kept is kept too: few rows must not decide what they cannot tell apart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from assay.errors import DataError, ParameterError
from assay.numerics import Floats

Candidate = TypeVar("Candidate")
GROWTH = 3.0


class Rung(NamedTuple):
    """What was measured on one share of the rows. `candidates` are their numbers in the order given to `halve`."""

    share: float
    candidates: list[int]
    risks: Floats
    standard_errors: Floats
    seconds: float


class Halving(NamedTuple):
    """`ranking`: all candidates, best first: who came further stands before who did not, then the lower risk counts.

    `stopped` says why the last rung was not reached, or is empty.
    """

    ranking: list[int]
    history: list[Rung]
    stopped: str


def shares(rungs: int) -> list[float]:
    """The share of the rows on each rung.

    >>> [round(s, 3) for s in shares(3)]
    [0.111, 0.333, 1.0]
    """
    return [GROWTH ** -(rungs - 1 - r) for r in range(rungs)]


def halve(
    candidates: Sequence[Candidate],
    evaluate: Callable[[list[Candidate], float], tuple[Any, Any]],
    *,
    rungs: int = 3,
    keep: float = 1 / 3,
    deadline: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Halving:
    """Rank candidates by `evaluate(those left, share) -> (risks, standard errors)`, a NaN risk meaning that it failed.

    A rung begins only if it can be expected to end before `deadline` (on `clock`), from what the rows have cost so far.
    """
    if not candidates:
        raise DataError("There is no candidate to choose from.")
    if rungs < 1 or not 0 < keep <= 1:
        raise ParameterError(
            f"{rungs} rungs that keep {keep!r} are not possible: give at least 1, and a share in (0, 1]."
        )
    left, stopped = list(range(len(candidates))), ""
    history: list[Rung] = []
    for share in shares(rungs):
        if history and deadline is not None and clock() + expected_seconds(history, len(left), share) > deadline:
            stopped = f"The time left is too short for {len(left)} candidates on {share:.0%} of the rows."
            break
        began = clock()
        risks, errors = (np.asarray(a, dtype=np.float64) for a in evaluate([candidates[i] for i in left], share))
        if risks.shape != (len(left),) or errors.shape != risks.shape:
            raise DataError(
                f"{len(left)} candidates were measured, but {risks.shape} risks and {errors.shape} errors came."
            )
        history.append(Rung(share, left, risks, errors, clock() - began))
        left = [left[j] for j in kept(risks, errors, keep)]
        if not left:
            stopped = "Every candidate failed."
            break
    return Halving(_ranking(history), history, stopped)


def kept(risks: Floats, errors: Floats, keep: float) -> list[int]:
    """Who goes on: the best ⌈keep·m⌉ of the m that did not fail, and all up to one standard error above the last of them.

    >>> kept(np.array([0.1, 0.2, 0.21, 0.5]), np.full(4, 0.02), 0.5)
    [0, 1, 2]
    """
    order = np.lexsort((np.arange(len(risks)), risks))[: int(np.isfinite(risks).sum())]
    if not len(order):
        return []
    last = order[math.ceil(keep * len(order)) - 1]
    limit = risks[last] + np.nan_to_num(errors[last], nan=0.0)
    return [int(j) for j in order if risks[j] <= limit]


def expected_seconds(history: list[Rung], count: int, share: float) -> float:
    """What a rung of `count` candidates on `share` of the rows will take.

    Seconds a candidate and row, as on the last rung; where they grew from the rung before, they are taken to grow so again.
    """
    cost = [rung.seconds / (len(rung.candidates) * rung.share) for rung in history[-2:]]
    growth = max(1.0, cost[-1] / cost[0]) if cost[0] > 0 else 1.0
    return cost[-1] * growth * count * share


def _ranking(history: list[Rung]) -> list[int]:
    placed: list[int] = []
    for rung in reversed(history):
        order = np.lexsort((np.arange(len(rung.risks)), rung.risks))  # NaN comes last
        placed += [rung.candidates[j] for j in order if rung.candidates[j] not in placed]
    return placed
