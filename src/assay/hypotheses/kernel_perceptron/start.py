"""What a kernel perceptron begins with: the rule of its visits, its kernel function, and the rows with the coefficients of the fit so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assay.engines import Rows
from assay.engines.threads import Threads
from assay.errors import DataError, ParameterError
from assay.hypotheses.kernel_perceptron.run import Run
from assay.hypotheses.kernel_perceptron.values import Values
from assay.hypotheses.kernel_perceptron.visits import Targets
from assay.hypotheses.perceptron_run import Rule
from assay.inputs import refuse_non_finite
from assay.kernels import Kernel, check_own_kernel, check_precomputed, resolve
from assay.labels import Labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.hypotheses.kernel_perceptron.model import KernelPerceptron


class Begun(NamedTuple):
    """A run on rows X, of which the first `old` are those kept so far; their numbers among all rows ever seen, and how many these are."""

    run: Run
    X: Floats
    numbers: Array
    old: int
    seen: int


def rule_of(model: KernelPerceptron) -> Rule:
    """What a visit does; hyper-parameters that contradict each other are refused."""
    if model.shuffle and model.order != "cyclic":
        raise ParameterError(f"shuffle=True belongs to order='cyclic', and order={model.order!r}.")
    if model.budget is not None and model.variant == "averaged":
        raise ParameterError(
            f"variant='averaged' averages the coefficients of all rows that ever erred, and budget={model.budget} keeps some of them: use "
            "variant='last', or budget=None."
        )
    return Rule(model.order, 1.0, bool(model.shuffle), int(model.random_state or 0))


def begin(model: KernelPerceptron, rule: Rule, labels: Labels, rows: Rows, afresh: bool) -> Begun:
    """The new rows in float64 after those kept so far, whose coefficients they begin with; a fresh fit chooses the kernel."""
    if rows.y is None or not len(rows.X):
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    refuse_non_finite(rows.X, 0, model._column_names())
    X, n, K = np.array(rows.X, dtype=np.float64, order="C"), len(rows.X), len(labels.classes)
    codes = np.ascontiguousarray(labels.encode(rows.y), dtype=np.int64)
    steps = (np.ones(n) if rows.w is None else np.asarray(rows.w, dtype=np.float64)) * model.class_factor_[codes]
    if afresh:
        kernel = _kernel_for(model, X, rows.w)
        model.gamma_ = float(kernel.gamma)
        if kernel.centre is not None:
            model.centre_ = kernel.centre
        old, seen, numbers = 0, 0, np.arange(n)
    else:
        _check_going_on(model)
        kernel, old, seen = model._kernel(), len(model.support_), model.seen_
        X = np.concatenate([model.support_vectors_, X])
        numbers = np.concatenate([model.support_, seen + np.arange(n)])
        codes = np.concatenate([np.zeros(old, dtype=np.int64), codes])
        steps = np.concatenate([np.zeros(old), steps])
    beta, drift = np.zeros((1 if K == 2 else K, old + n)), None
    if model.variant == "averaged":
        drift = np.zeros_like(beta)
    if old:
        beta[:, :old] = model.dual_coef_ if drift is None else model.last_coef_
        if drift is not None:
            drift[:, :old] = model.drift_
    run = Run(rule, Values(kernel, X, Threads(model.n_jobs)), Targets(codes, steps, K), beta, drift, model.budget)
    if not afresh:
        run.visited, run.mistakes, run.dropped = model.t_, model.mistakes_, model.dropped_
        run.step_sum, run.step_squares = model.step_sum_, model.step_squares_
    return Begun(run, X, numbers, old, seen + n)


def _kernel_for(model: KernelPerceptron, X: Floats, w: Floats | None) -> Kernel:
    if model.kernel == "precomputed":
        check_precomputed(X)
    kernel = resolve(model.kernel, model.gamma, model.degree, model.coef0, X, w)
    if kernel.own is not None:
        check_own_kernel(kernel, X)
    return kernel


def _check_going_on(model: KernelPerceptron) -> None:
    before = model._fitted_with
    for name in ("kernel", "degree", "coef0", "variant"):
        now = getattr(model, name)
        if before[name] != now:
            raise ParameterError(
                f"The model was fitted with {name}={before[name]!r}: partial_fit cannot go on with {name}={now!r}. Fit again."
            )
    if model.budget is not None and len(model.support_) > model.budget:
        raise ParameterError(
            f"{len(model.support_)} rows are kept, and budget={model.budget}: fit again, or give a budget of that size."
        )
