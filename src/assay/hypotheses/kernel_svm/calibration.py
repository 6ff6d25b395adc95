"""Fitting the numbers of `probability` to rows that each were left out of the fit that answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.engines import Block
from assay.engines.rows import cut
from assay.engines.split import keys_of
from assay.hypotheses.kernel_svm.gathered import Gathered, content_keys
from assay.hypotheses.kernel_svm.multi import class_tasks, coefficients, machine_of, problem_count
from assay.hypotheses.kernel_svm.probability import FOLDS as FOLDS
from assay.hypotheses.kernel_svm.probability import fit_pair_slope, fit_slopes, fit_temperature, folds_of, label_first
from assay.hypotheses.kernel_svm.solving import Plan, solve_all
from assay.kernels import Kernel
from assay.learner.stopping import Stopping
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.kernel_svm.svc import SVC

PIECE = 4096  # rows whose shares are taken at a time
LEAST = 1e-300  # a share, as far as its logarithm goes


def calibrated(model: SVC, kernel: Kernel, given: Gathered, plan: Plan, stopping: Stopping) -> Floats:
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
    model: SVC, kernel: Kernel, given: Gathered, train: Array, test: Array, plan: Plan, stopping: Stopping
) -> Floats:
    """Decision values of some rows by a fit on others."""
    K, ovo, given_matrix = len(model.classes_), model._one_vs_one(), kernel.name == "precomputed"
    X = given.X[np.ix_(train, train)] if given_matrix else given.X[train]
    codes, upper = given.y[train], (model.upper_[given.y] * given.weight)[train]
    tasks = class_tasks(kernel, X, codes, upper, K, ovo)
    solved = solve_all(tasks, plan, stopping)
    D = coefficients(tasks, solved, codes, K, ovo)
    order = np.argsort(codes, kind="stable")
    order = order[D[:, order].any(axis=0)]
    counts = np.bincount(codes[order], minlength=K)
    intercept = np.array([s.intercept for s in solved])
    machine = machine_of(kernel, order if given_matrix else X[order], D[:, order], intercept, counts, ovo)
    return machine.values(given.X[np.ix_(test, train)] if given_matrix else given.X[test])


def loss_on_rows(model: SVC, given: Gathered) -> float:
    """The mean of −log p(y | x) over the rows of the fit, which a checker can find again; p counts as LEAST at least."""
    X = given.X
    if model.kernel == "precomputed" and len(X) < given.total:
        X = np.zeros((len(given.X), given.total))
        X[:, given.numbers] = given.X
    own = [
        model._proba_block(piece)[np.arange(len(piece.X)), piece.y] for piece in cut(Block(X, given.y, None, 0), PIECE)
    ]
    return float(-np.average(np.log(np.maximum(np.concatenate(own), LEAST)), weights=given.w))


def probability_claim(model: SVC, witness: dict[str, Any]) -> Claim:
    """What is claimed of the shares; `witness` is that of the decision values."""
    return Claim(
        name="probabilities",
        statement="no share is above that of the label, as slopes and temperature are above zero; the mean log loss of the shares on the rows "
        f"of the fit is {model.loss_:.4g}",
        holds=True,
        check="kernel_probabilities",
        value=model.loss_,
        witness={**witness, "calibration": model.calibration_, "break_ties": bool(model.break_ties)},
    )
