"""Probabilities that never contradict the label, by construction.

    two classes       p(greater class | x) = σ(a₊ f(x)) where f > 0,  σ(a₋ f(x)) elsewhere,    a₊, a₋ > 0, no offset
    more classes      softmax(T · g(x)), T > 0, g with the label's raised to the greatest where another is above it
                      each against the rest: g_k = f_k;   each against each: g_k = −log(1 + Σ_j exp(−a f_kj)), f_kj > 0 a vote for k against j

(Price et al. 1995: with chances σ(a f_kj) of the pairs exp g_k is what couples them), so p > ½ (the greatest share) exactly where the label
says so, which an offset as in Platt (1999) does not grant. The numbers are fitted to decision values of rows that each were left out of the
fit that answers them (five folds); targets are drawn in by one row of each class, as Platt's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.engines import Block
from assay.engines.derived import keys_of
from assay.engines.rows import cut
from assay.estimator.progress import Stopping
from assay.families.kernel.functions import Kernel
from assay.families.kernel.svm.solve import (
    MachineRows,
    SolverPlan,
    class_tasks,
    coefficients,
    content_keys,
    machine_of,
    pairs_of,
    problem_count,
    solve_all,
)
from assay.numerics import Array, Floats, log_softmax, log_sum_exp

if TYPE_CHECKING:
    from assay.families.kernel.svm.machines import ClassMachine

FOLDS = 5
LEAST, MOST = 2.0**-30, 2.0**60  # a slope, in units of one over the root mean square of what it multiplies
HALVINGS = 80
PIECE = 4096  # rows whose shares are taken at a time
LEAST_ROWS = 1e-300  # a share, as far as its logarithm goes


def calibrated(model: ClassMachine, kernel: Kernel, given: MachineRows, plan: SolverPlan, stopping: Stopping) -> Floats:
    """Slopes (two classes), or temperature and the slope of pairs, of a model whose kernel and bounds are those of all rows."""
    given_matrix = kernel.name == "precomputed"
    keys = keys_of(given.numbers.astype(np.uint64), 0) if given_matrix else content_keys(given.X)
    K, ovo = len(model.classes_), model._one_vs_one()
    fold = folds_of(keys, given.y, given.weight, K)
    F = np.empty((len(given.X), problem_count(K, ovo)))
    for number in range(int(fold.max()) + 1):
        out = fold == number
        F[out] = _answered(model, kernel, given, ~out, out, plan, stopping)
    if fold.max() < 0:  # every class is one row, again and again
        everyone = np.ones(len(fold), dtype=bool)
        F, fold = _answered(model, kernel, given, everyone, everyone, plan, stopping), np.zeros_like(fold)
    F, y, w = F[fold >= 0], given.y[fold >= 0], given.weight[fold >= 0]
    if K == 2:
        return fit_slopes(F[:, 0], y == 1, w)
    slope = [fit_pair_slope(F, y, w, K)] if ovo else []
    return np.array([fit_temperature(label_first(model._to_couple(F, slope), model._codes(F)), y, w), *slope])


def _answered(
    model: ClassMachine,
    kernel: Kernel,
    given: MachineRows,
    train: Array,
    test: Array,
    plan: SolverPlan,
    stopping: Stopping,
) -> Floats:
    """Decision values of some rows by a fit on others."""
    K, ovo, given_matrix = len(model.classes_), model._one_vs_one(), kernel.name == "precomputed"
    X = given.X[np.ix_(train, train)] if given_matrix else given.X[train]
    codes, upper = given.y[train], (model.upper_[given.y] * given.weight)[train]
    tasks = model._priced(class_tasks(kernel, X, codes, upper, K, ovo))
    solved = solve_all(tasks, plan, stopping)
    D = coefficients(tasks, solved, codes, K, ovo)
    order = np.argsort(codes, kind="stable")
    order = order[D[:, order].any(axis=0)]
    counts = np.bincount(codes[order], minlength=K)
    intercept = np.array([s.intercept for s in solved])
    machine = machine_of(kernel, order if given_matrix else X[order], D[:, order], intercept, counts, ovo)
    return machine.values(given.X[np.ix_(test, train)] if given_matrix else given.X[test])


def loss_on_rows(model: ClassMachine, given: MachineRows) -> float:
    """The mean of −log p(y | x) over the rows of the fit, which a checker can find again; p counts as LEAST at least."""
    X = given.X
    if model.kernel == "precomputed" and len(X) < given.total:
        X = np.zeros((len(given.X), given.total))
        X[:, given.numbers] = given.X
    own = [
        model._proba_block(piece)[np.arange(len(piece.X)), piece.y] for piece in cut(Block(X, given.y, None, 0), PIECE)
    ]
    return float(-np.average(np.log(np.maximum(np.concatenate(own), LEAST_ROWS)), weights=given.w))


def probability_claim(model: ClassMachine, witness: dict[str, Any]) -> Claim:
    """What is claimed of the shares, with the gap: decision values that rounding hides are not found again; `witness` is that of these values."""
    return Claim(
        name="probabilities",
        statement="no share is above that of the label, as slopes and temperature are above zero; the mean log loss of the shares on the rows "
        f"of the fit is {model.loss_:.4g}",
        holds=bool(np.max(model.gap_) <= model.tol),
        check="kernel_probabilities",
        value=model.loss_,
        witness={**witness, "calibration": model.calibration_, "break_ties": bool(model.break_ties)},
    )


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
