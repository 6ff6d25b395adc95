"""A number with its interval, and how exact that interval is.

How far the mean of a loss over rows can be from its expectation: valid for any n where it is bounded, else Student's t.
Hedged capital (Waudby-Smith and Ramdas 2024, section 4.4): against every candidate mean m one bets on values above it
and, with other money, below it,

    K⁺_t(m) = Π_{i≤t} (1 + λ⁺_i (x_i − m)),    K⁻_t(m) = Π_{i≤t} (1 − λ⁻_i (x_i − m)),    0 ≤ x_i ≤ 1,

with stakes fixed before x_i is known, λ_i = √(2 log(2/α) / (n σ̂²_{i−1})), λ⁺ ≤ c/m, λ⁻ ≤ c/(1 − m). Under the true mean a
capital is a martingale, so by Ville it ever reaches 2/α with probability ≤ α/2: the m at which neither did are the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

import numpy as np

from assay.certify.held_out import Interval, clopper_pearson
from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats

Kind = Literal["exact", "approximate"]
Better = Literal["low", "high"]
CAP = 0.5  # c: no bet may lose more than half of the capital
MOST_BETS = (
    1 << 14
)  # more rows are averaged in groups of equal size first: as independent, as bounded, of the same mean
STEPS = 40  # halvings of [0, 1]
ORDER = 20240216  # of the fixed shuffle: rows that came sorted must not be bet on in that order


@dataclass(frozen=True)
class Score:
    """low ≤ true value ≤ high. `exact`: with at least the stated confidence for any number n of independent rows.

    `approximate`: with about that confidence where rows are many (normal, DeLong, bootstrap).
    """

    name: str
    value: float
    low: float
    high: float
    kind: Kind
    better: Better
    n: int

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)

    def __str__(self) -> str:
        return f"{self.name} {self.value:.4g} [{self.low:.4g}, {self.high:.4g}]{' about' if self.kind == 'approximate' else ''}"


def plain(record: Any) -> Any:
    """A record as dicts, lists and plain values; JSON has no infinity and no NaN, they become None.

    >>> plain(Score("R²", 0.0, float("-inf"), 1.0, "approximate", "high", 1))["low"] is None
    True
    """
    if is_dataclass(record):
        return {field.name: plain(getattr(record, field.name)) for field in fields(record)}
    if isinstance(record, dict):
        return {key: plain(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [plain(value) for value in record]
    if isinstance(record, np.generic | np.ndarray):
        return plain(record.tolist())
    return None if isinstance(record, float) and not math.isfinite(record) else record


def score(name: str, value: float, within: Interval, kind: Kind, better: Better, n: int) -> Score:
    """A score of plain numbers; rounding may not push the value out of its own interval."""
    value = float(value)
    return Score(name, value, min(float(within.low), value), max(float(within.high), value), kind, better, int(n))


def proportion(name: str, count: int, n: int, confidence: float = 0.95, better: Better = "low") -> Score:
    """count of n rows, with the exact interval of Clopper and Pearson. Of no rows nothing is known: [0, 1].

    >>> str(proportion("error", 1, 20))
    'error 0.05 [0.001265, 0.2487]'
    """
    if n == 0:
        return Score(name, float("nan"), 0.0, 1.0, "exact", better, 0)
    return score(name, count / n, clopper_pearson(int(count), int(n), confidence), "exact", better, n)


def check_confidence(confidence: float) -> float:
    """A confidence strictly between 0 and 1."""
    if not (isinstance(confidence, int | float) and 0 < confidence < 1):
        raise ParameterError(f"confidence={confidence!r} is not possible: give a number between 0 and 1, such as 0.95.")
    return float(confidence)


def same_length(**columns: Any) -> int:
    """The number of rows that all columns have; an error names the ones that differ, or that there are none."""
    lengths = {name: len(np.asarray(column)) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise DataError(
            "These must have one entry a row, but " + ", ".join(f"{k} has {n}" for k, n in lengths.items()) + "."
        )
    n = next(iter(lengths.values()))
    if n == 0:
        raise DataError("There are no rows to judge on: give more rows, or hold out a larger share.")
    return n


def bounded_mean(values: Array, least: float, greatest: float, confidence: float = 0.95) -> Interval:
    """The interval of E x for independent x within [least, greatest], valid for any n: the hedged capital.

    >>> low, high = bounded_mean(np.tile([0.0, 0.5, 0.5, 1.0], 50), 0.0, 1.0)
    >>> round(low, 2), round(high, 2)
    (0.43, 0.56)
    """
    x, span = np.asarray(values, dtype=np.float64), float(greatest - least)
    if span <= 0 or not len(x):
        return Interval(float(least), float(greatest))
    unit = (x - least) / span
    if not (unit.min() >= -1e-9 and unit.max() <= 1 + 1e-9):
        raise DataError(f"Values from {x.min():g} to {x.max():g} are not within the bounds [{least:g}, {greatest:g}].")
    u = _groups(np.clip(unit, 0.0, 1.0))
    stakes = _stakes(u, confidence)
    target = math.log(2 / (1 - confidence))
    low, high = _first_credible(u, stakes, target), 1 - _first_credible(1 - u, stakes, target)
    mean = float(unit.mean())
    return Interval(least + span * min(low, mean), least + span * max(high, mean))


def _groups(u: Floats) -> Floats:
    """The rows in a fixed shuffled order; averaged where they are very many. The fewer than `size` left over are not bet on."""
    u = u[np.random.default_rng(ORDER).permutation(len(u))]
    size = -(-len(u) // MOST_BETS)
    return u if size == 1 else u[: len(u) // size * size].reshape(-1, size).mean(axis=1)


def _stakes(u: Floats, confidence: float) -> Floats:
    """λ_i from the rows before i: μ̂ = (½ + Σx)/(i + 1), σ̂² = (¼ + Σ(x − μ̂)²)/(i + 1)."""
    n, t = len(u), np.arange(2, len(u) + 2)
    spread = (u - (0.5 + np.cumsum(u)) / t) ** 2
    variance = (0.25 + np.cumsum(spread)) / t
    before = np.append(0.25, variance[:-1])
    return np.asarray(np.sqrt(2 * math.log(2 / (1 - confidence)) / (n * before)))


def _first_credible(u: Floats, stakes: Floats, target: float) -> float:
    """The least m at which betting on values above m never wins e^target: the capital falls as m grows, so halving finds it."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        m = (low + high) / 2
        capital = np.cumsum(np.log1p(np.minimum(stakes, CAP / m) * (u - m)))
        low, high = (m, high) if capital.max() >= target else (low, m)
    return low


def mean_interval(values: Array, confidence: float = 0.95, least: float = -math.inf) -> Interval:
    """x̄ ± t·s/√n, Student's t with n − 1 degrees; an approximation. One row says nothing: the interval is endless.

    >>> low, high = mean_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    x = np.asarray(values, dtype=np.float64)
    n = len(x)
    if n < 2:
        return Interval(least, math.inf)
    mean = float(x.mean())
    return around(mean, float(x.std(ddof=1)) / math.sqrt(n), n - 1, confidence, least)


def around(mean: float, error: float, degrees: float, confidence: float = 0.95, least: float = -math.inf) -> Interval:
    """mean ± t·error with Student's t of these degrees of freedom (infinite: the normal)."""
    from scipy.special import ndtri, stdtrit

    level = (1 + confidence) / 2
    t = float(ndtri(level) if math.isinf(degrees) else stdtrit(degrees, level))
    return Interval(max(least, mean - t * error), mean + t * error)
