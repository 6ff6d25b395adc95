"""What a split is worth: of numbers, and of rows of more than two classes.

Of a split the criterion's score is what it leaves to be maximised when constants of the node are dropped:

    squared error   Z_L² / W_L + Z_R² / W_R                       (Z = Σ w y, W = Σ w)
    Poisson         Z_L log (Z_L / W_L) + Z_R log (Z_R / W_R)
    entropy         of targets 0 and 1: Σ over sides  Z log Z + (W − Z) log (W − Z) − W log W

    Gini            Σ over sides  Σ_k n_k² / n
    entropy         Σ over sides  Σ_k n_k log n_k − n log n
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.compiled.decorator import inlined, inner, jit
from assay.compiled.simd.trees import squared_of_sums
from assay.families.trees.loops.arrays import BITS_A_NAT, ENTROPY, HALF, LOW16, POISSON

QUARTER = np.uint64(16)


class NumberTargets(NamedTuple):
    """Whole numbers w y and w of every row (weight is empty where all are 1), and y itself; y = offset + unit · whole number."""

    value: Any  # (n,) int64: w (y − offset) / unit
    weight: Any  # (n,) int64 or (0,)
    plain: Any  # (n,) int64: orders the rows by y
    weighted: bool
    unit: float  # of value, where that of weight is 1
    offset: float
    factor: float  # from the score's units to those of the impurity


@jit(inline="always")
def times_of(entry):  # type: ignore[no-untyped-def]
    return np.int64((entry >> QUARTER) & LOW16)


@jit(inline="always")
def xlogx(x):  # type: ignore[no-untyped-def]
    return x * np.log(x) if x > 0.0 else 0.0


@jit(inline="always")
def _side(criterion, W, Z, unit, offset):  # type: ignore[no-untyped-def]
    """What one side adds to the score of Poisson and entropy."""
    if criterion == POISSON:
        Y = Z * unit + offset * W
        return Y * np.log(Y / W) if Y > 0.0 else -np.inf
    return xlogx(Z) + xlogx(W - Z) - xlogx(W)


@jit(inline="always")
def squared_is_all(rules, trend):  # type: ignore[no-untyped-def]
    """Whether `squared_of_sums` alone says what a split is worth."""
    return rules.criterion != POISSON and rules.criterion != ENTROPY and not rules.min_leaf_weight > 0.0 and trend == 0


@inner(error_model="numpy")
def score_sums(target, rules, sums, at, n, trend, found, scratch, count):  # type: ignore[no-untyped-def]
    """worth[i] of the split that puts number[i] draws to the left; real[i], real[A + i]: by how much W, Z are greater on the left than on
    the right. The same split the other way round has these with the other sign, and so is worth the same to the last bit."""
    left, real, worth, A = scratch.number, scratch.real, scratch.worth, scratch.reach
    W, Z = 0.5 * np.float64(sums[at]), 0.5 * np.float64(sums[at + 1])
    least, light = rules.min_leaf, rules.min_leaf_weight
    if rules.criterion == POISSON or rules.criterion == ENTROPY:
        for i in range(count):
            g, h = 0.5 * real[i], 0.5 * real[A + i]
            a, b, c, d = W + g, Z + h, W - g, Z - h
            worth[i] = -np.inf
            if left[i] >= least and n - left[i] >= least and a > 0.0 and c > 0.0:
                worth[i] = _side(rules.criterion, a, b, target.unit, target.offset) + _side(
                    rules.criterion, c, d, target.unit, target.offset
                )
    else:
        squared_of_sums(left, real, A, worth, (count + 7) & -8, W, Z, n, least)
    if light > 0.0:
        for i in range(count):
            worth[i] = worth[i] if (W + 0.5 * real[i] >= light) & (W - 0.5 * real[i] >= light) else -np.inf
    if trend != 0:
        low, high = found.score[1], found.score[2]
        for i in range(count):
            g, h = 0.5 * real[i], 0.5 * real[A + i]
            vl, vr = (Z + h) / (W + g), (Z - h) / (W - g)
            good = (vr - vl) * trend >= 0.0 and min(vl, vr) >= low and max(vl, vr) <= high
            worth[i] = worth[i] if good else -np.inf


@inner
def numbers_gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
    """u(C) − (p_L u(C_L) + p_R u(C_R)) of a split with that score."""
    W, Z = np.float64(sums[at]), np.float64(sums[at + 1])
    if rules.criterion == POISSON or rules.criterion == ENTROPY:
        own = _side(rules.criterion, W, Z, target.unit, target.offset)
        return (score - own) / W * (BITS_A_NAT if rules.criterion == ENTROPY else 1.0)
    return (score - Z * Z / W) / W * target.factor * target.unit * target.unit


class ClassTargets(NamedTuple):
    """An entry's label is its class, of `count`. weight (n,): whole numbers, empty where all are 1; xlogx: x log x of whole numbers."""

    weight: Any
    weighted: bool
    xlogx: Any  # of 0 … length − 1
    length: int
    count: int  # type: ignore[assignment]  # hides the tuple's own


@jit(inline="always")
def weight_of(target, entry):  # type: ignore[no-untyped-def]
    t = times_of(entry)
    return t * target.weight[np.int64(entry >> HALF)] if target.weighted else t


@jit(inline="always")
def term_of(target, criterion, x):  # type: ignore[no-untyped-def]
    """n² or n log n of a whole number."""
    if criterion == ENTROPY:
        if x < target.length:
            return target.xlogx[x]
        return np.float64(x) * np.log(np.float64(x))
    return np.float64(x) * np.float64(x)


@inlined
def classes_total(target, entries, a, b, sums, at):  # type: ignore[no-untyped-def]
    """(draws, whether all rows are of one class); sums[at : at + K] receives the classes' weights."""
    for k in range(target.count):
        sums[at + k] = 0
    n = 0
    first, alike = entries[a] & LOW16, True
    for i in range(a, b):
        e = entries[i]
        n += times_of(e)
        sums[at + np.int64(e & LOW16)] += weight_of(target, e)
        alike = alike & ((e & LOW16) == first)
    return n, alike


@inlined(error_model="numpy")
def score_classes(target, rules, W, n, scratch, count):  # type: ignore[no-untyped-def]
    """worth[i] of the split that puts number[i] draws, real[i] weight to the left; real[A + i], real[2 A + i]: Σ terms of its sides."""
    left, real, worth, A = scratch.number, scratch.real, scratch.worth, scratch.reach
    least, light = rules.min_leaf, rules.min_leaf_weight
    if rules.criterion == ENTROPY:
        for i in range(count):
            a = np.int64(real[i])
            good = left[i] >= least and n - left[i] >= least and real[i] > 0.0 and W - real[i] > 0.0
            both = term_of(target, ENTROPY, a) + term_of(target, ENTROPY, np.int64(W) - a) if good else 0.0
            worth[i] = real[A + i] + real[2 * A + i] - both if good else -np.inf
    else:
        for i in range(count):
            a = real[i]
            w = real[A + i] / a + real[2 * A + i] / (W - a)
            worth[i] = w if (left[i] >= least) & (n - left[i] >= least) & (a > 0.0) & (W - a > 0.0) else -np.inf
    if light > 0.0:
        for i in range(count):
            worth[i] = worth[i] if (real[i] >= light) & (W - real[i] >= light) else -np.inf


@inner
def classes_gain(target, rules, score, cost, n, sums, at):  # type: ignore[no-untyped-def]
    """u(C) − (p_L u(C_L) + p_R u(C_R)) of a split with that score."""
    W, terms = 0, 0.0
    for k in range(target.count):
        W += sums[at + k]
        terms += term_of(target, rules.criterion, sums[at + k])
    w = np.float64(W)
    if rules.criterion == ENTROPY:
        return (score - (terms - term_of(target, ENTROPY, W))) / w * BITS_A_NAT
    return (score - terms / w) / w
