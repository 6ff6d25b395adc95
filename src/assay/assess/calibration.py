"""Whether probabilities are what they say: of the rows given 30 %, do 30 % come true?

expected calibration error = Σ_b n_b/n · |mean p_b − share true_b|
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.assess.curves import positives
from assay.assess.score import Score, check_confidence, plain, proportion, same_length, score
from assay.certify.held_out import Interval
from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats


@dataclass(frozen=True)
class Bin:
    """Rows of similar probability: from least to greatest, their mean, and the share that came true."""

    least: float
    greatest: float
    mean: float
    observed: Score


@dataclass(frozen=True)
class Reliability:
    """The bins in order of probability, and the expected calibration error."""

    bins: tuple[Bin, ...]
    error: Score

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def reliability(
    y: Any, P: Any, *, bins: int = 10, classes: Any = None, positive: Any = None, confidence: float = 0.95
) -> Reliability:
    """The reliability curve in bins of equal count; equal probabilities share a bin.

    P (n,) are probabilities of the positive class. P (n, K) of the sorted `classes`: for two the second is positive; for more
    it is asked how often the most probable class is the true one. Each share has its exact interval. The true error of these
    bins lies between the sums of the least and of the greatest distance of mean p_b to the bins' intervals, taken at
    confidence 1 − (1 − confidence)/bins each: a cautious interval; it is `approximate` as rows of a bin differ a little.

    >>> [b.observed.value for b in reliability([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], bins=2).bins]
    [0.0, 1.0]
    """
    confidence = check_confidence(confidence)
    if bins < 1:
        raise ParameterError(f"bins={bins!r} is not possible: give at least 1, such as 10.")
    truth, p = _question(np.asarray(y), np.asarray(P, dtype=np.float64), classes, positive)
    n = same_length(y=truth, P=p)
    if not (p.min() >= 0 and p.max() <= 1 + 1e-9):
        raise DataError("P must hold probabilities between 0 and 1.")
    parts = _equal_count(p, bins)
    found = tuple(_bin(truth[part], p[part], confidence) for part in parts)
    weights = np.array([len(part) for part in parts]) / n
    sharp = 1 - (1 - confidence) / len(parts)
    gaps = np.array([_gaps(b, _bin(truth[part], p[part], sharp)) for b, part in zip(found, parts)])
    value, low, high = weights @ gaps
    return Reliability(found, score("expected calibration error", value, Interval(low, high), "approximate", "low", n))


def _question(y: Array, P: Floats, classes: Any, positive: Any) -> tuple[Array, Floats]:
    """What came true, and the probability it was given."""
    if P.ndim == 1:
        return positives(y, positive) if y.dtype != bool else y, P
    known = np.unique(y) if classes is None else np.asarray(classes)
    if P.shape != (len(y), len(known)):
        raise DataError(f"Probabilities of shape {P.shape} do not fit {len(y)} rows and {len(known)} classes.")
    if len(known) == 2:
        return y == known[1], P[:, 1]
    return y == known[P.argmax(axis=1)], P.max(axis=1)


def _equal_count(p: Floats, bins: int) -> list[Array]:
    """Rows in order of p, cut as evenly as ties allow."""
    order = np.argsort(p, kind="stable")
    wanted = p[order][[len(p) * b // bins for b in range(1, bins)]]
    cuts = np.unique(np.searchsorted(p[order], wanted, side="left"))
    return [part for part in np.split(order, cuts) if len(part)]


def _bin(truth: Array, p: Floats, confidence: float) -> Bin:
    share = proportion("share true", int(truth.sum()), len(truth), confidence, "high")
    return Bin(float(p.min()), float(p.max()), float(p.mean()), share)


def _gaps(observed: Bin, cautious: Bin) -> tuple[float, float, float]:
    """|mean p − share| as observed, and the least and greatest it may be."""
    ends = cautious.observed
    least = max(0.0, ends.low - observed.mean, observed.mean - ends.high)
    return abs(observed.mean - ends.value), least, max(abs(observed.mean - ends.low), abs(observed.mean - ends.high))
