"""What is claimed of a fitted kernel SVM, from the numbers that the fit has learnt; families/kernel/svm/check re-establishes it from the rows.

- duality gap: the multipliers are feasible and (P − D) / P ≤ tol in every problem, so no hyperplane of feature space does better by more;
- KKT: what is missed of complementary slackness, row by row, adds up to at most a share of tol;
- margin: 1/‖w‖ in feature space; of a hard margin the least distance of a row from the hyperplane;
- leave-one-out error: at most the share of rows whose absence can change the answer about them, an estimate.

A kernel that is not positive semidefinite has no feature space: then the gap tells only how well the first-order conditions are met.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage, Kind
from assay.families.kernel.functions import Kernel
from assay.inputs.labels import plain_labels
from assay.numerics import Array, Floats

AT_BOUND = 1e-9  # of its upper bound: a multiplier that lacks less is there
LOOSEST = 1e-1  # a gap beyond this says little, whatever the user allowed
NO_MARGIN = 1e-12  # of Σ α: ‖w‖² below this is rounding
GIVEN = ", provided that the kernel is positive semidefinite (`verify` tries that on some rows)"
CLASSES = (
    "rows with a multiplier are not beyond the margin, and rows whose multiplier is not at its bound are not within it"
)
NUMBERS = "rows with a multiplier are not inside the tube, and rows whose multiplier is not at its bound are not outside of it"


COVERAGE = Coverage(
    proof={
        "kernel_svm_gap kernel_svr_gap": "support_ support_vectors_ dual_coef_ intercept_ objective_ dual_objective_ upper_ n_rows_ "
        "n_support_",
        "kernel_probabilities": "calibration_ loss_",
    },
    nothing="gap_ n_iter_ weights_ gamma_ rows_ converged_",
    but="multipliers and intercept are tied up to the stated gap; gamma_ is taken as stated",
)


def kernel_witness(kernel: Kernel) -> dict[str, Any]:
    """What a checker needs to evaluate the kernel itself."""
    numbers = {"gamma": float(kernel.gamma), "degree": float(kernel.degree), "coef0": float(kernel.coef0)}
    return {"kernel": kernel.name, **numbers, **({} if kernel.own is None else {"own": kernel.own})}


def is_positive(witness: dict[str, Any]) -> bool | None:
    """Whether the kernel is positive semidefinite for all rows (Mercer); None where the user gave it."""
    if witness["kernel"] == "poly":  # sums of products of positive semidefinite kernels
        return witness["degree"] in range(1025) and witness["coef0"] >= 0
    return {"own": None, "precomputed": None, "sigmoid": False}.get(witness["kernel"], True)


def svc_claims(model: Any) -> tuple[Claim, ...]:
    """All claims of a fitted classifier."""
    K, prices = len(model.classes_), getattr(model, "C_", None)
    witness = {
        **_witness(model),
        "classes": plain_labels(model.classes_),
        "n_support": model.n_support_,
        "scheme": "two" if K == 2 else model.multi_class,
        **({} if prices is None else {"scale": prices, "nu": float(model.nu)}),
    }
    claims = [_gap(model, witness, "kernel_svm_gap"), _kkt(model, witness, "kernel_svm_kkt", CLASSES)]
    if is_positive(witness) is not False:
        claims += _margin(model, witness)
        claims += _leave_one_out(model, witness) if K == 2 and prices is None else []
    return tuple(claims if prices is None else [*claims, _nu(model, witness)])


def svr_claims(model: Any) -> tuple[Claim, ...]:
    """All claims of a fitted regressor."""
    tube = getattr(model, "epsilon_", None)
    witness = {**_witness(model), "epsilon": float(model.epsilon if tube is None else tube)}
    witness |= {} if tube is None else {"nu": float(model.nu)}
    claims = (_gap(model, witness, "kernel_svr_gap"), _kkt(model, witness, "kernel_svr_kkt", NUMBERS))
    return claims if tube is None else (*claims, _nu(model, witness))


def _nu(model: Any, witness: dict[str, Any]) -> Claim:
    nu = f"nu = {witness['nu']:g}"
    statement = (
        f"the multipliers add up to {nu} times their bounds, so that the gap is that of the problem with nu: at least this share of the rows' "
        "weight has multipliers (and of the exact solution at most this share lies within the margin)"
        if "scheme" in witness
        else f"the multipliers add up to {nu} times their bounds, or to less where what is missing, times epsilon_, is within the gap, so that the gap "
        "is that of the problem with nu (of whose exact solution at most this share of the rows' weight lies outside of the tube)"
    )
    return Claim("nu", statement, _proved(model), "kernel_nu", float(witness["nu"]), float(model.tol), witness=witness)


def _witness(model: Any) -> dict[str, Any]:
    return {
        **kernel_witness(model._kernel()),
        "support": model.support_,
        "support_vectors": model._support_vectors,
        "dual_coef": model._dual_coef,
        "intercept": model.intercept_,
        "upper": np.atleast_1d(model.upper_),
        "objective": model.objective_,
        "dual_objective": model.dual_objective_,
        "tolerance": float(model.tol),
    }


def _proved(model: Any) -> bool:
    """Whether the gap is within the tolerance, and that says something: the other claims are of the solution that it comes near."""
    return bool(np.max(model.gap_) <= model.tol <= LOOSEST)


def _gap(model: Any, witness: dict[str, Any], check: str) -> Claim:
    worst, tol, many = float(np.max(model.gap_)), float(model.tol), len(model.gap_)
    positive = is_positive(witness)
    kind: Kind = "proof"
    which = "" if many == 1 else f" in each of {many} problems"
    if positive is False:
        name, kind = "stationary point", "warning"
        statement = (
            f"{model._kernel().words()} is not positive semidefinite for all rows, so there is no feature space and no least objective to "
            f"compare with; the first-order conditions are met to a relative P - D of {worst:.3g}{which}"
        )
    else:
        name = "duality gap"
        statement = (
            f"the multipliers are feasible, and the objective is at most a share of {tol:g} above the least possible{which}"
            + (GIVEN if positive is None else "")
        )
    return Claim(
        name=name,
        statement=statement,
        holds=_proved(model),
        check=check,
        value=worst,
        bound=tol,
        kind=kind,
        witness=witness,
    )


def _kkt(model: Any, witness: dict[str, Any], check: str, conditions: str) -> Claim:
    worst, tol = float(np.max(model.gap_)), float(model.tol)
    return Claim(
        name="KKT",
        statement=f"{conditions}, but for products of multiplier and distance that add up to at most a share of {tol:g} of the objective",
        holds=_proved(model),
        check=check,
        value=worst,
        bound=tol,
        witness=witness,
    )


def _problem_sums(model: Any, K: int) -> Floats:
    """Σ α of every problem (P,)."""
    size, code = np.abs(model._dual_coef), support_codes(model)
    if K == 2 or model.multi_class == "ovr":
        total: Floats = size.sum(axis=1)
        return total
    by_class = np.stack([np.bincount(code, weights=row, minlength=K) for row in size])
    return np.array([by_class[j - 1, i] + by_class[i, j] for i in range(K) for j in range(i + 1, K)])


def support_codes(model: Any) -> Array:
    """The class code of each support row: they are sorted by class."""
    return np.repeat(np.arange(len(model.n_support_)), model.n_support_)


def _margin(model: Any, witness: dict[str, Any]) -> list[Claim]:
    total = _problem_sums(model, len(model.classes_))
    hard = bool(np.isinf(model.upper_).all())
    square = 2.0 * (model.objective_ if hard else total - model.dual_objective_)
    if not np.isfinite(square).all() or not (square > NO_MARGIN * total).all():
        return []
    margin = 1.0 / math.sqrt(float(square.max()))
    least = "the least of all problems: " if len(total) > 1 else ""
    statement = (
        "every row is at least this far from the hyperplane, on its side of it"
        if hard
        else "1/|w|, the distance in feature space between the hyperplane and where scores are 1"
    )
    share = f" (to a share of {model.tol / 10:g} of the objective)"
    given = GIVEN if is_positive(witness) is None else ""
    told = least + statement + share + given
    return [Claim("margin", told, _proved(model), "kernel_svm_margin", margin, witness=witness)]


def _leave_one_out(model: Any, witness: dict[str, Any]) -> list[Claim]:
    """Support rows; under rbf and laplacian (K ≤ 1) of those between their bounds only the ones with 2 α ≥ 1 (Joachims 2000, R² = 1)."""
    alpha = np.abs(model._dual_coef[0])
    weights = getattr(model, "weights_", None)
    upper = model.upper_[support_codes(model)] * (1.0 if weights is None else weights)
    free = (alpha > 0) & (alpha < (1.0 - AT_BOUND) * upper)
    counted, why = alpha > 0, "that of the support rows: the others can be left out without change"
    if np.isfinite(model.upper_).all() and model._kernel().normed and free.any():
        counted &= ~free | (2.0 * alpha >= 1.0)
        why = (
            "that of the support rows at their bound or with 2 alpha >= 1 (Joachims' bound without its slack variables)"
        )
    return [
        Claim(
            name="leave-one-out error",
            statement=f"the share of rows that a fit without them would get wrong is at most {why} (of the exact solution, to which the gap "
            "comes near)",
            holds=_proved(model),
            check="kernel_svm_leave_one_out",
            value=float(counted.sum()) / int(model.n_rows_),
            kind="estimate",
            witness=witness,
        )
    ]
