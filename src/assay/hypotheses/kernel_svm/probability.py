"""Probabilities that never contradict the label, by construction.

    two classes       p(greater class | x) = σ(a₊ f(x)) where f > 0,  σ(a₋ f(x)) elsewhere,    a₊, a₋ > 0, no offset
    more classes      softmax(T · g(x)), T > 0, g with the label's raised to the greatest where another is above it
                      each against the rest: g_k = f_k;   each against each: g_k = −log(1 + Σ_j exp(−a f_kj)), f_kj > 0 a vote for k against j

(Price et al. 1995: with chances σ(a f_kj) of the pairs exp g_k is what couples them), so p > ½ (the greatest share) exactly where the label says so, which an offset as in Platt (1999) does not grant. The numbers are fitted to
decision values of rows left out (five folds); targets are drawn in by one row of each class, as Platt's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.hypotheses.kernel_svm.multi import pairs_of
from assay.numerics import Array, Floats, log_softmax, log_sum_exp

FOLDS = 5
LEAST, MOST = 2.0**-30, 2.0**60  # a slope, in units of one over the root mean square of what it multiplies
HALVINGS = 80


def folds_of(keys: Array, codes: Array, w: Floats, K: int) -> Array:
    """(n,): a fold for each row, stratified by class. Rows with the same key share one, so that a weight is as good as copies; −1: the row is
    never left out, as its class has no other."""
    different = [len(np.unique(keys[codes == k])) for k in range(K)]
    count = min([FOLDS, *(many for many in different if many > 1)])
    fold = np.full(len(keys), -1)
    for k in np.flatnonzero(np.array(different) > 1):
        members = np.flatnonzero(codes == k)
        _, group = np.unique(keys[members], return_inverse=True)
        fold[members] = _dealt(np.bincount(group, weights=w[members]), count)[group]
    return fold


def _dealt(mass: Floats, count: int) -> Array:
    """Groups in order, dealt to `count` folds of about equal mass, none of which stays empty."""
    middle = np.cumsum(mass) - 0.5 * mass
    turn: Array = np.minimum((middle / mass.sum() * count).astype(np.int64), count - 1)
    if len(np.unique(turn)) < count:
        turn = np.arange(len(mass)) % count
    return turn


def fit_slopes(f: Floats, greater: Array, w: Floats) -> Floats:
    """(a₋, a₊) of two classes from decision values of rows left out."""
    up, down = float(w[greater].sum()), float(w[~greater].sum())
    target = np.where(greater, (up + 1.0) / (up + 2.0), 1.0 / (down + 2.0))

    def slope(side: Array) -> float:
        z, t, v = f[side], target[side], w[side]
        return _root(lambda a: float(v @ (z * (_sigmoid(a * z) - t))), z)

    return np.array([slope(f <= 0), slope(f > 0)])


def fit_pair_slope(F: Floats, codes: Array, w: Floats, K: int) -> float:
    """a of all pairs of more than two classes: each row counts in the pairs of its class."""
    total = np.bincount(codes, weights=w, minlength=K)
    right, target, weight = [], [], []
    for p, (i, j) in enumerate(pairs_of(K)):
        for k, sign in ((i, 1.0), (j, -1.0)):
            right.append(sign * F[codes == k, p])
            target.append(np.full(len(right[-1]), (total[k] + 1.0) / (total[k] + 2.0)))
            weight.append(w[codes == k])
    z, t, v = (np.concatenate(each) for each in (right, target, weight))
    return _root(lambda a: float(v @ (z * (_sigmoid(a * z) - t))), z)


def coupled(F: Floats, K: int, a: float) -> Floats:
    """(n, K): g of problems each against each."""
    terms = np.zeros((K, len(F), K))
    for p, (i, j) in enumerate(pairs_of(K)):
        terms[i, :, j] = -a * F[:, p]
        terms[j, :, i] = a * F[:, p]
    return -np.stack([log_sum_exp(each) for each in terms], axis=1)


def fit_temperature(Z: Floats, codes: Array, w: Floats) -> float:
    """T of more than two classes from scores of rows left out."""
    K = Z.shape[1]
    count = np.bincount(codes, weights=w, minlength=K)[codes]
    target = np.repeat((1.0 / (count + K))[:, None], K, axis=1)
    target[np.arange(len(Z)), codes] += count / (count + K)
    Z = Z - Z.mean(axis=1, keepdims=True)
    return _root(lambda T: float(w @ ((np.exp(log_softmax(T * Z)) - target) * Z).sum(axis=1)), Z)


def _root(slope: Callable[[float], float], values: Floats) -> float:
    """Where an increasing function of a > 0 is zero, or the nearest number within bounds that do not depend on units."""
    unit = float(np.sqrt(np.mean(values**2))) if values.size else 0.0
    if not 0 < unit < np.inf:
        return 1.0
    low, high = np.log2(LEAST / unit), np.log2(MOST / unit)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(2.0**middle) > 0 else (middle, high)
    return float(2.0 ** (0.5 * (low + high)))


def _sigmoid(z: Floats) -> Floats:
    e = np.exp(-np.abs(z))
    found: Floats = np.where(z >= 0, 1.0, e) / (1.0 + e)
    return found


def two_shares(f: Floats, slopes: Floats) -> Floats:
    """(n, 2); where f > 0 the greater class has more than one half, else at most that."""
    with np.errstate(over="ignore"):
        p = _sigmoid(f * np.where(f > 0, slopes[1], slopes[0]))
    p = np.where(f > 0, np.maximum(p, np.nextafter(0.5, 1.0)), np.minimum(p, 0.5))
    return np.column_stack([1.0 - p, p])


def label_first(Z: Floats, label: Array) -> Floats:
    """Scores in which no class is above the label: where votes tie, that of the label is raised."""
    Z = Z.copy()
    Z[np.arange(len(Z)), label] = Z.max(axis=1)
    return Z


def many_shares(Z: Floats, temperature: float, label: Array) -> Floats:
    """(n, K) of scores in which the label comes first; of equal shares its own is the next greater number."""
    shares: Floats = np.exp(log_softmax(temperature * Z))
    other = np.flatnonzero(shares.argmax(axis=1) != label)
    shares[other, label[other]] = np.nextafter(shares[other].max(axis=1), np.inf)
    return shares
