"""Losses, penalties and bounds on intercepts for the checks of linear models, written from their definitions; and the rows as these checks read them.

A loss ℓ(z) of a score z where the truth is t (±1, or a number), its slope and curvature in z, and its conjugate
ℓ*(u) = max_z uz − ℓ(z), infinite outside its domain (the table of Shalev-Shwartz and Zhang, JMLR 2013).

Rows are counted from an origin near them, x − o, and weights as (w, b + o·w), a sum without rounding: so scores keep their digits
however far from zero the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim
from assay.certify.rows import Array, CheckedRows, CsrBlock, Floats, back, codes_of

ROUNDS = 6
EPS = float(np.finfo(np.float64).eps)
NARROW = 256  # columns up to which sparse rows are spread out
FINE = 1e-16  # of the squares of a column: what the rounding of its mean may make of them
LARGE = 1e3  # terms of a sum beyond this may leave it with few digits


class LossTerms(NamedTuple):
    """ℓ, ℓ', ℓ'' (None: there is none), ℓ* and the nearest u in the domain of ℓ*, each of (z or u, t, width)."""

    value: Callable[[Floats, Array, float], Floats]
    slope: Callable[[Floats, Array, float], Floats]
    curvature: Callable[[Floats, Array, float], Floats] | None
    conjugate: Callable[[Floats, Array, float], Floats]
    into_domain: Callable[[Floats, Array, float], Floats]


def loss_terms(name: Any) -> LossTerms:
    """The terms of a loss by its name."""
    if name not in LOSSES:
        raise ValueError(f"there is no loss {name!r}")
    return LOSSES[name]


def _where(inside: Array, value: Floats) -> Floats:
    return np.where(inside, value, np.inf)


def _sigmoid(m: Floats) -> Floats:
    """1/(1 + e^−m) = exp(−log(1 + e^−m))."""
    return np.exp(-np.logaddexp(0.0, -m))


def _entropy(a: Floats) -> Floats:
    """a log a + (1 − a) log(1 − a), 0 log 0 = 0; a small a keeps its digits in both."""
    own = np.where(a > 0, a * np.log(np.where(a > 0, a, 1.0)), 0.0)
    return own + np.where(a < 1, (1.0 - a) * np.log1p(-np.where(a < 1, a, 0.0)), 0.0)


def _log_conjugate(u: Floats, t: Array, h: float) -> Floats:
    a = -t * u
    return _where((a >= 0) & (a <= 1), _entropy(np.clip(a, 0.0, 1.0)))


def _hinge_conjugate(u: Floats, t: Array, h: float) -> Floats:
    a = -t * u
    return _where((a >= 0) & (a <= 1), -a)


def _squared_hinge_conjugate(u: Floats, t: Array, h: float) -> Floats:
    a = -t * u
    return _where(a >= 0, a**2 / 4 - a)


def _huber(z: Floats, t: Array, h: float) -> Floats:
    r: Floats = np.abs(z - t)
    return np.where(r <= h, r**2 / 2, h * (r - h / 2))


def _to_unit(u: Floats, t: Array, h: float) -> Floats:
    return np.asarray(-t * np.clip(-t * u, 0.0, 1.0))


LOSSES = {
    "log": LossTerms(
        lambda z, t, h: np.logaddexp(0.0, -t * z),
        lambda z, t, h: -t * _sigmoid(-t * z),
        lambda z, t, h: _sigmoid(z) * _sigmoid(-z),
        _log_conjugate,
        _to_unit,
    ),
    "hinge": LossTerms(  # the slope is that of a hinge smoothed over h: any u in [−1, 0]·t gives a bound
        lambda z, t, h: np.maximum(0.0, 1.0 - t * z),
        lambda z, t, h: -t * np.clip((1.0 - t * z) / h, 0.0, 1.0),
        None,
        _hinge_conjugate,
        _to_unit,
    ),
    "squared hinge": LossTerms(
        lambda z, t, h: np.maximum(0.0, 1.0 - t * z) ** 2,
        lambda z, t, h: -2.0 * t * np.maximum(0.0, 1.0 - t * z),
        lambda z, t, h: 2.0 * (t * z < 1.0),
        _squared_hinge_conjugate,
        lambda u, t, h: -t * np.maximum(-t * u, 0.0),
    ),
    "squared": LossTerms(
        lambda z, t, h: (z - t) ** 2 / 2,
        lambda z, t, h: z - t,
        lambda z, t, h: np.ones(z.shape),
        lambda u, t, h: u**2 / 2 + u * t,
        lambda u, t, h: u,
    ),
    "huber": LossTerms(
        _huber,
        lambda z, t, h: np.clip(z - t, -h, h),
        lambda z, t, h: (np.abs(z - t) <= h).astype(np.float64),
        lambda u, t, h: _where(np.abs(u) <= h, u**2 / 2 + u * t),
        lambda u, t, h: np.clip(u, -h, h),
    ),
}


def _beyond(z: Floats, t: Array, h: float) -> Floats:
    out: Floats = np.maximum(np.abs(z - t) - h, 0.0)
    return out


def _straight(share: float) -> tuple[float, float]:
    """The slopes of the pinball loss below and above."""
    if not 0 < share < 1:
        raise ValueError("a quantile lies between 0 and 1")
    return -share, 1.0 - share


LOSSES |= {
    "epsilon insensitive": LossTerms(
        _beyond,
        lambda z, t, h: np.sign(z - t) * (np.abs(z - t) > h),
        None,
        lambda u, t, h: _where(np.abs(u) <= 1.0, u * t + h * np.abs(u)),
        lambda u, t, h: np.clip(u, -1.0, 1.0),
    ),
    "squared epsilon insensitive": LossTerms(
        lambda z, t, h: _beyond(z, t, h) ** 2,
        lambda z, t, h: 2.0 * np.sign(z - t) * _beyond(z, t, h),
        lambda z, t, h: 2.0 * (np.abs(z - t) > h),
        lambda u, t, h: u * t + h * np.abs(u) + u**2 / 4,
        lambda u, t, h: u,
    ),
    "pinball": LossTerms(
        lambda z, t, h: np.where(z > t, _straight(h)[1], _straight(h)[0]) * (z - t),
        lambda z, t, h: np.where(z > t, _straight(h)[1], np.where(z < t, _straight(h)[0], 0.0)),
        None,
        lambda u, t, h: _where((u >= _straight(h)[0]) & (u <= _straight(h)[1]), u * t),
        lambda u, t, h: np.clip(u, *_straight(h)),
    ),
}
STRAIGHT = ("epsilon insensitive", "pinball")  # what has multipliers of rows near the fit


def softmax_terms(z: Floats, codes: Array) -> tuple[Floats, Floats, Floats]:
    """Loss, u and ℓ*(u) of each row; u + e_y are probabilities, ℓ* their negative entropy."""
    rows = np.arange(len(z))
    ahead = z - z[rows, codes][:, None]
    top = ahead.max(axis=1)
    q = np.exp(ahead - top[:, None])
    own = q[rows, codes]
    q[rows, codes] = 0.0
    loss = top + np.log1p((own - 1.0) + q.sum(axis=1))  # a small loss keeps its digits: then top = 0, own = 1
    q[rows, codes] = own
    q /= q.sum(axis=1, keepdims=True)
    u = q.copy()
    u[rows, codes] = 0.0
    u[rows, codes] = -u.sum(axis=1)
    logs = np.log(np.where(q > 0, q, 1.0))
    logs[rows, codes] = -loss  # log q_y, with the digits that 1 − q_y has lost
    return loss, u, np.where(q > 0, q * logs, 0.0).sum(axis=1)


class Strengths(NamedTuple):
    """Ω(w, b) = l1 Σ|w_j| + ½ l2 Σ w_j² + ½ bias b²; weights (…, d + 1) end with the intercept."""

    l1: float
    l2: float
    bias: float

    def value(self, w: Floats) -> float:
        """Ω(w, b)."""
        inner, b = w[..., :-1], w[..., -1]
        return float(self.l1 * np.abs(inner).sum() + self.l2 * (inner**2).sum() / 2 + self.bias * (b**2).sum() / 2)

    def into_domain(self, g: Floats) -> float:
        """The largest ρ ≤ 1 with Ω*(ρg) finite: without l2, |ρg_j| ≤ l1 is needed."""
        most = float(np.abs(g[..., :-1]).max(initial=0.0))
        return self.l1 / most if self.l2 == 0 < self.l1 < most else 1.0

    def conjugate(self, g: Floats) -> float:
        """Ω*(g) = Σ (|g_j| − l1)₊²/2l2 + g_b²/2bias for g in its domain, where what has no l2 adds nothing."""
        beyond = np.maximum(np.abs(g[..., :-1]) - self.l1, 0.0)
        inner = float((beyond**2).sum()) / (2 * self.l2) if self.l2 > 0 else 0.0
        return inner + (float((g[..., -1] ** 2).sum()) / (2 * self.bias) if self.bias > 0 else 0.0)

    def free(self, d: int) -> Array:
        """Which of d weights and the intercept have no penalty."""
        return np.append(np.full(d, self.l1 == 0 and self.l2 == 0), self.bias == 0)


def intercept_cost(slope: float, gap: float, value: float, far: Callable[[float], float]) -> float:
    """What a bound loses by Σ c u = `slope` ≠ 0 in a free intercept: |slope|·|b*|, for −Σ c u b* is left in it.

    `far(fall)` bounds |b*| of a minimum that is lower than `value` by `fall` at most. The fall is at most `value`, as the
    objective is never negative; and at most the gap with the cost that was found, so that each round finds a lesser one.
    """
    if slope == 0:
        return 0.0
    fall = value
    cost = slope * far(fall)
    for _ in range(ROUNDS):
        fall = float(np.minimum(fall, max(gap, 0.0) + cost))
        cost = slope * far(fall)
    return cost


def mean_score(s: Strengths, value: float, fall: float, mean: Floats, w: Floats, pair: int = 1) -> float:
    """A bound on |x̄·w*| at a minimum no more than `fall` below F(w) = `value`; `pair` = 2: w is the difference of two weights.

    By Ω(w*) ≤ F: ‖w*‖₁ ≤ F/l1 and ½l2‖w*‖² ≤ F. By strong convexity: ½l2‖w − w*‖² ≤ F(w) − F(w*) ≤ fall. A difference of two
    vectors has at most twice the square of both together.
    """
    length, bounds = float(np.linalg.norm(mean)), [np.inf]
    if s.l1 > 0:
        bounds.append(float(np.abs(mean).max(initial=0.0)) * value / s.l1)
    if s.l2 > 0:
        bounds.append(length * np.sqrt(2 * pair * value / s.l2))
        bounds.append(abs(float(mean @ w)) + length * np.sqrt(2 * pair * fall / s.l2))
    return float(np.min(bounds))


def least_margin(name: str, mean_loss: float) -> float:
    """The least m̄ of rows that lose `mean_loss` on average at most: ℓ(m̄) ≤ mean of ℓ(m), by Jensen's inequality."""
    if name == "log":  # log(1 + e^−m) = L
        return float(-np.log(np.expm1(mean_loss))) if mean_loss < 700 else -mean_loss
    if name not in ("hinge", "squared hinge"):
        raise ValueError(f"there is no loss {name!r} of margins")
    return 1.0 - mean_loss if name == "hinge" else 1.0 - float(np.sqrt(mean_loss))


def farthest_target(name: str, mean_loss: float, width: float) -> float:
    """The most |z̄ − t̄| of rows that lose `mean_loss` on average at most, by Jensen's inequality: r²/2 = L, or h|r| − h²/2 ≤ L for Huber's loss."""
    if name == "pinball":
        return mean_loss / min(width, 1.0 - width)
    if name.endswith("epsilon insensitive"):
        return width + (mean_loss if name in STRAIGHT else float(np.sqrt(mean_loss)))
    return mean_loss / width + width / 2 if name == "huber" else float(np.sqrt(2 * mean_loss))


class RowMoments(NamedTuple):
    """Weights (K,) and means (K, d) of the classes (regression: one), the mean and mean square of the columns about it.

    `origin`: where rows are counted from; `spread`: the root mean square of a target of numbers about its mean.
    """

    weight: Floats
    means: Floats
    centre: Floats
    scale: Floats
    target: float
    origin: Floats
    spread: float = 1.0

    def weights(self, w: Floats, less: float = 0.0) -> Floats:
        """Weights (…, d + 1) about zero as those of x − origin, for scores less a number."""
        out = w.copy()
        out[..., -1] += w[..., :-1] @ self.origin - less
        large = np.abs(w[..., :-1]) @ np.abs(self.origin) + np.abs(w[..., -1])
        if np.isfinite(out).all() and large.max(initial=0.0) > LARGE:
            for at in np.ndindex(out.shape[:-1]):
                terms = (Fraction(o) * Fraction(v) for o, v in zip(self.origin.tolist(), w[at][:-1].tolist()))
                out[at][-1] = float(sum(terms, Fraction(float(w[at][-1])) - Fraction(less)))
        return out


def blocks(claim: Claim, rows: CheckedRows, origin: Floats | None = None) -> Iterator[tuple[Any, Array, Array]]:
    """(X, codes or numbers, weights) of each block."""
    return (block[:3] for block in numbered_blocks(claim, rows, origin))


def numbered_blocks(
    claim: Claim, rows: CheckedRows, origin: Floats | None = None
) -> Iterator[tuple[Any, Array, Array, int]]:
    """The same with the number of the first row; X is x − origin."""
    w = claim.witness
    factor = np.asarray(w["class_factor"], dtype=np.float64)
    if not (np.isfinite(factor).all() and np.all(factor > 0)) or (w["classes"] is None and np.any(factor != 1.0)):
        raise ValueError("the weights of the classes are not possible")
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        weight = np.ones(len(block.y)) if block.w is None else block.w
        X = _counted_from(block.X, origin)
        if w["classes"] is None:
            yield X, np.asarray(block.y, dtype=np.float64), weight, block.start
            continue
        codes = codes_of(block.y, w["classes"])
        yield X, codes, weight * factor[codes], block.start


def _counted_from(X: Any, origin: Floats | None) -> Any:
    if isinstance(X, CsrBlock):
        if X.n_columns > NARROW:
            return X.with_data(X.data.astype(np.float64, copy=False))
        X = X.toarray()
    X = X.astype(np.float64, copy=False)
    return X if origin is None or not origin.any() else X - origin


def shape_of(claim: Claim, rows: CheckedRows, centred: bool) -> RowMoments:
    """Two passes: the means, then the spread about them; a third where the rounding of a mean would show in that."""
    K = 1 if claim.witness["classes"] is None else len(claim.witness["classes"])
    d, wide = rows.n_columns, rows.sparse and rows.n_columns > NARROW
    weight, sums, target = np.zeros(K), np.zeros((K, d)), 0.0
    for X, codes, c in blocks(claim, rows):
        classes = np.zeros(len(codes), dtype=int) if claim.witness["classes"] is None else codes
        weight += np.bincount(classes, c, minlength=K)
        sums += back(X, np.where(classes[:, None] == np.arange(K), c[:, None], 0.0)).T
        target += float(c @ codes) if claim.witness["classes"] is None else 0.0
    n = float(weight.sum())
    if not n > 0:
        raise ValueError("there are no rows of positive weight")
    if claim.witness["balanced"]:
        raw = weight / np.asarray(claim.witness["class_factor"], dtype=np.float64)
        if not np.allclose(weight, raw.sum() / K, rtol=1e-9):
            raise ValueError("the weights of the classes do not balance these rows")
    mean = sums.sum(axis=0) / n
    origin, centre = np.zeros(d) if wide else mean, mean if centred else np.zeros(d)
    sums, squares = _about(claim, rows, K, origin, centre)
    left = sums.sum(axis=0) / n
    if centred and not wide and np.any(left**2 * n > FINE * squares):  # a column of one number must lie on its centre
        origin = centre = centre + left
        sums, squares = _about(claim, rows, K, origin, centre)
    means = np.divide(sums, weight[:, None], out=np.zeros_like(sums), where=weight[:, None] > 0) + (origin - centre)
    scale = np.sqrt(np.maximum(squares, 0.0) / n)
    noise = 16 * (np.sqrt(EPS) if wide else EPS) * np.abs(centre)  # so far rounding spreads a column that never varies
    spread = _spread(claim, rows, target / n) if claim.witness["classes"] is None else 1.0
    return RowMoments(weight, means, centre, np.where(scale > noise, scale, 1.0), target / n, origin, spread)


def _spread(claim: Claim, rows: CheckedRows, mean: float) -> float:
    """Of a target of one number 1, whatever the rounding of its mean."""
    squares = total = 0.0
    least, most = np.inf, -np.inf
    for _, y, c in blocks(claim, rows):
        squares, total = squares + float(c @ (y - mean) ** 2), total + float(c.sum())
        there = y[c > 0]
        least, most = min(least, there.min(initial=np.inf)), max(most, there.max(initial=-np.inf))
    return float(np.sqrt(squares / total)) if squares > 0 and least < most else 1.0


def _about(claim: Claim, rows: CheckedRows, K: int, origin: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Σ c (x − origin) of each class and Σ c (x − centre)² of all rows."""
    sums, squares = np.zeros((K, rows.n_columns)), np.zeros(rows.n_columns)
    for X, codes, c in blocks(claim, rows, origin):
        classes = np.zeros(len(codes), dtype=int) if claim.witness["classes"] is None else codes
        sums += back(X, np.where(classes[:, None] == np.arange(K), c[:, None], 0.0)).T
        if isinstance(X, CsrBlock):
            squares += back(X.with_data(X.data**2), c) - 2 * centre * back(X, c) + c.sum() * centre**2
        else:
            squares += c @ (X + (origin - centre)) ** 2
    return sums, squares
