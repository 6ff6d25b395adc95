"""Whether two models differ, or cannot be told apart, judged on the same rows or the same folds. Of more than two see with_best.py.

McNemar          of the rows that only one got right, b and c: p of a fair coin with b + c throws      exact
paired t         mean difference of losses over rows ± t·s/√n                                          approximate
corrected t      mean difference of J folds, variance (1/J + n_test/n_train)·s²: folds share training
                 rows, so s²/J alone is far too small (Nadeau and Bengio 2003); of rows or of folds    approximate
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.assess.score import Kind, around, check_confidence, plain, same_length
from assay.certify.held_out import Interval, clopper_pearson
from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats

SAME = "cannot tell apart"


@dataclass(frozen=True)
class PairedTest:
    """`difference` is the loss of the first less that of the second, with its interval; `kind` is that of p.

    `verdict` is 'first is better', 'second is better' or 'cannot tell apart'.
    """

    name: str
    statistic: float
    p: float
    difference: float
    low: float
    high: float
    verdict: str
    kind: Kind
    n: int

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def holm(p: Sequence[float] | Array, of: int | None = None) -> Floats:
    """Holm's adjusted p-values: the j-th smallest of m times m − j + 1, never falling. `of`: m, where only some of m tests are given.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    times = (len(p) if of is None else of) - np.arange(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * times))
    return adjusted


def compare_pair(
    first: Any,
    second: Any,
    *,
    y: Any = None,
    n_train: float | None = None,
    n_test: float | None = None,
    confidence: float = 0.95,
) -> PairedTest:
    """The test that fits what is given: answers and the truth `y` of one test set (McNemar), the risks of folds of
    n_train and n_test rows (corrected t), the losses of each row by fits on n_train rows each (corrected paired t), or by one fit
    (paired t)."""
    confidence = check_confidence(confidence)
    if y is not None:
        return mcnemar(y, first, second, confidence)
    if n_train is None:
        return paired_t(first, second, confidence)
    if n_test is None:
        return corrected_rows_t(first, second, n_train, confidence)
    return corrected_t(first, second, n_train, n_test, confidence)


def _test(
    name: str, statistic: float, p: float, difference: float, within: Interval, kind: Kind, n: int, alpha: float
) -> PairedTest:
    p = min(1.0, float(p))
    return PairedTest(name, float(statistic), p, float(difference), *within, verdict_of(p, difference, alpha), kind, n)


def verdict_of(p: float, difference: float, alpha: float) -> str:
    """Which is better where p is below alpha."""
    if p >= alpha or difference == 0:
        return SAME
    return "first is better" if difference < 0 else "second is better"


def _fair_coin(least: int, n: int) -> float:
    """P(as uneven as this or more) of n throws of a fair coin: 2·P(count ≤ least)."""
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(least, n, 0.5))) if n else 1.0


def mcnemar(y: Any, first: Any, second: Any, confidence: float = 0.95) -> PairedTest:
    """McNemar's exact test of two columns of answers; p is exact, the interval of the difference approximate.

    difference = (b − c)/n = (2π − 1)·δ, b rows only the first got wrong, π = b/(b + c), δ = (b + c)/n

    >>> test = mcnemar([1] * 10, [1] * 10, [0] * 8 + [1] * 2)
    >>> round(test.p, 4), test.difference, test.verdict
    (0.0078, -0.8, 'first is better')
    """
    n = same_length(y=y, first=first, second=second)
    wrong_1, wrong_2 = np.asarray(first) != np.asarray(y), np.asarray(second) != np.asarray(y)
    return mcnemar_of_counts(int((wrong_1 & ~wrong_2).sum()), int((wrong_2 & ~wrong_1).sum()), n, confidence)


def mcnemar_of_counts(b: int, c: int, n: int, confidence: float = 0.95) -> PairedTest:
    """McNemar's test where of n rows b were wrong by the first alone and c by the second alone."""
    p, within = _fair_coin(min(b, c), b + c), _difference(b, c, n, confidence)
    return _test("McNemar, exact", min(b, c), p, (b - c) / n, within, "exact", n, 1 - confidence)


def _difference(b: int, c: int, n: int, confidence: float) -> Interval:
    """(2π − 1)δ with the distances to the exact ends of π and of δ added in squares (MOVER), on the side of 0 that π is on."""
    d = b + c
    some = clopper_pearson(d, n, confidence)
    if d == 0:
        return Interval(-some.high, some.high)
    side, share, delta = clopper_pearson(b, d, confidence), b / d, d / n
    lean = 2 * share - 1
    down, up = (some.low, some.high) if lean > 0 else (some.high, some.low)
    low = lean * delta - math.hypot(2 * (share - side.low) * delta, lean * (delta - down))
    high = lean * delta + math.hypot(2 * (side.high - share) * delta, lean * (delta - up))
    return Interval(max(low, 0.0) if side.low > 0.5 else low, min(high, 0.0) if side.high < 0.5 else high)


def paired_t(first: Any, second: Any, confidence: float = 0.95) -> PairedTest:
    """Student's t on the differences of two columns of losses on the same rows."""
    n = same_length(first=first, second=second)
    return _t_test(*t_factor(n, None, None), first, second, confidence)


def corrected_t(first: Any, second: Any, n_train: float, n_test: float, confidence: float = 0.95) -> PairedTest:
    """The corrected resampled t-test on the risks of the same J folds (of all repetitions together)."""
    J = same_length(first=first, second=second)
    return _t_test(*t_factor(J, n_train, n_test), first, second, confidence)


def corrected_rows_t(first: Any, second: Any, n_train: float, confidence: float = 0.95) -> PairedTest:
    """The same correction with the variance taken from the rows: s²(1/n + 1/n_train) of the n differences of losses.

    A fold's risk has variance s²/n_test, so this is (1/J + n_test/n_train)·s²/n_test with n − 1 degrees of freedom instead of J − 1:
    ten folds estimate a variance badly, and with a correction for many models on top can hardly tell anything apart.
    """
    n = same_length(first=first, second=second)
    return _t_test(*t_factor(n, n_train, None), first, second, confidence)


def t_factor(n: int, n_train: float | None, n_test: float | None) -> tuple[str, float]:
    """The name of the t-test, and what the variance of one of n differences is multiplied by to be that of their mean."""
    if n_train is None:
        return "paired t", 1 / n
    if not (n_train > 0 and (n_test is None or n_test > 0)):
        raise ParameterError(
            f"n_train={n_train!r} and n_test={n_test!r} are rows a fit sees and is tested on: both must be positive."
        )
    return (
        ("corrected paired t", 1 / n + 1 / n_train)
        if n_test is None
        else ("corrected resampled t", 1 / n + n_test / n_train)
    )


def _t_test(name: str, factor: float, first: Any, second: Any, confidence: float) -> PairedTest:
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return t_test_of(name, *moments(d), len(d), factor, confidence)


def moments(d: Floats) -> tuple[float, float]:
    """Mean and spread of differences: where all differ alike, chance has shown no spread yet, and it is taken to be at least that of one
    difference among them."""
    if len(d) < 2:
        raise DataError("One pair of losses has no spread: give at least two rows or folds.")
    mean = float(d.mean())
    return mean, max(float(d.std(ddof=1)), abs(mean) / math.sqrt(len(d)))


def t_test_of(name: str, mean: float, spread: float, n: int, factor: float, confidence: float) -> PairedTest:
    """Student's t where n differences have this mean and this spread."""
    from scipy.special import stdtr

    error = spread * math.sqrt(factor)
    t = mean / error if error > 0 else (0.0 if mean == 0 else math.copysign(math.inf, mean))
    p = 2 * float(stdtr(n - 1, -abs(t)))
    within = around(mean, error, n - 1, confidence)
    return _test(name, t, p, mean, within, "approximate", n, 1 - confidence)


def in_words(test: PairedTest, first: str, second: str) -> str:
    """One sentence that names the models.

    >>> in_words(mcnemar([1, 1, 1], [1, 1, 0], [1, 0, 1]), "LDA", "QDA")
    'LDA and QDA cannot be told apart (McNemar, exact, p = 1).'
    """
    p = "p < 0.0001" if test.p < 1e-4 else f"p = {test.p:.2g}"
    if test.verdict == SAME:
        return f"{first} and {second} cannot be told apart ({test.name}, {p})."
    better, worse = (first, second) if test.verdict.startswith("first") else (second, first)
    return f"{better} is better than {worse} ({test.name}, {p})."
