"""The stages of boosting: slopes and curvatures of the loss at the scores so far, a tree for them, its leaves' answers, and the scores with these.

Every number that decides is a sum of whole ones: a slope g becomes round(g / u), u a power of two so small that all of them together just fit 51 bits
(a curvature likewise); so a tree is the same on any number of threads, in memory, out of core or on a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import frexp
from typing import Any, NamedTuple

import numpy as np

from assay.compiled.simd.boosting import BINS
from assay.compiled.simd.memory import APART, break_barrier
from assay.engines.derived import keys_of, row_keys, unit_interval
from assay.engines.engine import Threads
from assay.families.boosting.loops.grow import (
    GrownNodes,
    GrowthRules,
    StageRoom,
    grow_stage,
    preorder,
    reached,
    reached_by_codes,
    whole_words,
)
from assay.families.boosting.loops.nodes import kept_nodes, leaf_steps
from assay.families.boosting.loops.scan import FIELDS, ScanRules
from assay.families.boosting.loops.slopes import log_loss_slopes
from assay.families.boosting.losses import BoostingLoss, LogLoss, renew_leaves
from assay.families.boosting.training_rows import BoostingRows
from assay.families.trees.nodes import TreeNodes, distinct_rows
from assay.numerics import Array, Floats

STRETCH = 16_384  # rows whose slopes are taken at a time: what is computed on the way stays near the processor
OWN = 1024  # rows in a row that are one thread's
ALONE = 1 << 18  # codes below which threads would wait longer than work
SUM_BITS, WORD_BITS = 50, 62
KEPT = 1 << 28  # numbers of the histograms that are kept
HALVINGS = 20
ROUNDING = 1e-12  # of a loss: by so much more it has not risen
NONE = np.zeros((0, 4), np.uint64)


class StageSettings(NamedTuple):
    """What a stage is told."""

    rate: float
    most: int
    deepest: int
    least: int
    light: float
    l1: float
    l2: float
    gain: float
    smooth: float
    category_l2: float
    rows: float  # share of the rows that a stage sees
    columns: float
    by_gradient: bool  # rows of larger gradients are drawn more often
    seed: int


class StageTree(NamedTuple):
    """A tree, and the leaf of each row; values: of its leaves before the rate; weight: of their rows."""

    nodes: TreeNodes
    leaf: Array
    values: Floats
    weight: Floats


@dataclass
class Stage:
    """After a stage: its number, its trees (one a score), what was multiplied with their leaves' values, training loss and that of the rows held out."""

    number: int
    trees: list[StageTree]
    step: float
    loss: float
    held: float | None
    rose: bool = False


class Boosting:
    """Scores of all rows, and the trees that are added to them."""

    def __init__(
        self, rows: BoostingRows, loss: BoostingLoss, settings: StageSettings, workers: Threads, start: Floats
    ) -> None:
        n, d = rows.table.by_row.shape
        settings = settings._replace(most=max(2, min(settings.most, n // settings.least)))
        self.rows, self.loss, self.settings, self.start = rows, loss, settings, start
        self.ranks = workers.at_once if n * d >= ALONE else 1
        self.workers = workers
        self.scores = np.zeros((loss.trees, n))  # without the constant
        self.slope, self.curvature = np.empty((loss.trees, n)), np.empty((loss.trees, n))
        self.words = np.empty((n, 2), np.int64)
        self.leaf = np.empty(n, np.int32)
        self.bits = int(n).bit_length()
        self.shift = min(SUM_BITS, WORD_BITS - self.bits)
        self.weight = float(rows.w.sum())
        self.held_weight = 0.0 if rows.held is None else float(rows.held.sum())
        self.plain = type(loss) is LogLoss and not rows.weighted and rows.held is None
        self.drawn = self.slope, self.curvature  # as a stage sees them
        self.weights: Floats | None = None  # of the rows that the last stage saw
        self.out = np.zeros(0, np.int64)  # the rows that it did not see
        self.room = self._room(n, d)
        M = 2 * settings.most + 1
        self.nodes = [_nodes_for(M, self.ranks) for _ in range(self.ranks)]

    def _room(self, n: int, d: int) -> StageRoom:
        T, slots = self.ranks, self._slots(d)
        order, begin = _shared_out(np.arange(n, dtype=np.uint32), T)
        return StageRoom(
            order,
            np.empty(n, np.uint32),
            np.empty(n, np.uint32),
            begin,
            np.empty((T * 2 * d * BINS, 2), np.int64),
            np.empty((slots * d * BINS, 2), np.int64),
            np.empty((2, T)),
            np.empty((2, T, FIELDS), np.int64),
            np.zeros(T * APART, np.int64),
        )

    def _slots(self, d: int) -> int:
        return int(max(3, min(self.settings.most + 1, KEPT // (2 * d * BINS))))

    # --- the loss ---------------------------------------------------------------------------------------------------------

    def derive(self) -> tuple[float, float | None]:
        """Slopes and curvatures at the scores; (training loss, loss of the rows held out)."""
        parts = list(self.workers.map(self._derive, range(0, self.rows.n, STRETCH)))
        total, held, top_g, top_h = (np.array(p) for p in zip(*parts))
        self.top = float(top_g.max()), float(top_h.max())
        return float(total.sum() / self.weight), (float(held.sum() / self.held_weight) if self.held_weight else None)

    def _derive(self, a: int) -> tuple[float, float, float, float]:
        b = min(self.rows.n, a + STRETCH)
        y, w = self.rows.y[a:b], self.rows.w[a:b]
        slope, curvature = self.slope[:, a:b], self.curvature[:, a:b]
        if self.plain:
            args = (y, self.scores[0, a:b], float(self.start[0]), slope[0], curvature[0])
            return float(log_loss_slopes(*args)), 0.0, 1.0, 0.25
        found = self.loss.at(y, self.scores[:, a:b] + self.start[:, None])
        if self.rows.weighted or self.rows.held is not None:
            np.multiply(found.slope, w, out=slope)
            np.multiply(found.curvature, w, out=curvature)
            there = w > 0
            total = float(np.dot(found.value[there], w[there]))
        else:
            slope[:], curvature[:] = found.slope, found.curvature
            total = float(found.value.sum())
        held = 0.0
        if self.rows.held is not None:
            out = self.rows.held[a:b]
            held = float(np.dot(found.value[out > 0], out[out > 0]))
        return total, held, float(np.abs(slope).max()), float(curvature.max())

    def held_error(self, loss: float) -> Floats:
        """(standard error of the loss of the rows held out, how many they are) at the scores so far."""
        assert self.rows.held is not None
        own = np.flatnonzero(self.rows.held > 0)
        w = self.rows.held[own]
        value = self.loss.at(self.rows.y[own], self.scores[:, own] + self.start[:, None]).value
        return np.array([float(np.sqrt(np.sum((w * (value - loss)) ** 2)) / w.sum()), float(len(own))])

    # --- a tree -----------------------------------------------------------------------------------------------------------

    def sample(self, number: int) -> tuple[Floats, Array]:
        """(weights of the rows that stage `number` sees, its columns), by (seed, stage) and, where asked for, by the slopes before it."""
        s, d = self.settings, self.rows.table.by_row.shape[1]
        w, columns = self.rows.w, np.arange(d)
        key = int(keys_of(np.array([number], np.uint64), s.seed)[0] >> np.uint64(2))
        if s.rows < 1:
            counted = np.flatnonzero(w > 0)  # a row of weight 0 is no row
            chance = np.full(len(counted), s.rows)
            if s.by_gradient:
                chance = chances(self.slope[:, counted], self.curvature[:, counted], s.rows)
            drawn = unit_interval(row_keys(0, len(counted), key)) < chance
            if drawn.any():
                w = np.zeros_like(w)
                w[counted[drawn]] = self.rows.w[counted[drawn]] / (chance[drawn] if s.by_gradient else 1.0)
        if s.columns < 1:
            words = keys_of(np.arange(d, dtype=np.uint64), key + 1)
            columns = np.sort(np.argsort(words, kind="stable")[: max(1, round(s.columns * d))])
        self._see(w)
        return w, columns

    def _see(self, w: Floats) -> None:
        """Rows of no weight take no part in a stage; those that were drawn by their slopes count for those that were not."""
        self.drawn = self.slope, self.curvature
        if self.settings.by_gradient and self.settings.rows < 1:
            factor = np.divide(w, self.rows.w, out=np.zeros(len(w)), where=w > 0)
            self.drawn = self.slope * factor, self.curvature * factor
            self.top = float(np.abs(self.drawn[0]).max()), float(self.drawn[1].max())
        if w is not self.weights:
            self.weights, seen = w, w > 0
            order, begin = _shared_out(np.flatnonzero(seen).astype(np.uint32), self.ranks)
            self.room = self.room._replace(order=order, begin=begin)
            self.out = np.flatnonzero(~seen)

    def tree(self, k: int, w: Floats, columns: Array) -> StageTree:
        """The tree of score k."""
        per_g, per_h = self._units()
        s, n = self.settings, self.rows.n
        quantise = partial(self._words, k, w, per_g, per_h)
        root = np.sum(list(self.workers.map(quantise, range(0, n, STRETCH))), axis=0)
        size = self._grow(root, columns, per_g, per_h)
        nodes = self.nodes[0]
        place, number = np.empty(size, np.int64), np.empty(size, np.int64)
        preorder(nodes.left, size, place, number)
        for rank in range(self.ranks):
            reached(rank, self.nodes[rank], self.room.rows, size, number, self.leaf)
        list(self.workers.map(partial(self._walk, number), range(0, len(self.out), STRETCH)))
        leaves = place[number[place] >= 0]
        values, rows = np.empty(len(leaves)), np.empty(len(leaves), np.int64)
        leaf_steps(nodes.sums, nodes.bounds, leaves, self.shift, per_g, per_h, s.l1, s.l2, values, rows)
        if self.loss.renewed is not None:
            residual = self.rows.y - (self.scores[0] + self.start[0])
            values = renew_leaves(self.leaf, len(leaves), residual, w, self.loss.renewed)
        weight = rows.astype(float)
        if self.rows.weighted or self.drawn[0] is not self.slope:
            weight = np.bincount(self.leaf, weights=w, minlength=len(leaves))
        return StageTree(
            self._kept(nodes, place, per_h / per_g**2),
            self.leaf.copy() if self.loss.trees > 1 else self.leaf,
            values,
            weight,
        )

    def _units(self) -> tuple[float, float]:
        g, h = (frexp(max(top, 1e-300))[1] for top in self.top)
        return 2.0 ** (SUM_BITS - self.bits - g), 2.0 ** (self.shift - self.bits - h)

    def _words(self, k: int, w: Floats, per_g: float, per_h: float, a: int) -> Array:
        sums = np.empty(2, np.int64)
        b = min(self.rows.n, a + STRETCH)
        slope, curvature = self.drawn
        whole_words(slope[k], curvature[k], w, per_g, per_h, self.shift, a, b, self.words, sums)
        return sums

    def _walk(self, number: Array, a: int) -> None:
        """The leaves of rows that took no part."""
        b = min(len(self.out), a + STRETCH)
        reached_by_codes(self.rows.table, self.nodes[0], number, self.out, a, b, self.leaf)

    def _grow(self, root: Array, columns: Array, per_g: float, per_h: float) -> int:
        s = self.settings
        growth = GrowthRules(
            s.most, s.deepest, s.least, s.gain * per_g**2 / per_h, self._slots(len(self.rows.table.buckets))
        )
        rules = ScanRules(
            self.shift,
            float(s.least),
            max(s.light * per_h, 1.0 if s.l2 == 0 else 0.0),
            s.l1 * per_g,
            s.l2 * per_h,
            s.smooth * per_h,
            s.smooth,
            s.category_l2 * per_h,
            bool(self.rows.table.trend.any()),
        )
        for nodes in self.nodes:
            nodes.sums[0] = root
        self.room.flags[:] = 0

        def run(rank: int) -> tuple[int, int]:
            try:
                found: tuple[int, int] = grow_stage(
                    rank,
                    self.ranks,
                    self.rows.table,
                    self.words,
                    columns,
                    growth,
                    rules,
                    self.room,
                    self.nodes[rank],
                    0,
                )
            except BaseException:
                break_barrier(self.room.flags, rank)
                raise
            return found

        return int(self.workers.together(run, self.ranks)[0][0])

    def _kept(self, nodes: GrownNodes, place: Array, unit: float) -> TreeNodes:
        """The tree in preorder; its leaves follow when the step is known."""
        bins, splits = self.rows.bins, len(place) // 2
        feature, cut, gain = np.empty(len(place), np.int32), np.empty(splits), np.empty(splits)
        missing, sets = np.empty(splits, np.uint8), np.empty((splits, 4), np.uint64)
        grown = (nodes.split, nodes.left, nodes.gain, place, bins.count, bins.first, bins.edges, unit)
        count = kept_nodes(*grown, feature, cut, missing, gain, sets)
        sets = sets[:count].copy() if count else NONE
        return TreeNodes(feature, cut, missing, np.zeros(0, np.uint32), sets, np.zeros((0, 2)), gain)

    # --- stages -----------------------------------------------------------------------------------------------------------

    def stages(self, first: int, before: tuple[float, float | None]) -> Iterator[Stage]:
        """Stage after stage, without end. The step of a stage is halved until the training loss does not rise."""
        loss, number = before[0], first
        while True:
            w, columns = self.sample(number)
            trees = [self.tree(k, w, columns) for k in range(self.loss.trees)]
            step, rate, scores = 1.0, self.settings.rate, self.scores
            self._add(scores, trees, rate)
            found, held = self.derive()
            while not found <= loss * (1 + ROUNDING) and step > 0.5**HALVINGS:
                step *= 0.5
                self._add(scores, trees, rate * step)
                found, held = self.derive()
            rose = not found <= loss * (1 + ROUNDING)
            if rose:  # it adds nothing: the scores are again just what they were, and so is the loss to compare with
                self.scores = scores
                found, held = self.derive()
            yield Stage(number, trees, step, found, held, rose)
            loss, number = found, number + 1

    def _add(self, scores: Floats, trees: list[StageTree], factor: float) -> None:
        """The scores with what the leaves add: the number that the model keeps, so that its answers are these scores."""
        self.scores = np.stack([scores[k] + (factor * tree.values)[tree.leaf] for k, tree in enumerate(trees)])


def finished(tree: StageTree, factor: float) -> TreeNodes:
    """A tree with what its leaves add to the score, and the weight of their rows."""
    weight = np.where(tree.weight > 0, tree.weight, 1e-300)
    table, leaf = distinct_rows(np.column_stack([factor * tree.values, weight]))
    return tree.nodes._replace(leaf=leaf, table=table)


def chances(g: Floats, h: Floats, share: float) -> Floats:
    """With which each row is drawn: min(1, a / mu), a the size of its slopes and of its curvatures times the mean step, mu such that on average this share is
    drawn. Of all ways to draw rows it makes the variance of a stage's sums least (Ibragimov and Gusev 2019)."""
    mean = float(np.abs(g).sum()) / max(float(h.sum()), 1e-300)
    size = np.sqrt((g * g).sum(axis=0) + mean * mean * (h * h).sum(axis=0))
    wanted = share * len(size)
    mu = float(size.sum()) / wanted
    for _ in range(100):  # each turn finds more rows that are surely drawn, until there are no more
        sure = size >= mu
        rest = wanted - int(sure.sum())
        smaller = float(size[~sure].sum()) / rest if rest > 0 else mu
        if not 0 < smaller < mu:
            break
        mu = smaller
    found: Floats = np.minimum(size / max(mu, 1e-300), 1.0)
    return found


def _shared_out(rows: Array, threads: int) -> tuple[Array, Array]:
    """(the rows, each thread's together; where they begin): every thread gets some of each stretch."""
    block = np.arange(len(rows), dtype=np.int64) // OWN % threads
    order = np.concatenate([rows[block == t] for t in range(threads)]) if threads > 1 else rows
    return order, np.concatenate([[0], np.cumsum(np.bincount(block, minlength=threads))]).astype(np.int64)


def _nodes_for(M: int, ranks: int) -> GrownNodes:
    whole = partial(np.zeros, dtype=np.int64)
    return GrownNodes(
        whole(M), whole((M, FIELDS)), np.zeros(M), whole((M, 2)), np.zeros((M, 2)), whole((ranks, M)), whole((ranks, M))
    )


def settings_of(model: Any, seed: int) -> StageSettings:
    """What a model's hyper-parameters tell a stage."""
    most = 1 << 20 if model.max_leaf_nodes is None else int(model.max_leaf_nodes)
    deepest = 1 << 20 if model.max_depth is None else int(model.max_depth)
    if deepest < 20:
        most = min(most, 1 << deepest)
    return StageSettings(
        float(model.learning_rate),
        most,
        deepest,
        int(model.min_samples_leaf),
        float(model.min_sum_hessian),
        float(model.l1_regularization),
        float(model.l2_regularization),
        float(model.min_gain_to_split),
        float(model.cat_smooth),
        float(model.cat_l2),
        float(model.subsample),
        float(model.colsample_bytree),
        model.sampling_method == "gradient_based",
        seed,
    )
