"""The certificate of a kernel perceptron: the run can be replayed, what α counts, what it answers, how few mistakes there can be, and how many are left.

With R² = max K(x, x), w = Σ α_i y_i φ(x_i), ‖w‖² = Σ α_i α_j y_i y_j K(x_i, x_j) and its margin γ = min y f(x)/‖w‖ > 0 (Novikoff 1962, in feature space),
steps ε_1 … ε_M:

    γ Σε ≤ ‖w‖ ≤ R √Σε²      so      (Σε)²/Σε² ≤ R²/γ²,     which is M ≤ R²/γ² where all steps are equal (K > 2 classes: 2R²/γ²)

Nothing is claimed where rounding could hide the sign of γ, where a budget took coefficients away again, and of the sigmoid kernel, which is
no product in any feature space. The values of a user's function are believed, so what rests on them is an estimate.

Before the first visit the greatest margin bounds the mistakes (`mistake_bound`):

    γ = min_{α ≥ 0, Σα = 1} ‖Σ α_i y_i φ(x_i)‖,      by non-negative least squares, for few rows: ‖A z‖² + (Σz − 1)² with AᵀA = (y_i y_j K_ij) is
                                                     least at a multiple of α

Whatever α is found, u = Σ α_i y_i φ(x_i) is a witness: its own margin is what is stated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.families.kernel.perceptron.fit import KernelPerceptronRun, VisitTargets
from assay.families.perceptron.claims import EPS
from assay.inputs.labels import plain_labels
from assay.numerics import Array, Floats

if TYPE_CHECKING:
    from assay.families.kernel.perceptron.estimators import KernelPerceptron

HIDDEN = 1e-2  # of the greatest decision value: where rounding may hide more, none is stated
ASKED = 32  # rows whose decision values the certificate states
MOST_ROWS = 300  # non-negative least squares takes their third power
NO_PRODUCTS = ("sigmoid", "own", "precomputed")  # need not be a product in any feature space
MOST_REPLAYED = 500_000_000  # numbers that going through a run again may read
MOST_VISITS = 5_000_000
MOST_VALUES = 400_000_000  # values of the kernel that a check of all rows may take; beyond, it takes every s-th row


COVERAGE = Coverage(
    proof={
        "kernel_perceptron_replay": "support_ support_vectors_ dual_coef_ last_coef_ drift_ class_factor_ t_ mistakes_",
        "kernel_perceptron_counts": "dropped_",
        "kernel_perceptron_values": "asked_ asked_values_",
        "kernel_perceptron_errors": "rows_ weight_ wrong_ wrong_weight_",
    },
    nothing="gamma_ centre_ n_iter_ seen_ converged_ history_ step_sum_ step_squares_ radius_ least_margin_ norm_ rounding_ certain_",
    but="gamma_ is taken as stated",
)


def claims_of(m: KernelPerceptron) -> tuple[Claim, ...]:
    """All claims of a fit; none where rows came in pieces: nobody can go through them again."""
    if m.history_ != "fit":
        return ()
    witness = _witness(m)
    claims = [_replay(m, witness)] if _replayable(m) else []
    claims.append(_counts(m, witness))
    claims += [_values(m, witness)] if _shows(m) else []
    bound = _bound(m)
    if bound is not None:
        claims.append(_mistakes(m, witness, *bound))
    if m.dropped_:
        claims.append(_budget(m, witness))
    claims.append(_errors(m, witness))
    return tuple(claims)


def _last(m: KernelPerceptron) -> Floats:
    return m.last_coef_ if m.variant == "averaged" else m.dual_coef_


def _witness(m: Any) -> dict[str, Any]:
    kernel = m._kernel()
    function = {"function": kernel.own} if kernel.own is not None else {}
    return {
        "classes": plain_labels(m.classes_),
        "support": m.support_,
        "vectors": m.support_vectors_,
        "kernel": kernel.name,
        "gamma": float(kernel.gamma),
        "degree": float(kernel.degree),
        "coef0": float(kernel.coef0),
        **function,
    }


def _kind(m: KernelPerceptron) -> Any:
    return "estimate" if m._kernel().own is not None else "proof"


def _replayable(m: Any) -> bool:
    """Whether another one can make the same visits: no outcome hung on rounding, and it does not take too long."""
    work = float(m.mistakes_) * m.rows_ * (m.support_vectors_.shape[1] + 8)
    return bool(m.certain_ and work <= MOST_REPLAYED and m.t_ <= MOST_VISITS and m._kernel().own is None)


def _replay(m: Any, witness: dict[str, Any]) -> Claim:
    order = f"{m.order}, shuffled" if m.shuffle else str(m.order)
    mean = {"coef": m.dual_coef_} if m.variant == "averaged" else {}
    within = "" if m.budget is None else f" with room for {m.budget} rows"
    return Claim(
        name="replay",
        statement=f"order {order!r}{within}: {m.t_} visits from alpha = 0 give these coefficients{' and their average' if mean else ''}, with "
        f"{m.mistakes_} mistakes; no outcome of a visit hung on rounding",
        holds=True,
        check="kernel_perceptron_replay",
        value=float(m.mistakes_),
        witness={
            **witness,
            "factor": m.class_factor_,
            "last": _last(m),
            **mean,
            "order": order,
            "seed": int(m.random_state or 0),
            "budget": 0 if m.budget is None else int(m.budget),
            "passes": int(m.n_iter_),
            "visits": int(m.t_),
            "mistakes": int(m.mistakes_),
        },
    )


def _counts(m: KernelPerceptron, witness: dict[str, Any]) -> Claim:
    s, n = len(m.support_), m.rows_
    total = f"they add up to the {m.mistakes_} mistakes of the fit"
    if m.dropped_:
        total = f"the fit made {m.mistakes_} mistakes, and the budget of {m.budget} rows made it forget some"
    return Claim(
        name="alphas",
        statement=f"each of the {s} rows (of {n}) with a coefficient has its weight times a whole number of mistakes, with the sign of its class; {total}",
        holds=True,
        check="kernel_perceptron_counts",
        value=float(m.mistakes_),
        witness={
            **witness,
            "factor": m.class_factor_,
            "last": _last(m),
            "mistakes": int(m.mistakes_),
            "dropped": int(m.dropped_),
        },
    )


def _shows(m: Any) -> bool:
    """Whether decision values are more than rounding."""
    return bool(8 * m.rounding_ <= HIDDEN * float(np.abs(m.asked_values_).max()))


def _values(m: Any, witness: dict[str, Any]) -> Claim:
    return Claim(
        name="decision values",
        statement=f"the sums of coefficients times {m._kernel().words()} are the stated decision values at {len(m.asked_)} rows drawn evenly, and "
        "decide what the model answers there",
        holds=True,
        check="kernel_perceptron_values",
        value=float(len(m.asked_)),
        kind=_kind(m),
        witness={
            **witness,
            "coef": m.dual_coef_,
            "asked": m.asked_,
            "values": m.asked_values_,
        },
    )


def _bound(m: Any) -> tuple[float, float, float] | None:
    """(γ, the effective number of mistakes, its bound), or None where γ may be ≤ 0 or no bound is known."""
    kernel = m._kernel()
    if m.dropped_ or kernel.name == "sigmoid" or not m.mistakes_ or every_row(m) > 1:
        return None
    off = 8 * m.rounding_  # a check, which rounds in another way, must find no smaller margin
    upper = math.sqrt(m.norm_**2 + off * float(np.abs(_last(m)).sum()))
    gamma = (m.least_margin_ - off) / upper if upper > 0 else 0.0
    effective = m.step_sum_**2 / m.step_squares_
    if not gamma > 0:
        return None
    bound = (2 if len(m.classes_) > 2 else 1) * m.radius_**2 / gamma**2
    if not effective <= bound:  # the matrix of a precomputed kernel need be no kernel
        return None
    return gamma, effective, bound


def _mistakes(m: Any, witness: dict[str, Any], gamma: float, value: float, bound: float) -> Claim:
    number = f"{m.mistakes_} mistakes"
    if not math.isclose(value, m.mistakes_, rel_tol=1e-9):
        number = f"(sum of steps)^2 / sum of squared steps = {value:.6g} of {m.mistakes_} mistakes"
    formula = "2R^2/gamma^2" if len(m.classes_) > 2 else "R^2/gamma^2"
    how = (
        ""
        if _replayable(m)
        else "; the mistakes are those that the alphas count, the run itself is not gone through again"
    )
    return Claim(
        name="mistake bound",
        statement=f"{number} in order {m.order!r} <= {formula} with R = {m.radius_:.6g} = max sqrt(K(x, x)) and the margin gamma = {gamma:.6g} of w "
        f"= sum alpha_i y_i phi(x_i) in feature space, |w| = {m.norm_:.6g}{how}",
        holds=True,
        check="kernel_perceptron_bound",
        value=float(value),
        bound=float(bound),
        kind=_kind(m),
        witness={
            **witness,
            "factor": m.class_factor_,
            "last": _last(m),
            "radius": float(m.radius_),
            "margin": float(gamma),
        },
    )


def _budget(m: KernelPerceptron, witness: dict[str, Any]) -> Claim:
    return Claim(
        name="budget",
        statement=f"at {m.dropped_} of {m.mistakes_} mistakes a row drawn at random lost its coefficient, for at most {m.budget} rows are kept: no "
        "bound on the mistakes is claimed, and no pass need ever be without one",
        holds=True,
        check="kernel_perceptron_counts",
        value=float(m.mistakes_),
        kind="warning",
        witness={
            **witness,
            "factor": m.class_factor_,
            "last": _last(m),
            "mistakes": int(m.mistakes_),
            "dropped": int(m.dropped_),
        },
    )


def every_row(m: Any) -> int:
    """The stride of the rows that a check of the model's answers reads."""
    return max(1, math.ceil(int(m.rows_) * len(m.support_) / MOST_VALUES))


def _errors(m: Any, witness: dict[str, Any]) -> Claim:
    who = "the averaged coefficients are" if m.variant == "averaged" else "f is"
    share, every = m.wrong_weight_ / m.weight_, every_row(m)
    what = f"{who} right on all {m.rows_} rows"
    if m.wrong_:
        what = f"{who} wrong on {m.wrong_} of {m.rows_} rows, a share of {share:.4g} by weight, after {m.n_iter_} "
        what += "searches" if m.order == "first-mistake" else "passes"
    if every > 1:
        what += f"; as the fit counted them: a check looks at every {every}th row"
    return Claim(
        name="mistakes left",
        statement=what,
        holds=True,
        check="kernel_perceptron_errors",
        value=float(share),
        kind="warning" if m.wrong_ else "estimate" if every > 1 else _kind(m),
        witness={
            **witness,
            "factor": m.class_factor_,
            "coef": m.dual_coef_,
            "rows": int(m.rows_),
            "wrong": int(m.wrong_),
            "weight": float(m.weight_),
            "every": every,
        },
    )


def mistake_bound(model: KernelPerceptron, run: KernelPerceptronRun, X: Floats) -> float | None:
    """R²/γ²; None where nothing is known to separate the rows, or steps are not all equal."""
    kernel, steps = run.values.kernel, run.targets.steps
    if len(X) > MOST_ROWS or run.targets.K > 2 or model.budget is not None or kernel.name in NO_PRODUCTS:
        return None
    if not np.all(steps == steps[0]):
        return None
    K = kernel.block(X, X)
    y = np.where(run.targets.codes == 1, 1.0, -1.0)
    return bound_of(K * np.outer(y, y)) if np.isfinite(K).all() else None


def bound_of(Q: Floats) -> float | None:
    """max Q_ii / γ² of a positive semidefinite Q = (y_i y_j K_ij); None where no margin is found beyond rounding.

    >>> round(bound_of(np.array([[1.0, 0.0], [0.0, 1.0]])), 6)
    2.0
    """
    from scipy.optimize import nnls

    n, R2 = len(Q), float(np.diag(Q).max())
    if not R2 > 0:
        return None
    sizes, V = np.linalg.eigh(Q / R2)
    A = np.sqrt(np.maximum(sizes, 0.0))[:, None] * V.T
    try:
        z, _ = nnls(np.vstack([A, np.ones(n)]), np.append(np.zeros(n), 1.0))
    except RuntimeError:  # too many rounds
        return None
    f = Q @ z
    norm, off = float(np.sqrt(max(z @ f, 0.0))), (n + 8) * EPS * R2 * float(z.sum())
    least = float(f.min()) - off
    if not (norm > 0 and least > 0):
        return None
    return R2 * (norm / least) ** 2 * (1 + 1e-9)


class ScoredRows(NamedTuple):
    """Of scores (m, n): which rows are on the wrong side, and how far the right class is ahead."""

    wrong: Array
    margins: Floats


def judge(S: Floats, codes: Array) -> ScoredRows:
    """As the model answers: s ≥ 0 is class 1 of two; of more classes the greatest score wins, the lowest class of several."""
    if len(S) == 1:
        return ScoredRows((S[0] >= 0) != (codes == 1), np.where(codes == 1, S[0], -S[0]))
    at = np.arange(S.shape[1])
    others = S.copy()
    others[codes, at] = -np.inf
    return ScoredRows(S.argmax(axis=0) != codes, S[codes, at] - others.max(axis=0))


def scores_of(run: KernelPerceptronRun, rows: Array, coef: Floats) -> Floats:
    """Scores of rows under coefficients (m, n), taken anew."""
    S = np.zeros((len(coef), len(rows)))
    there = np.flatnonzero(coef.any(axis=0))
    run.values.add(S, rows, there, coef[:, there])
    return S


def evaluate(run: KernelPerceptronRun, targets: VisitTargets, answering: Floats) -> dict[str, Any]:
    """What the certificate states. `answering` (m, n) are the coefficients that answer: the last ones, or their average."""
    rows = np.flatnonzero(targets.steps > 0)
    fresh = run.budget is not None
    S = scores_of(run, rows, run.beta) if fresh else run.scores[:, rows]
    codes, weights = targets.codes[rows], targets.steps[rows]
    margins = judge(S, codes).margins
    there = np.flatnonzero(run.beta[:, rows].any(axis=0))
    norm = float((run.beta[:, rows[there]] * S[:, there]).sum())
    Z = S if answering is run.beta else scores_of(run, rows, answering)
    wrong = judge(Z, codes).wrong
    asked = np.unique(np.linspace(0, len(rows) - 1, ASKED).astype(np.int64))
    R2 = run.values.largest_square(rows)
    total = float(np.abs(run.beta).sum())
    value_off = run.values.rounding(rows) + (run.mistakes + 8) * EPS * run.values.largest(rows)
    ever = (1 if len(S) == 1 else 2) * run.step_sum  # no coefficients on the way add up to more
    return {
        "certain_": bool(run.closest > 8 * ever * value_off),
        "radius_": float(np.sqrt(max(R2, 0.0))),
        "least_margin_": float(margins.min()),
        "norm_": float(np.sqrt(max(norm, 0.0))),
        "rounding_": total * value_off,
        "rows_": len(rows),
        "weight_": float(weights.sum()),
        "wrong_": int(wrong.sum()),
        "wrong_weight_": float(weights[wrong].sum()),
        "asked_": rows[asked],
        "asked_values_": np.ascontiguousarray(Z[:, asked].T),
    }
