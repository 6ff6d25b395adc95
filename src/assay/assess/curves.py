"""Curves of a score s against the truth of two classes: ROC, precision and recall, what each threshold costs, and the area under the ROC.

Rows with equal scores enter together: a point for every distinct score, none between ("positive" means s ≥ threshold). The area has
the variance of DeLong, DeLong and Clarke-Pearson (1988):

    AUC = P(s⁺ > s⁻) + ½ P(s⁺ = s⁻),    v_i = share of rows of the other side that row i is ranked rightly against

    var AUC = s²(v⁺)/n⁺ + s²(v⁻)/n⁻,    interval: logit AUC ± z·√var / (AUC(1 − AUC))

On the logit scale few rows are served better than by AUC ± z·√var, and the ends stay between 0 and 1.
One sort gives all v_i. With K classes the mean of the K one-against-rest areas is a sum over rows again; its variance is
Σ_k n_k·s²_k of the rows' shares in it, and for two classes that is DeLong's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.score import Score, around, bounded_mean, check_confidence, plain, proportion, same_length, score
from assay.certify.held_out import Interval
from assay.errors import DataError, ParameterError
from assay.numerics import Array, Floats

SHOWN = 400  # points of a curve that goes into JSON


def positives(y: Any, positive: Any = None) -> Array:
    """Which rows are of the positive class: the one named, else the greater of the two.

    >>> positives(["no", "yes", "no"]).tolist()
    [False, True, False]
    """
    y = np.asarray(y)
    if positive is None:
        known = np.unique(y)
        if len(known) != 2:
            raise DataError(
                f"A curve needs rows of two classes, got {len(known)}: {known[:5].tolist()}. Name the positive one."
            )
        positive = known[1]
    found: Array = y == positive
    if found.all() or not found.any():
        raise DataError(
            f"{'All' if found.all() else 'No'} rows are of the positive class {positive!r}: there is no curve."
        )
    return found


def _counts(positive: Array, s: Any) -> tuple[Floats, Array, Array]:
    """Distinct thresholds downwards, and true and false positives at each."""
    s = np.asarray(s, dtype=np.float64)
    same_length(y=positive, scores=s)
    if np.isnan(s).any():
        raise DataError(f"Score of row {int(np.flatnonzero(np.isnan(s))[0])} is NaN: a curve needs a score a row.")
    order = np.argsort(s)[::-1]  # ties count together, so their order does not matter
    ranked = s[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(s) - 1)
    tp = np.cumsum(positive[order])[last]
    return ranked[last], tp, last + 1 - tp


def _thinned(n: int, most: int) -> Array:
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


@dataclass(frozen=True)
class ThresholdCurve:
    """Points (x, y) with the threshold of each, and the area under it."""

    x: Floats
    y: Floats
    thresholds: Floats
    area: Score

    def to_data(self, most: int = SHOWN) -> Any:
        """Plain lists for JSON, of at most so many points; a threshold of infinity (nothing is positive) is None."""
        at = _thinned(len(self.x), most)
        return plain(replace(self, x=self.x[at], y=self.y[at], thresholds=self.thresholds[at]))


def roc(y: Any, s: Any, *, positive: Any = None, confidence: float = 0.95) -> ThresholdCurve:
    """x: false positive rate, y: true positive rate, from (0, 0) to (1, 1).

    >>> roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).area.value
    0.75
    """
    truth = positives(y, positive)
    cuts, tp, fp = _counts(truth, s)
    return ThresholdCurve(
        np.append(0.0, fp / fp[-1]),
        np.append(0.0, tp / tp[-1]),
        np.append(np.inf, cuts),
        binary_auc(truth, np.asarray(s, dtype=np.float64), check_confidence(confidence)),
    )


def precision_recall(y: Any, s: Any, *, positive: Any = None, confidence: float = 0.95) -> ThresholdCurve:
    """x: recall, y: precision, from recall 0 upwards; the area is the average precision Σ (r_i − r_{i−1})·p_i.

    No line is drawn between points (precision is not linear in between, Davis and Goadrich 2006). The interval is that of
    Boyd, Eng and Page (2013): logit(area) ± z/√(n⁺·area·(1 − area)).
    """
    truth = positives(y, positive)
    cuts, tp, fp = _counts(truth, s)
    recall, precision = tp / tp[-1], tp / (tp + fp)
    area = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    inside = min(max(area, 0.5 / tp[-1]), 1 - 0.5 / tp[-1]) if tp[-1] > 1 else 0.5  # an area of 1 has no logit
    within = logit_interval(inside, math.sqrt(inside * (1 - inside) / tp[-1]), check_confidence(confidence))
    found = score("average precision", area, within, "approximate", "high", len(truth))
    return ThresholdCurve(np.append(0.0, recall), np.append(1.0, precision), np.append(np.inf, cuts), found)


@dataclass(frozen=True)
class Thresholds:
    """At each threshold (s ≥ threshold is positive): counts, precision, recall, F1, mean cost; `best` is the cheapest one.

    `best_cost` is its cost: `exact` where measured on rows held out from the choice, else `approximate` and optimistic.
    """

    thresholds: Floats
    tp: Array
    fp: Array
    fn: Array
    tn: Array
    precision: Floats
    recall: Floats
    f1: Floats
    cost: Floats
    best: float
    best_cost: Score

    def to_data(self, most: int = SHOWN) -> Any:
        """Plain lists for JSON, of at most so many thresholds."""
        at = _thinned(len(self.thresholds), most)
        thinned: dict[str, Any] = {k: v[at] for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        return plain(replace(self, **thinned))


def thresholds(
    y: Any,
    s: Any,
    *,
    costs: tuple[float, float] = (1.0, 1.0),
    held_out: tuple[Any, Any] | None = None,
    positive: Any = None,
    confidence: float = 0.95,
) -> Thresholds:
    """All thresholds of a score, and the cheapest for `costs` = (of a false positive, of a false negative).

    The threshold that looks cheapest on some rows looks cheaper there than it is: choose it on these rows, and give others,
    `held_out` = (y, s), to measure it on. Without them `best_cost` is optimistic.

    >>> thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], costs=(1, 5)).best
    0.35
    """
    cost_fp, cost_fn = (float(c) for c in costs)
    if not (cost_fp >= 0 and cost_fn >= 0 and 0 < cost_fp + cost_fn < math.inf):
        raise ParameterError(f"costs={costs!r}: give the costs of a false positive and of a false negative, both ≥ 0.")
    if positive is None:
        positive = np.unique(np.asarray(y))[-1]
    truth = positives(y, positive)
    cuts, tp, fp = _counts(truth, s)
    cuts, tp, fp = np.append(np.inf, cuts), np.append(0, tp), np.append(0, fp)
    fn, tn = tp[-1] - tp, fp[-1] - fp
    cost = (cost_fp * fp + cost_fn * fn) / len(truth)
    best = float(cuts[int(np.argmin(cost))])
    judged, against = (truth, s) if held_out is None else (np.asarray(held_out[0]) == positive, held_out[1])
    called = np.asarray(against, dtype=np.float64) >= best
    same_length(y=judged, scores=called)
    each = cost_fp * (called & ~judged) + cost_fn * (~called & judged)
    within = bounded_mean(each, 0.0, max(cost_fp, cost_fn), check_confidence(confidence))
    kind: Any = "approximate" if held_out is None else "exact"
    precision = np.divide(tp, tp + fp, out=np.ones(len(tp)), where=tp + fp > 0)
    f1 = 2 * tp / (2 * tp + fp + fn)
    found = score("cost", each.mean(), within, kind, "low", len(each))
    return Thresholds(cuts, tp, fp, fn, tn, precision, tp / tp[-1], f1, cost, best, found)


def binary_auc(positive: Array, s: Array, confidence: float = 0.95, name: str = "AUC") -> Score:
    """The area for scores `s` that should be greater where `positive`.

    >>> binary_auc(np.array([0, 0, 1, 1], bool), np.array([0.1, 0.4, 0.35, 0.8])).value
    0.75
    """
    positive = np.asarray(positive, dtype=bool)
    if positive.all() or not positive.any():
        raise DataError("The AUC needs rows of both classes: these rows hold only one.")
    v = placements(positive, s)
    return _scored(name, float(v[positive].mean()), v / np.where(positive, positive.sum(), (~positive).sum()), positive.astype(np.int64), confidence)  # fmt: skip


def macro_auc(codes: Array, S: Array, confidence: float = 0.95, name: str = "AUC (macro, one against rest)") -> Score:
    """The mean over the classes present of the areas of column k of S (n, K) for class k against all others."""
    present = [k for k in range(S.shape[1]) if 0 < int((codes == k).sum()) < len(codes)]
    if not present:
        raise DataError("The AUC needs rows of two classes at least: these rows hold only one.")
    if S.shape[1] == 2 and len(present) == 2:
        return binary_auc(codes == 1, S[:, 1], confidence, "AUC")
    area, shares = 0.0, np.zeros(len(codes))
    for k in present:
        positive = codes == k
        v = placements(positive, S[:, k])
        area += float(v[positive].mean()) / len(present)
        shares += v / np.where(positive, positive.sum(), (~positive).sum()) / len(present)
    return _scored(name, area, shares, codes, confidence)


def placements(positive: Array, s: Array) -> Floats:
    """v_i (n,): of a positive row the share of negatives below it, of a negative the share of positives above; ties count ½."""
    positive = np.asarray(positive, dtype=bool)
    n, n_pos = len(positive), int(positive.sum())
    order = np.argsort(s)  # ties count together, so their order does not matter
    ranked, truth = np.asarray(s)[order], positive[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]) + 1, n)  # one past each run of ties
    below = np.append(0, np.cumsum(truth)[ends - 1])  # positives before each run, and after the last
    starts = np.append(0, ends[:-1])
    pos_mid = (below[:-1] + below[1:]) / 2
    neg_mid = (starts - below[:-1] + ends - below[1:]) / 2
    run = np.repeat(np.arange(len(ends)), ends - starts)
    v = np.empty(n)
    v[order] = np.where(truth, neg_mid[run] / max(1, n - n_pos), 1 - pos_mid[run] / max(1, n_pos))
    return v


def _scored(name: str, area: float, shares: Floats, strata: Array, confidence: float) -> Score:
    counts = np.bincount(strata - strata.min())
    variance = 0.0
    for k, n_k in enumerate(counts):
        if n_k > 1:
            variance += n_k * float(shares[strata - strata.min() == k].var(ddof=1))
    least = int(counts[counts > 0].min())
    if variance < 1e-15 or least < 2 or not 0 < area < 1:
        within = _widest(area, least, confidence)
    else:
        within = logit_interval(area, math.sqrt(variance), confidence)
    return score(name, area, within, "approximate", "high", len(strata))


def logit_interval(value: float, error: float, confidence: float = 0.95) -> Interval:
    """The ends of logit(value) ± z·error/(value(1 − value)), brought back."""
    room = value * (1 - value)
    ends = around(math.log(value / (1 - value)), error / room, math.inf, confidence)
    return Interval(*(1 / (1 + math.exp(-min(max(end, -700.0), 700.0))) for end in ends))


def _widest(area: float, least: int, confidence: float) -> Interval:
    """The interval where no variance shows (a perfect ranking): of all a with (a − area)² ≤ z²·a(1 − a)/min(n⁺, n⁻).

    a(1 − a)/min(n⁺, n⁻) is the greatest variance an area can have (van Dantzig 1951); the formula is then Wilson's.
    """
    z = around(0.0, 1.0, math.inf, confidence).high
    centre, shrink = area + z * z / (2 * least), 1 + z * z / least
    half = z * math.sqrt(area * (1 - area) / least + z * z / (4 * least * least))
    return Interval((centre - half) / shrink, (centre + half) / shrink)


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
