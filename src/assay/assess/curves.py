"""Curves of a score s against the truth of two classes: ROC, precision and recall, and what each threshold costs.

Rows with equal scores enter together: a point for every distinct score, none between ("positive" means s ≥ threshold).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.auc import binary_auc, logit_interval
from assay.assess.means import bounded_mean
from assay.assess.score import Score, check_confidence, plain, same_length, score
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
class Curve:
    """Points (x, y) with the threshold of each, and the area under it."""

    x: Floats
    y: Floats
    thresholds: Floats
    area: Score

    def to_data(self, most: int = SHOWN) -> Any:
        """Plain lists for JSON, of at most so many points; a threshold of infinity (nothing is positive) is None."""
        at = _thinned(len(self.x), most)
        return plain(replace(self, x=self.x[at], y=self.y[at], thresholds=self.thresholds[at]))


def roc(y: Any, s: Any, *, positive: Any = None, confidence: float = 0.95) -> Curve:
    """x: false positive rate, y: true positive rate, from (0, 0) to (1, 1).

    >>> roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).area.value
    0.75
    """
    truth = positives(y, positive)
    cuts, tp, fp = _counts(truth, s)
    return Curve(
        np.append(0.0, fp / fp[-1]),
        np.append(0.0, tp / tp[-1]),
        np.append(np.inf, cuts),
        binary_auc(truth, np.asarray(s, dtype=np.float64), check_confidence(confidence)),
    )


def precision_recall(y: Any, s: Any, *, positive: Any = None, confidence: float = 0.95) -> Curve:
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
    return Curve(np.append(0.0, recall), np.append(1.0, precision), np.append(np.inf, cuts), found)


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
