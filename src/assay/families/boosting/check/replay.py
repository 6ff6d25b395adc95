"""A fit played again: scores, slopes, the rows that reach each leaf, and the sums of all nodes; what does not agree is noted.

Slopes and curvatures are counted in whole units when trees are grown: u = 2^e / 2^(50 − b) of slopes below 2^e, b the bits of the number of rows (of
curvatures min(50, 62 − b) in place of 50). What is stated may differ from sums of the numbers as they are by so much, and by rounding.
"""

from __future__ import annotations

from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np

from assay.certify.rows import Array, CheckedRows, Floats, between_0_and_1, codes_of, row_keys
from assay.families.boosting.check.derivatives import (
    OF_QUANTILES,
    derivatives,
    quantile_problem,
    sample_of,
    start_problem,
)
from assay.families.trees.check.witness import (
    Stated,
    StatedTree,
    category_codes,
    class_factors,
    down,
    edges_of,
    levels_of,
    stated_trees,
    up,
)

SAMPLE = 50_000  # rows of which quantiles are taken
GONE = 255
NEAR = 1e-8
HELD_OUT = 77  # added to the seed by which rows are held out


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


def soft(g: Any, l1: float) -> Any:
    """sign(g) max(|g| − l1, 0)."""
    return np.sign(g) * np.maximum(np.abs(g) - l1, 0.0)


class Replay:
    """losses (s + 1,): training losses; held (s + 1,) and its last rows' losses; problems by the name of the check that they are of."""

    def __init__(self, t: dict[str, Any], rows: CheckedRows) -> None:
        self.t, self.problem = t, {"boosting_losses": "", "boosting_leaves": "", "boosting_splits": ""}
        self.stated = _stated(t, rows.n_columns)
        self.X = np.concatenate([block.X for block in rows.blocks()]).astype(np.float64)
        self.n, self.d = self.X.shape
        self._read(rows)
        self.l1, self.l2 = float(t["l1"]), float(t["l2"])
        start, steps = np.asarray(t["baseline"], np.float64), np.asarray(t["step"], np.float64)
        self.K, self.searched, self.gains_seen, self.leaves_seen = len(start), 0, 0, 0
        if len(self.stated.trees) != self.K * len(steps) or len(np.asarray(t["loss_curve"])) != len(steps) + 1:
            raise ValueError("trees, steps and losses that do not fit together")
        if (1 if self.stated.K <= 2 else self.stated.K) != self.K or np.any((steps < 0) | (steps > 1)):
            raise ValueError("constants or steps that cannot be")
        there = self.w > 0
        if start_problem(t, self.y[there], self.w[there], start, self.K):
            self._note("boosting_losses", "the constant that the scores begin with is not the best one")
        self.binned = BinnedRows.of(t, self.stated, self.X, self.given)
        self._note_cuts()
        wanted = None if t["searched"] is None else {int(k) for k in np.asarray(t["searched"])}
        self._play(start, steps, wanted)

    def _note(self, check: str, problem: str) -> None:
        self.problem[check] = self.problem[check] or problem

    def _read(self, rows: CheckedRows) -> None:
        pieces = list(rows.targets())
        if not pieces or any(p.y is None for p in pieces):
            raise ValueError("there are no rows with a target")
        y: Any = np.concatenate([p.y for p in pieces if p.y is not None])
        given = None if pieces[0].w is None else np.concatenate([p.w for p in pieces if p.w is not None])
        self.given = np.ones(len(y)) if given is None else given.astype(np.float64)
        w = self.given
        classes = self.stated.classes
        if classes is None:
            self.y: Floats = y.astype(np.float64)
        else:
            codes = codes_of(y, classes)
            if self.stated.class_weight is not None:
                counts = np.bincount(codes, weights=w, minlength=len(classes)).astype(np.float64)
                w = w * class_factors(self.stated.class_weight, classes, counts)[codes]
            self.y = codes.astype(np.float64)
        share = float(self.t["held_out"])
        out, counted = np.zeros(len(y), bool), np.flatnonzero(w > 0)
        out[counted] = between_0_and_1(row_keys(len(counted), int(self.t["seed"]) + HELD_OUT)) < share
        self.w, self.held_w = np.where(out, 0.0, w), np.where(out, w, 0.0)
        if not self.w.sum() > 0 or (share > 0 and not self.held_w.sum() > 0):
            raise ValueError("there are no rows of positive weight")

    def _note_cuts(self) -> None:
        for tree in self.stated.trees:
            for node in tree.splits[tree.by_set[tree.splits] < 0]:
                edges = self.binned.edges[int(tree.column[node])]
                if tree.cut[node] != np.inf and tree.cut[node] not in edges:
                    self._note("boosting_splits", f"a threshold {tree.cut[node]:.6g} lies between no two bins")
                    return

    # --- stages ---------------------------------------------------------------------------------------------------------

    def _play(self, start: Floats, steps: Floats, wanted: set[int] | None) -> None:
        t, K, n = self.t, self.K, self.n
        bits = n.bit_length()
        shift = min(50, 62 - bits)
        total, first = np.zeros((K, n)), 0
        losses, held = [], []
        gains = np.asarray(t["gain"], np.float64)
        for s in range(len(steps) + 1):
            value, slope, curvature = derivatives(t, self.y, total + start[:, None])
            losses.append(float(np.average(value[self.w > 0], weights=self.w[self.w > 0])))
            if self.held_w.any():
                held.append(float(np.average(value[self.held_w > 0], weights=self.held_w[self.held_w > 0])))
            if s == len(steps):
                break
            w, columns = sample_of(t, s, self.d, self.w, slope, curvature)
            tops = [float(np.abs(x * (w if t.get("by_gradient") else self.w)).max()) for x in (slope, curvature)]
            self.u = [ldexp(1.0, frexp(max(top, 1e-300))[1] - room + bits + 1) for top, room in zip(tops, (50, shift))]
            for k in range(K):
                tree = self.stated.trees[s * K + k]
                own = gains[first : first + len(tree.splits)]
                leaf = down(self.stated, tree, self.X, np.arange(n))
                self._tree(
                    tree,
                    own,
                    leaf,
                    slope[k],
                    curvature[k],
                    w,
                    columns,
                    float(steps[s]),
                    first,
                    wanted,
                    total[k] + start[k],
                )
                total[k] += tree.table[tree.number[leaf], 0]
                first += len(tree.splits)
        self.value, self.losses, self.held = value, np.array(losses), np.array(held)

    def _tree(
        self,
        tree: StatedTree,
        gains: Floats,
        at: Array,
        slope: Floats,
        curvature: Floats,
        w: Floats,
        columns: Array,
        step: float,
        first: int,
        wanted: set[int] | None,
        scores: Floats,
    ) -> None:
        leaf, L = tree.number[at], len(tree.table)
        levels = levels_of(tree)
        parts = np.stack([w * slope, w * curvature, (w > 0).astype(np.float64), w])
        G, H, m, W = (up(tree, levels, np.bincount(leaf, p, L)) for p in parts)
        bounds = self._bounds(tree, levels, G, H)
        answers = self._answers(G, H, bounds)
        self._check_leaves(tree, leaf, w, G, H, m, W, answers, step, scores)
        self._check_gains(tree, gains, columns, G, H, m, answers)
        self._search(
            tree, gains, at, levels, slope * w, curvature * w, w > 0, columns, first, wanted, (G, H, m), bounds
        )

    def _answers(self, G: Floats, H: Floats, bounds: Floats) -> Floats:
        full = H + self.l2
        free = -soft(G, self.l1) / np.where(full > 0, full, 1.0)
        return np.clip(np.where(full > 0, free, 0.0), bounds[:, 0], bounds[:, 1])

    def _bounds(self, tree: StatedTree, levels: list[Array], G: Floats, H: Floats) -> Floats:
        """A split on a column with a trend parts what its sides may answer halfway between their answers."""
        bounds = np.tile([-np.inf, np.inf], (len(tree.column), 1))
        for here in levels if self.stated.trend.any() else ():
            split = here[tree.column[here] >= 0]
            left, right = split + 1, tree.right[split]
            bounds[left] = bounds[right] = bounds[split]
            trend = np.where(tree.by_set[split] < 0, self.stated.trend[tree.column[split]], 0)
            sides = [self._answers(G[x], H[x], bounds[split]) for x in (left, right)]
            middle = 0.5 * (sides[0] + sides[1])
            rising, falling = trend > 0, trend < 0
            bounds[left[rising], 1] = bounds[right[rising], 0] = middle[rising]
            bounds[left[falling], 0] = bounds[right[falling], 1] = middle[falling]
        return bounds

    def _check_leaves(
        self, tree: StatedTree, leaf: Array, w: Floats, G: Floats, H: Floats, m: Floats, W: Floats, answers: Floats, step: float, scores: Floats
    ) -> None:  # fmt: skip
        own, rate = tree.leaves, float(self.t["rate"]) * step
        stated, weight = tree.table[:, 0], tree.table[:, 1]
        self.leaves_seen += len(own)
        if not np.allclose(weight, np.maximum(W[own], 1e-300), rtol=NEAR, atol=0):
            self._note("boosting_leaves", "a leaf states another weight than that of the rows that reach it")
        if self.t["loss"] in OF_QUANTILES:
            q = float(self.t["quantile"]) if self.t["loss"] == "quantile" else 0.5
            residual = self.y - scores
            for k in range(len(own)):
                mine = (leaf == k) & (w > 0)
                if not mine.any() or rate == 0:
                    bad = stated[k] != 0
                else:
                    bad = quantile_problem(residual[mine], w[mine], q, stated[k] / rate)
                if bad:
                    self._note("boosting_leaves", f"a leaf adds {stated[k]:.9g}, no quantile of what was left")
            return
        due = rate * answers[own]
        full = np.maximum(H[own] + self.l2, 1e-300)
        room = rate * (
            m[own] * (self.u[0] + np.abs(answers[own]) * self.u[1]) / full
            + NEAR * (np.abs(answers[own]) + np.abs(G[own]) / full)
        )
        if self.stated.trend.any():  # a bound is the mean of two such answers
            room = room.max() * np.ones_like(room) * 2
        bad = np.flatnonzero(~(np.abs(stated - due) <= room))
        if len(bad):
            k = int(bad[0])
            self._note("boosting_leaves", f"a leaf adds {stated[k]:.9g} where the Newton step is {due[k]:.9g}")

    def _worth(self, G: Any, H: Any, answer: Any) -> Any:
        return -(2 * G * answer + (H + self.l2) * answer**2 + 2 * self.l1 * np.abs(answer))

    def _room(self, G: Any, H: Any, m: Any) -> Any:
        """How far units and rounding may put S(G)² / (H + l2)."""
        full = np.maximum(H + self.l2, 1e-300)
        part = np.abs(G) / full
        return m * (2 * part * self.u[0] + part**2 * self.u[1]) + NEAR * part * np.abs(G)

    def _check_gains(
        self, tree: StatedTree, gains: Floats, columns: Array, G: Floats, H: Floats, m: Floats, answers: Floats
    ) -> None:
        s = tree.splits
        self.gains_seen += len(s)
        left, right = s + 1, tree.right[s]
        worth, room = self._worth(G, H, answers), self._room(G, H, m)
        due = worth[left] + worth[right] - worth[s]
        # the penalty of splits by categories counts against them
        sets = tree.by_set[s] >= 0
        more = self.l2 + float(self.t["cat_l2"])
        for k in np.flatnonzero(sets).tolist():
            pair = [soft(G[x[k]], self.l1) ** 2 / (H[x[k]] + more) for x in (left, right)]
            due[k] = pair[0] + pair[1] - worth[s[k]]
        slack = 2 * (room[left] + room[right] + room[s])
        if np.any(~(np.abs(gains - due) <= slack)):
            worst = int(np.flatnonzero(~(np.abs(gains - due) <= slack))[0])
            self._note(
                "boosting_splits", f"a split states a gain of {gains[worst]:.9g} where it gains {due[worst]:.9g}"
            )
        least = float(self.t["min_gain"])
        if np.any(gains < least - slack) or not np.isin(tree.column[s], columns).all():
            self._note(
                "boosting_splits", "a split gains too little, or asks about a column that the stage did not have"
            )
        if np.any(np.minimum(m[left], m[right]) < int(self.t["least"])):
            self._note("boosting_splits", "a split leaves fewer rows on a side than it may")
        light = float(self.t["light"])
        if np.any(np.minimum(H[left] + m[left] * self.u[1], H[right] + m[right] * self.u[1]) < light * (1 - NEAR)):
            self._note("boosting_splits", "a split leaves less curvature on a side than it may")

    def _search(
        self, tree: StatedTree, gains: Floats, at: Array, levels: list[Array], g: Floats, h: Floats, seen: Array, columns: Array,
        first: int, wanted: set[int] | None, sums: tuple[Floats, Floats, Floats], bounds: Floats,
    ) -> None:  # fmt: skip
        """Of the wanted splits every question between the bins is tried again."""
        s = tree.splits
        chosen = [k for k in range(len(s)) if wanted is None or first + k in wanted]
        if not chosen:
            return
        ends = np.arange(len(tree.column)) + 1
        for here in reversed(levels):
            inner = here[tree.column[here] >= 0]
            ends[inner] = ends[tree.right[inner]]
        paths = _paths(tree, levels)
        G, H, m = sums
        room = self._room(G, H, m)
        for k in chosen:
            node = int(s[k])
            rows = np.flatnonzero((at >= node) & (at < ends[node]) & seen)
            allowed = self._allowed(columns, paths[node])
            found, slack = best_gain(self, rows, g, h, allowed, bounds[node], (float(G[node]), float(H[node])))
            self.searched += 1
            if found > gains[k] + 4 * room[node] + slack:
                self._note("boosting_splits", f"a split gains {gains[k]:.9g} where another would gain {found:.9g}")

    def _allowed(self, columns: Array, path: frozenset[int]) -> list[int]:
        groups = np.asarray(self.t["groups"])
        if not len(groups):
            return [int(j) for j in columns]
        open_ = [g for g in groups if all(g[j] for j in path)]
        return [int(j) for j in columns if any(g[j] for g in open_)]


def _paths(tree: StatedTree, levels: list[Array]) -> list[frozenset[int]]:
    """The columns that were asked above each node."""
    found: list[frozenset[int]] = [frozenset()] * len(tree.column)
    for here in levels:
        for node in here[tree.column[here] >= 0].tolist():
            below = found[node] | {int(tree.column[node])}
            found[node + 1] = found[int(tree.right[node])] = below
    return found


def _stated(t: dict[str, Any], d: int) -> Stated:
    """What the witness says, refused where it cannot be."""
    found = stated_trees(t, d, 2, "boosting", NEAR)
    if len(np.asarray(t["gain"])) != sum(len(tree.splits) for tree in found.trees):
        raise ValueError("gains that are not those of the splits")
    return found
