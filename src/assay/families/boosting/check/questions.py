"""Every question between the bins that a node could ask, and what the best of them gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify.rows import Array, Floats, between_0_and_1, row_keys
from assay.families.trees.check.witness import Stated, category_codes, edges_of

if TYPE_CHECKING:
    from assay.families.boosting.check.replay import Replay

SAMPLE = 50_000  # rows of which quantiles are taken
GONE = 255


class BinnedRows(NamedTuple):
    """edges of each column's bins, found again in the rows; codes (d, n), GONE where a value is missing."""

    edges: list[Floats]
    codes: Array

    @classmethod
    def of(cls, t: dict[str, Any], stated: Stated, X: Floats, given: Floats) -> BinnedRows:
        n, d = X.shape
        most = int(t["max_bins"])
        if not 2 <= most <= GONE:
            raise ValueError(f"{most} bins that cannot be")
        picked = np.arange(n)
        if n > SAMPLE:
            picked = ((np.arange(SAMPLE) + between_0_and_1(row_keys(SAMPLE, 0))) * (n / SAMPLE)).astype(np.int64)
        picked = picked[given[picked] > 0]
        edges, codes = [], np.empty((d, n), np.uint8)
        for j in range(d):
            x = X[:, j]
            if stated.levels[j]:
                code, known = category_codes(stated, x, np.full(n, j))
                edges.append(np.zeros(0))
                codes[j] = np.where(known, code, GONE)
                continue
            some = x[picked]
            edges.append(edges_of(np.sort(some[~np.isnan(some)]), most))
            codes[j] = np.where(np.isnan(x), GONE, np.searchsorted(edges[j], x))
        return cls(edges, codes)


def best_gain(
    play: Replay, rows: Array, g: Floats, h: Floats, columns: list[int], bounds: Floats, whole: tuple[float, float]
) -> tuple[float, float]:
    """(the greatest gain of any admissible question at a node with these rows, how far rounding may put it)."""
    t, stated = play.t, play.stated
    G, H = whole
    own = play._worth(G, H, play._answers(np.array([G]), np.array([H]), bounds[None])[0])
    best, slack = -np.inf, 0.0
    for j in columns:
        code = play.binned.codes[j][rows]
        sums = np.stack([np.bincount(code, p, 256) for p in (g[rows], h[rows], np.ones(len(rows)))])
        lost, sums = sums[:, GONE], sums[:, :GONE]
        by_set, l2 = bool(stated.levels[j]), play.l2
        if by_set:
            there = np.flatnonzero(sums[2] >= max(1.0, float(t["cat_smooth"])))
            key = sums[0][there] / (sums[1][there] + float(t["cat_smooth"]))
            sums = sums[:, there[np.argsort(key, kind="stable")]]
            l2 += float(t["cat_l2"])
        run = np.cumsum(sums, axis=1)
        for added in (np.zeros(3), lost) if lost[2] else (np.zeros(3),):
            a, c, m = run + added[:, None]
            found, off = _gains(
                play, a, c, m, (G, H, float(len(rows))), l2, bounds, 0 if by_set else int(stated.trend[j])
            )
            if len(found) and found.max() - own > best:
                best, slack = float(found.max() - own), float(off[int(np.argmax(found))])
    return best, slack


def _gains(
    play: Replay, a: Floats, c: Floats, m: Floats, whole: tuple[float, float, float], l2: float, bounds: Floats, trend: int
) -> tuple[Floats, Floats]:  # fmt: skip
    G, H, n = whole
    t, light = play.t, float(play.t["light"])
    tight = n * play.u[1]  # a side so near the least curvature may count as below it
    good = (m >= int(t["least"])) & (n - m >= int(t["least"])) & (c >= light + tight) & (H - c >= light + tight)
    if play.l2 == 0:
        good &= (c > tight) & (H - c > tight)
    a, c, m = a[good], c[good], m[good]
    if not play.stated.trend.any():
        from assay.families.boosting.check.replay import soft

        value = soft(a, play.l1) ** 2 / (c + l2) + soft(G - a, play.l1) ** 2 / (H - c + l2)
    else:
        many = np.tile(bounds, (len(a), 1))
        before, play.l2 = play.l2, l2
        left, right = play._answers(a, c, many), play._answers(G - a, H - c, many)
        value = play._worth(a, c, left) + play._worth(G - a, H - c, right)
        play.l2 = before
        if trend:
            value = np.where(trend * (right - left) > 0, value, -np.inf)
    return value, play._room(a, c, m) + play._room(G - a, H - c, n - m)
