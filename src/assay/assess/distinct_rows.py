"""Scores of rows that were tested several times, or by several fits: a row asked again is no new row, and rows asked of fits that share
rows are worth less than as many of one test, so intervals are those of the distinct rows and of what these are worth.

n answers for m < n distinct rows: the deviation of a mean is taken to be √(n/m) times that of n independent rows, which
is right where the answers for a row agree, and too wide (never too narrow) where they do not.

Rows of one group (a patient's visits) hang together, and groups are what is independent: of G groups with the sums S_g of n values the mean has
the variance Σ (S_g − S̄)² / n² · G/(G − 1), that of independent rows only where groups do not matter (Liang and Zeger 1986).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from assay.assess.curves import Bin
from assay.assess.score import Score
from assay.assess.scores import ClassScores, f1_of, jaccard_of
from assay.certify.held_out import Interval, clopper_pearson
from assay.numerics import Array, Floats

OVERLAP = 0.5  # share of Nadeau and Bengio's correction that covers: see effective_rows
LEAST = {"R²": -math.inf}  # what a score cannot be below (else 0) or above (else infinity)
MOST = {
    "balanced error": 1.0,
    "AUC": 1.0,
    "R²": 1.0,
    "Brier score": 2.0,
    "average precision": 1.0,
    "expected calibration error": 1.0,
    "cost": 1.0,
}


def effective_rows(rows: float, n_train: float) -> float:
    """How many rows of one test a cross-validation is worth: m with 1/m = 1/rows + OVERLAP/n_train.

    What is stated is the error on new rows of the model handed over, fitted to all rows. Answers of fits that share most of their training rows
    hang together, and the model itself is one draw of the training rows: both add to the variance s²/n of independent answers. Nadeau
    and Bengio (2003) add s²/n_train; half of that is what simulations ask for (`python -m bench coverage`: without it 95 % intervals of
    300 rows cover about 90 %, with all of it about 98 %).

    >>> effective_rows(300, 270)
    192.85714285714286
    """
    return 1 / (1 / rows + OVERLAP / n_train)


def of_groups(values: Floats, groups: Array) -> Floats:
    """(G,): the sum of the values of each group, scaled so that their mean is that of all values; what is said of such numbers may take
    them to be independent.

    >>> of_groups(np.array([1.0, 0.0, 1.0, 1.0]), np.array([7, 7, 7, 9])).tolist()
    [1.0, 0.5]
    """
    names, place = np.unique(groups, return_inverse=True)
    found: Floats = np.bincount(place, weights=values) * (len(names) / len(values))
    return found


def independent_share(values: Floats, groups: Array) -> float:
    """How much of an independent row each of these is worth: the variance of their mean had groups not mattered, over that which they have.

    At most 1; at least what is left where all rows of a group are alike, which is also the answer where equal values tell nothing.

    >>> independent_share(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    0.5
    """
    sizes = np.unique(groups, return_counts=True)[1]
    least = float(sizes.sum() / (sizes.astype(np.float64) @ sizes))
    if len(sizes) < 2:
        return least
    alone = float(values.var(ddof=1)) / len(values)
    together = float(of_groups(values - values.mean(), groups).var(ddof=1)) / len(sizes)
    return least if together <= 0 else min(1.0, max(least, alone / together))


def of_distinct_rows(score: Score, rows: float) -> Score:
    """The score with the interval that so many distinct rows allow.

    >>> str(of_distinct_rows(Score("MSE", 4.0, 3.0, 5.0, "approximate", "low", 400), 100))
    'MSE 4 [2, 6] about'
    """
    if rows >= score.n:
        return score
    if score.name == "error":
        return share_of_rows(score, rows)
    factor = math.sqrt(score.n / rows)
    low = max(score.value - factor * (score.value - score.low), LEAST.get(score.name, 0.0))
    high = min(score.value + factor * (score.high - score.value), MOST.get(score.name, math.inf))
    within = Interval(min(low, score.value), max(high, score.value))
    return replace(score, low=within.low, high=within.high, kind="approximate", n=round(rows))


def share_of_rows(score: Score, rows: float) -> Score:
    """A share of answers with the interval of that share of so many distinct rows; several fits answered, so it is not exact.

    >>> from assay.assess.score import proportion
    >>> str(share_of_rows(proportion("recall", 500, 500), 100))
    'recall 1 [0.9638, 1] about'
    """
    if rows == 0:
        return replace(score, kind="approximate")
    low, high = clopper_pearson(score.value * rows, rows)
    return replace(score, low=min(low, score.value), high=max(high, score.value), kind="approximate", n=round(rows))


def class_of_rows(found: ClassScores, true: Array, answered: Array, tested: Array, worth: float = 1.0) -> ClassScores:
    """The scores of a class with the intervals of the distinct rows behind each: (m,) who is of it, who was said to be, and which row it is.
    `worth`: how much of a row of one test each of them is worth (`effective_rows` of all, by their number)."""
    n, said, either = (len(np.unique(tested[which])) for which in (true, answered, true | answered))
    precision, recall = share_of_rows(found.precision, said * worth), share_of_rows(found.recall, n * worth)
    return ClassScores(found.label, n, precision, recall, f1_of(share_of_rows(jaccard_of(found.f1), either * worth)))


def bins_of_rows(bins: Iterable[Bin], p: Floats, tested: Array, worth: float = 1.0) -> tuple[Bin, ...]:
    """Bins of probabilities p (m,) with the intervals of the distinct rows in each; equal ones share a bin, so its ends say who is in it.
    `worth` as in `class_of_rows`."""
    rows = [(b, tested[(b.least <= p) & (p <= b.greatest)]) for b in bins]
    return tuple(replace(b, observed=share_of_rows(b.observed, worth * len(np.unique(inside)))) for b, inside in rows)
