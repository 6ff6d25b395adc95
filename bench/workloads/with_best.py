"""How often multiple comparisons with the best are wrong, and how much they find, beside Holm's correction for all pairs.

Answers of k models on n rows are drawn: rows are easy or hard for all models alike, by `shared`, and each model errs at its own rate. A comparison
is wrong where a model that is really the best is told to be worse than the best. No race: the result is a table.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from assay.assess import compare_pair, compare_with_best, holm
from assay.assess.paired import SAME
from bench.harness import Race

DRAWS = 200
DESIGNS = ((100, 0.9), (400, 0.3))  # rows, and how much of what makes a row hard is shared by the models
LADDER = tuple(np.linspace(0.16, 0.40, 19))
RATES = {
    "2 models, equal": (0.2, 0.2),
    "2 models, nearly equal": (0.2, 0.2001),
    "8 models, all equal": (0.2,) * 8,
    "8 models, the best by a hair": (0.2, *(0.2001,) * 7),
    "8 models, one best": (0.15, *(0.22,) * 7),
    "8 models, two best": (0.15, 0.15, *(0.25,) * 6),
    "20 models, a ladder": (0.15, *LADDER),
    "20 models, the best by a hair": (0.2, *(0.2001,) * 19),
}


class Told(NamedTuple):
    """Shares of the draws: the best told to be worse (the one of them that is it most often; any of them), and of the others those told, by
    ours and by Holm's."""

    one: float
    any: float
    ours: float
    holms: float


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    """A line a setting."""
    error = 100 * math.sqrt(0.05 * 0.95 / DRAWS)
    lines = [
        f"{DRAWS} draws each; one standard error of a share of 5 % is {error:.1f} points. *Best told worse*: how often the model that is "
        "really the best is told to be worse, promised at most 5 %; of several exactly equal best models that of the one told most often, and in "
        "brackets how often any of them is: of such a one it is true that it is no better than the best. *Found*: the share of the models "
        "that are really worse that are told so, by multiple comparisons with the best and by Holm's correction of McNemar's tests for all pairs.",
        "",
        "| models | rows | shared | best told worse | found | found by Holm |",
        "|---|---|---|---|---|---|",
    ]
    for name, rates in RATES.items():
        for n, shared in DESIGNS:
            told = simulated(n, rates, shared, DRAWS)
            several = f" ({told.any:.1%})" if rates.count(min(rates)) > 1 else ""
            found = ("–" if math.isnan(share) else f"{share:.1%}" for share in (told.ours, told.holms))
            lines.append(f"| {name} | {n} | {shared} | {told.one:.1%}{several} | {' | '.join(found)} |")
    return lines


def simulated(n: int, rates: tuple[float, ...], shared: float, draws: int, seed: int = 0) -> Told:
    """What is told of models that err at these rates."""
    rng, best = np.random.default_rng(seed), np.array(rates) == min(rates)
    ours = np.zeros((draws, len(rates)), dtype=bool)
    holms = ours.copy()
    for d in range(draws):
        wrong = _wrong(rng, n, rates, shared)
        ours[d], holms[d] = _told_with_best(wrong), _told_by_holm(wrong)
    found = [float(told[:, ~best].mean()) if not best.all() else math.nan for told in (ours, holms)]
    return Told(float(ours[:, best].mean(axis=0).max()), float(ours[:, best].any(axis=1).mean()), *found)


def _wrong(rng: np.random.Generator, n: int, rates: tuple[float, ...], shared: float) -> Any:
    """(k, n): which rows each model gets wrong."""
    own = rng.normal(size=(len(rates), n)) * math.sqrt(1 - shared)
    return rng.normal(size=n) * math.sqrt(shared) + own < ndtri(np.array(rates))[:, None]


def _told_with_best(wrong: Any) -> list[bool]:
    tests = compare_with_best(dict(enumerate(wrong)), y=np.zeros(wrong.shape[1], dtype=bool))[1]
    return [i in tests and tests[i].verdict != SAME for i in range(len(wrong))]


def _told_by_holm(wrong: Any) -> list[bool]:
    """The best against every other, corrected for all pairs."""
    y, k = np.zeros(wrong.shape[1], dtype=bool), len(wrong)
    best = int(wrong.mean(axis=1).argmin())
    p = holm([compare_pair(wrong[best], w, y=y).p if i != best else 1.0 for i, w in enumerate(wrong)], k * (k - 1) // 2)
    return [bool(value < 0.05) for value in p]
