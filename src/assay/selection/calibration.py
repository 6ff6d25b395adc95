"""Probabilities from the scores of any classifier, learnt from rows that the scoring fits had not seen, and in agreement with its labels.

Scores s (n, K) are log p(k | x) where the model has probabilities, else decision values. With the shares π of the classes,

    s' = log((1 − λ) softmax(s) + λ π)         smoothed shares: one neighbour, or a pure leaf, knows less than it says (λ = 0 where that fits better)
    q  = softmax(a s' + b)                     one over a temperature, and a preference a class (Platt 1999; Guo et al. 2017)
    p  = (1 − ε) q + ε π,    ε = 1/(n + 2)     n rows cannot show that something never happens

λ by maximum likelihood; a ≥ 0 and b minimise Σ −t·log q + ½‖b‖², a convex problem, by Newton's method; the targets t are those of Platt:
a share 1/(n + 2) of the row goes to the classes as they are frequent, or classes that are told apart without error would make a infinite.

The label stays the most probable class: p is brought to the nearest distribution with that property (the label shares evenly with what was
above it), and of equals the label gets the next greater number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from assay.errors import ModelFileError
from assay.numerics import Array, Floats, log_softmax, log_sum_exp, safe_log

LEAD = 1e-3  # at most, of the label's probability: what a label is put ahead by where it was behind
MOST_ROWS = 10_000  # left-out rows that a calibration is learnt from: two numbers and one a class need no more
STEPS, ENOUGH = 50, 1e-5  # Newton's steps, and the decrease of the sum of losses that is not worth another


@dataclass(frozen=True)
class Calibration:
    """What turns the scores of one fitted model into probabilities; of `rows` left-out rows `before` and `after` are the mean log losses.

    `before` is that of the model's own probabilities; None: it has none.
    """

    share: float  # λ
    slope: float  # a
    offset: Floats  # (K,) b
    prior: Floats  # (K,) π
    rows: int
    before: float | None
    after: float

    @classmethod
    def none(cls, scores: Floats, y: Array, prior: Floats) -> Calibration:
        """That of a model whose probabilities are what they say."""
        loss = log_loss(np.exp(log_softmax(scores)), y)
        return cls(0.0, 1.0, np.zeros(len(prior)), prior, len(y), loss, loss)

    @property
    def temperature(self) -> float:
        return 1.0 / self.slope if self.slope > 0 else float("inf")

    @property
    def unseen(self) -> float:
        """The probability of a class that the model never saw."""
        return 1.0 / (self.rows + len(self.prior) + 1)

    def over(self, known: Array, classes: Array) -> Calibration:
        """That of a fit which knows more classes than the one it was learnt with: `known` are the classes it has."""
        if len(known) == len(classes):
            return self
        prior, offset = np.full(len(classes), self.unseen), np.zeros(len(classes))
        places = np.searchsorted(classes, known)
        prior[places], offset[places] = self.prior * (1.0 - self.unseen * (len(classes) - len(known))), self.offset
        return replace(self, prior=prior, offset=offset)

    def proba(self, scores: Floats, codes: Array) -> Floats:
        """p(k | x) (n, K); the most probable class is the label."""
        return agreed(self._spread(scores), codes)

    def log_proba(self, scores: Floats, codes: Array) -> Floats:
        """log p(k | x) (n, K)."""
        return label_first(safe_log(self.proba(scores, codes)), codes)

    def _spread(self, scores: Floats) -> Floats:
        known, Z = _finite(_smoothed(scores, self.share, self.prior))
        floor = 1.0 / (self.rows + 2)
        found: Floats = (1.0 - floor) * _softmax(Z, known, self.slope, self.offset) + floor * self.prior
        return found

    def to_data(self) -> dict[str, Any]:
        """Plain values for a model file."""
        numbers = {"share": self.share, "slope": self.slope, "before": self.before, "after": self.after}
        return {"rows": self.rows, **numbers, "offset": self.offset.tolist(), "prior": self.prior.tolist()}

    @classmethod
    def from_data(cls, data: Any, classes: int) -> Calibration:
        """From a file that has not been trusted yet, for so many classes."""
        try:
            return cls(**_checked(data, classes))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise ModelFileError(f"The model file's calibration cannot be used: {error}") from None


def _checked(data: Any, classes: int) -> dict[str, Any]:
    if not isinstance(data, dict) or set(data) != set(Calibration.__dataclass_fields__):
        raise ValueError(f"it has not the entries {', '.join(Calibration.__dataclass_fields__)}")
    if type(data["rows"]) is not int or not 0 <= data["rows"] <= 2**53:
        raise ValueError(f"it was learnt from {data['rows']!r} rows")
    share, slope, after = (_number(data[name]) for name in ("share", "slope", "after"))
    before = None if data["before"] is None else _number(data["before"])
    if not 0 <= share <= 1 or slope < 0:
        raise ValueError(f"a share of {share:g} or a slope of {slope:g}")
    offset, prior = (np.array([_number(v) for v in _listed(data[name], classes)]) for name in ("offset", "prior"))
    if (prior <= 0).any() or not np.isclose(prior.sum(), 1.0, rtol=0, atol=1e-6):
        raise ValueError("the shares of the classes are no shares")
    return {
        "share": share,
        "slope": slope,
        "offset": offset,
        "prior": prior,
        "rows": data["rows"],
        "before": before,
        "after": after,
    }


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not np.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def _listed(values: Any, length: int) -> list[Any]:
    if not isinstance(values, list) or len(values) != length:
        raise ValueError(f"it is not one of {length} classes")
    return values


# --- learning it ------------------------------------------------------------------------------------------------------


def calibrate(scores: Floats, y: Array, prior: Floats, log_probabilities: bool) -> Calibration:
    """The calibration of scores (n, K) of rows that the fits had not seen, whose classes are y."""
    plain = _fitted(scores, y, prior, 0.0)
    before = log_loss(np.exp(log_softmax(scores)), y) if log_probabilities else None
    found = [plain]
    if log_probabilities:
        found.append(_fitted(scores, y, prior, mixing_share(np.exp(log_softmax(scores)), y, prior)))
    best = min(found, key=lambda c: c.after)
    return replace(best, before=before)


def _fitted(scores: Floats, y: Array, prior: Floats, share: float) -> Calibration:
    known, Z = _finite(_smoothed(scores, share, prior))
    told = known[np.arange(len(y)), y]  # of a class that the fit never saw, no slope tells anything
    slope, offset = _newton(Z[told], known[told], y[told], prior)
    found = Calibration(share, slope, offset, prior, len(y), None, 0.0)
    after = log_loss(agreed(found._spread(scores), scores.argmax(axis=1)), y)
    return replace(found, after=after)


def log_loss(P: Floats, y: Array) -> float:
    """The mean of −log p(y | x), p ≥ 2.2e-16 as everywhere."""
    p: Floats = P[np.arange(len(y)), y]
    return float(-np.log(np.maximum(p, np.finfo(np.float64).eps)).mean())


def smoothed_prior(counts: Array) -> Floats:
    """(K,): how frequent the classes of so many rows each are, with one more row of each (Laplace)."""
    more = counts + 1.0
    return np.asarray(more / more.sum())


def mixing_share(P: Floats, y: Array, prior: Floats) -> float:
    """λ that makes (1 − λ) P + λ π likeliest, with one row for and one against it; by EM, whose objective is concave."""
    p, q, share = P[np.arange(len(y)), y], prior[y], 0.05
    for _ in range(STEPS):
        last = share
        share = float((share * q / ((1 - share) * p + share * q)).sum() + 1.0) / (len(y) + 2.0)
        if abs(share - last) < 1e-5:
            break
    return share


def _smoothed(scores: Floats, share: float, prior: Floats) -> Floats:
    return scores if share == 0 else np.log((1 - share) * np.exp(log_softmax(scores)) + share * prior)


def _finite(scores: Floats) -> tuple[Array, Floats]:
    """Which scores are finite, and all of them from the greatest of their row, 0 in place of −∞."""
    Z: Floats = scores - scores.max(axis=1, keepdims=True)
    known: Array = np.isfinite(Z)
    return known, Z if known.all() else np.where(known, Z, 0.0)


def _softmax(Z: Floats, known: Array, slope: float, offset: Floats) -> Floats:
    return np.exp(log_softmax(_tilted(Z, known, slope, offset)))


def _tilted(Z: Floats, known: Array, slope: float, offset: Floats) -> Floats:
    tilted: Floats = slope * Z + offset
    return tilted if known.all() else np.where(known, tilted, -np.inf)


class _Problem(NamedTuple):
    """Σ_i [log Σ_k exp(a z_ik + b_k) − t_i·(a z_i + b)] + ½‖b‖²; of the targets only these sums are needed."""

    Z: Floats
    known: Array
    scores: float  # Σ t·z
    counts: Floats  # (K,) Σ t

    @classmethod
    def of(cls, Z: Floats, known: Array, y: Array, prior: Floats) -> _Problem:
        n, blur = len(y), 1.0 / (len(y) + 2.0)
        own = np.bincount(y, minlength=len(prior))
        scores = (1 - blur) * float(Z[np.arange(n), y].sum()) + blur * float((Z @ prior).sum())
        return cls(Z, known, scores, (1 - blur) * own + blur * n * prior)

    def value(self, slope: float, offset: Floats) -> tuple[float, Floats]:
        """The objective and q."""
        tilted = _tilted(self.Z, self.known, slope, offset)
        sums = log_sum_exp(tilted)
        value = sums.sum() - slope * self.scores - offset @ self.counts + 0.5 * offset @ offset
        return float(value), np.exp(tilted - sums[:, None])

    def newton(self, Q: Floats, offset: Floats) -> tuple[Floats, Floats]:
        """Gradient and step, of the slope and of each offset."""
        mean, K = np.einsum("ij,ij->i", Q, self.Z), len(offset)
        g, H = np.empty(K + 1), np.empty((K + 1, K + 1))
        g[0], g[1:] = mean.sum() - self.scores, Q.sum(axis=0) - self.counts + offset
        H[0, 0] = np.einsum("ij,ij,ij->", Q, self.Z, self.Z) - mean @ mean + 1e-9
        H[0, 1:] = H[1:, 0] = np.einsum("ij,ij->j", Q, self.Z) - mean @ Q
        H[1:, 1:] = np.diag(Q.sum(axis=0) + 1.0) - Q.T @ Q
        return g, -np.linalg.solve(H, g)


def _newton(Z: Floats, known: Array, y: Array, prior: Floats) -> tuple[float, Floats]:
    """a and b by damped Newton steps from the slope at which a row's second class is about e times less likely."""
    problem, offset = _Problem.of(Z, known, y, prior), np.zeros(len(prior))
    gap = -float(np.partition(Z, -2, axis=1)[:, -2].mean())
    slope = 1.0 / gap if gap > 0 else 1.0
    value, Q = problem.value(slope, offset)
    for _ in range(STEPS):
        g, step = problem.newton(Q, offset)
        gain = -float(g @ step)
        if not gain > ENOUGH:
            break
        t = 1.0 if slope + step[0] > 0.1 * slope else 0.9 * slope / -step[0]
        for _ in range(STEPS):
            there = problem.value(slope + t * step[0], offset + t * step[1:])
            if there[0] <= value - 1e-4 * t * gain:
                break
            t /= 2
        else:
            break
        slope, offset, (value, Q) = slope + t * step[0], offset + t * step[1:], there
    return float(slope), offset


# --- agreement with the labels ----------------------------------------------------------------------------------------


def agreed(P: Floats, codes: Array) -> Floats:
    """P with the label as the most probable class of every row: where it is not, it shares evenly with the classes above it.

    >>> agreed(np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]]), np.array([1, 1])).round(2).tolist()
    [[0.45, 0.45, 0.1], [0.2, 0.5, 0.3]]
    """
    odd = np.flatnonzero(P.argmax(axis=1) != codes)
    if not len(odd):
        return P
    own, rest = P[odd, codes[odd]], P[odd]
    rest[np.arange(len(odd)), codes[odd]] = -1.0  # sorts last
    falling = np.column_stack([own, -np.sort(-rest, axis=1)[:, :-1]])
    level = (np.cumsum(falling, axis=1) / np.arange(1, P.shape[1] + 1)).max(axis=1).astype(P.dtype)
    lead = (
        LEAD * level * own / P[odd].max(axis=1)
    )  # the less the label was behind, the more it leads now: rows keep their order
    above = rest >= level[:, None]
    P = P.copy()
    P[odd] = np.minimum(rest, level[:, None]) - above * (lead / np.maximum(above.sum(axis=1), 1))[:, None]
    P[odd, codes[odd]] = level + lead
    return label_first(P, codes)


def label_first(P: Floats, codes: Array) -> Floats:
    """Where others are as great as the label's number, this becomes the next greater one."""
    odd = np.flatnonzero(P.argmax(axis=1) != codes)
    if len(odd):
        P[odd, codes[odd]] = np.nextafter(P[odd].max(axis=1), P.dtype.type(np.inf))
    return P


# --- a model with it --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CalibratedModel:
    """A fitted classifier whose probabilities are calibrated; all else is the model's."""

    model: Any
    calibration: Calibration

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("model", "calibration"):
            raise AttributeError(name)
        return getattr(self.model, name)

    def predict_proba(self, X: Any) -> Floats:
        """p(k | x) for each row and class."""
        return self.predict_both(X)[1]

    def predict_log_proba(self, X: Any) -> Floats:
        """log p(k | x) for each row and class."""
        codes, scores = self.model.label_scores(X)
        return self.calibration.log_proba(scores, codes)

    def predict_both(self, X: Any) -> tuple[Array, Floats]:
        """(`predict`, `predict_proba`): what both are made of is computed once."""
        codes, scores = self.model.label_scores(X)
        return self.model.classes_[codes], self.calibration.proba(scores, codes)

    def predict_proba_blocks(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` block by block."""
        return (P for _, P in self.predict_both_blocks(X))

    def predict_both_blocks(self, X: Any) -> Iterator[tuple[Array, Floats]]:
        """(`predict`, `predict_proba`) block by block."""
        for codes, scores in self.model.label_scores_blocks(X):
            yield self.model.classes_[codes], self.calibration.proba(scores, codes)


def with_calibration(model: Any, calibration: Calibration | None) -> Any:
    """The model with its calibration, where it has one."""
    return model if calibration is None else CalibratedModel(model, calibration)
