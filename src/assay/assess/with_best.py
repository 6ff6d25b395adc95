"""Each of many models against the best of the others: Hsu's multiple comparisons with the best (1984; of unequal errors Edwards and Hsu 1983).

Of k models with risks R the question about model i is whether another one is better,

    θ_i = R_i − min_{j≠i} R_j        (below 0: it is the best; above: by how much it is not)

It is told to be worse where one of its own k − 1 paired differences is too great for chance:

    max_{j≠i} z_ij > c_i,   z_ij = Φ⁻¹(1 − p_ij),   P(max_{j≠i} Z_ij ≤ c_i) = 1 − α,   Z_i ~ N(0, correlation of the ℓ_i − ℓ_j over rows)

with p_ij one-sided, of the paired test that fits (paired.py: McNemar's exact one, or t with the correction for folds that share rows). Differences
from one model hang together, so that c_i is far below what as many independent tests would ask for.

Why picking the best on the same rows needs no more than that: the model that is really the best, whichever it is, is wrongly told to be worse
only by its own k − 1 differences, and these were given the rate α. So with confidence 1 − α it is not among those told to be worse, and each of
these is no better than another one; all k(k − 1)/2 pairs would have to be paid for only to say more (which of any two is better). Models
that are exactly equal: each of them is told to be worse with probability α at most, and of one that is, "no better" is then all that is true.

The intervals of all θ_i hold together (constrained intervals): with G the models not told to be worse, whose upper ends are one-sided at their own c_j,

    min(0, max_{j≠i} low_ij(c_i)) ≤ θ_i ≤ max(0, max_{j∈G, j≠i} high_ij(c_j))

The joint distribution is worked out from a fixed lattice of 2¹⁴ points (Richtmyer), so that everyone finds the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from assay.assess.paired import PairedTest, mcnemar_of_counts, moments, t_factor, t_test_of, verdict_of
from assay.assess.score import check_confidence, same_length
from assay.errors import DataError
from assay.numerics import Array, Floats

POINTS = 1 << 14
CERTAIN = 0.005  # below it the sum of the k − 1 tails is as good as their union, and needs no lattice
DIGITS = 4  # of p: what the lattice is good for
NAME = "with the best (Hsu)"


class ModelPairs(NamedTuple):
    """Of k models: the paired test of any two at a confidence, and the variance (k, k) of their differences, of one row each."""

    test: Callable[[int, int, float], PairedTest]
    variance: Floats


def compare_with_best(
    columns: Mapping[str, Any],
    *,
    best: str | None = None,
    y: Any = None,
    n_train: float | None = None,
    n_test: float | None = None,
    confidence: float = 0.95,
) -> tuple[str, dict[str, PairedTest]]:
    """The name of the best column (answers with their truth `y`, or losses) and how every other stands to the best of the others, with one
    error rate for all of them together; `best`: which of equally good ones it is. `n_train` and `n_test` as in `compare_pair`.

    `difference` is that of the best less the other, with its simultaneous interval; one that touches 0 tells them apart.

    >>> right = [0] * 40
    >>> best, tests = compare_with_best({"a": right, "b": [1] + right[1:], "c": [1] * 9 + right[9:]}, y=right)
    >>> best, {name: (test.p, test.verdict) for name, test in tests.items()}
    ('a', {'b': (1.0, 'cannot tell apart'), 'c': (0.003906, 'first is better')})
    """
    confidence = check_confidence(confidence)
    if not columns:
        raise DataError("There is nothing to compare: give at least one model.")
    same_length(y=y, **{str(name): column for name, column in columns.items()})
    names, alpha = list(columns), 1 - confidence
    risks = [np.mean(np.asarray(v) != np.asarray(y)) if y is not None else np.mean(v) for v in columns.values()]
    first = int(np.argmin(risks)) if best is None else names.index(best)
    if len(names) == 1:
        return names[first], {}
    pairs = _of_answers(columns, y) if y is not None else _of_losses(columns, n_train, n_test)
    maxima = _maxima(pairs.variance)
    deviates = _deviates(pairs)
    p = [_joint(float(z), maxima[i], len(names) - 1) for i, z in enumerate(deviates)]
    told = np.array([value < alpha for value in p])
    ends = _intervals(pairs, told, maxima, alpha)
    found = {}
    for i, name in enumerate(names):
        if i != first:
            test = pairs.test(first, i, confidence)
            low, high = (0.0 - end for end in reversed(ends[i]))
            found[name] = replace(
                test,
                name=f"{test.name}, {NAME}",
                statistic=float(deviates[i]),
                p=p[i],
                low=min(low, test.difference),
                high=max(high, test.difference),
                verdict=verdict_of(p[i], test.difference, alpha),
                kind=test.kind if len(names) == 2 else "approximate",
            )
    return names[first], found


def _of_answers(columns: Mapping[str, Any], y: Any) -> ModelPairs:
    """Of answers: rows that the one alone got wrong, and those that the other alone did."""
    truth = np.asarray(y)
    wrong = [np.asarray(column) != truth for column in columns.values()]
    n, k = len(truth), len(wrong)
    alone = np.zeros((k, k), dtype=np.int64)
    for i, j in combinations(range(k), 2):
        both = int(np.count_nonzero(wrong[i] & wrong[j]))
        alone[i, j], alone[j, i] = (int(np.count_nonzero(wrong[m])) - both for m in (i, j))
    variance = (alone + alone.T) / n - ((alone - alone.T) / n) ** 2

    def test(i: int, j: int, confidence: float) -> PairedTest:
        return mcnemar_of_counts(int(alone[i, j]), int(alone[j, i]), n, confidence)

    return ModelPairs(test, variance)


def _of_losses(columns: Mapping[str, Any], n_train: float | None, n_test: float | None) -> ModelPairs:
    """Of losses of rows, or risks of folds: mean and spread of the differences."""
    losses = [np.asarray(column, dtype=np.float64) for column in columns.values()]
    n, k = len(losses[0]), len(losses)
    mean, spread = np.zeros((k, k)), np.zeros((k, k))
    for i, j in combinations(range(k), 2):
        mean[i, j], spread[i, j] = moments(losses[i] - losses[j])
        mean[j, i], spread[j, i] = -mean[i, j], spread[i, j]
    name, factor = t_factor(n, n_train, n_test)

    def test(i: int, j: int, confidence: float) -> PairedTest:
        return t_test_of(name, float(mean[i, j]), float(spread[i, j]), n, factor, confidence)

    return ModelPairs(test, spread**2)


def _deviates(pairs: ModelPairs) -> Floats:
    """(k,): the greatest z_ij of each model i; 0 where no other did better."""
    from scipy.special import ndtri

    k = len(pairs.variance)
    least = np.full(k, 0.5)
    for i, j in combinations(range(k), 2):
        test = pairs.test(i, j, 0.95)
        worse = i if test.difference > 0 else j
        least[worse] = min(least[worse], test.p / 2 if test.difference else 0.5)
    return np.asarray(-ndtri(np.maximum(least, 1e-300)))


def _maxima(variance: Floats) -> Floats:
    """(k, POINTS): of each model the greatest of its standardised differences from the others, had all of them the same risk."""
    Y = _square_root(variance) @ _normal_points(max(1, len(variance) - 1))
    errors = np.sqrt(variance)
    found = np.full(Y.shape, -np.inf)
    for i, error in enumerate(errors):
        for j in np.flatnonzero(error > 0):  # those that never differ say nothing of each other
            np.maximum(found[i], (Y[i] - Y[j]) / error[j], out=found[i])
    return found


def _square_root(variance: Floats) -> Floats:
    """(k, k − 1): A with |A_i − A_j|² = variance_ij, the first at 0 (Gower 1966); by Cholesky, which is the same on every machine where
    eigenvectors are not. What rounding left of a row that hangs on earlier ones is 0."""
    S = (variance[0][:, None] + variance[0] - variance)[1:, 1:] / 2
    A = np.zeros(S.shape)
    for j in range(len(S)):
        column = S[j:, j] - A[j:, :j] @ A[j, :j]
        if column[0] > 1e-9 * S[j, j]:
            A[j:, j] = column / np.sqrt(column[0])
    return np.vstack([np.zeros(len(S)), A])


@cache
def _normal_points(dimensions: int) -> Floats:
    """(dimensions, POINTS) of the standard normal: the multiples of the roots of primes, less their whole parts (Richtmyer 1951)."""
    from scipy.special import ndtri

    roots = np.sqrt(_primes(dimensions))[:, None]
    points = (roots * np.arange(1, POINTS + 1)) % 1.0
    return np.asarray(ndtri(points))


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found


def _joint(z: float, maxima: Floats, others: int) -> float:
    """P(max_j Z_ij ≥ z): between that of one difference and the sum over all, and no better than the lattice can tell."""
    from scipy.special import ndtr

    if z <= 0:
        return 1.0
    one = float(ndtr(-z))
    p = others * one
    if p > CERTAIN:
        p = min(p, max(one, (1 + int(np.count_nonzero(maxima >= z))) / (1 + POINTS)))
    return float(f"{p:.{DIGITS}g}")


def _intervals(pairs: ModelPairs, told: Array, maxima: Floats, alpha: float) -> list[tuple[float, float]]:
    """The constrained interval of each θ_i."""
    from scipy.special import ndtr

    k = len(told)
    beyond = max(
        0, math.ceil(alpha * (1 + POINTS)) - 2
    )  # so many points beyond z give a p below alpha, one more does not
    critical = np.round(np.sort(maxima, axis=1)[:, -1 - beyond], 6)
    levels = 1 - 2 * ndtr(
        -np.maximum(critical, 0.0)
    )  # of a two-sided interval whose one end is that of the one-sided test
    kept = np.flatnonzero(~told)
    found = []
    for i in range(k):
        ends = partial(pairs.test, i)
        lows = [0.0 if told[i] else ends(j, levels[i]).low for j in range(k) if j != i]
        highs = [ends(int(j), levels[j]).high for j in kept if j != i]
        found.append((min(0.0, max(lows)), max([0.0, *highs])))
    return found
