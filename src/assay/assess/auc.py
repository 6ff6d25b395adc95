"""The area under the ROC curve, with the variance of DeLong, DeLong and Clarke-Pearson (1988).

    AUC = P(s⁺ > s⁻) + ½ P(s⁺ = s⁻),    v_i = share of rows of the other side that row i is ranked rightly against

    var AUC = s²(v⁺)/n⁺ + s²(v⁻)/n⁻,    interval: logit AUC ± z·√var / (AUC(1 − AUC))

On the logit scale few rows are served better than by AUC ± z·√var, and the ends stay between 0 and 1.
One sort gives all v_i. With K classes the mean of the K one-against-rest areas is a sum over rows again; its variance is
Σ_k n_k·s²_k of the rows' shares in it, and for two classes that is DeLong's.
"""

from __future__ import annotations

import math

import numpy as np

from assay.assess.means import around
from assay.assess.score import Score, score
from assay.certify.intervals import Interval
from assay.errors import DataError
from assay.numerics import Array, Floats


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
