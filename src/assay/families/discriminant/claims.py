"""What a fit of normal class densities claims; `families/discriminant/check/` re-establishes it from the rows.

The decision boundary between two classes is in the letters of the lecture notes (000, section 4.2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.inputs.labels import plain_labels
from assay.numerics import Floats, safe_log

TOLERANCE = 1e-6
ROUNDING = float(np.finfo(np.float64).eps)


COVERAGE = Coverage(
    proof={
        "discriminant_likelihood": "priors_ whiten_ log_det_ state.mean added_ scalings_",
        "discriminant_pooled": "pooled_share_ pooled_errors_",
    },
    nothing="estimated_ rank_ state.class_count state.scatter state.third state.fourth explained_variance_ratio_",
    but="the statistics (state) that partial_fit would go on from, but for the means",
)


GIVEN = Coverage(
    proof={"discriminant_likelihood": "priors_ state.mean"},
    nothing="estimated_ whiten_ log_det_ added_ scalings_ pooled_share_ pooled_errors_ "
    + COVERAGE.nothing.replace("estimated_ ", ""),
    but="the covariances, which an estimator of yours gave",
)


def coverage_of(model: Any) -> Coverage:
    """What the claims of a model cover: of covariances that were given, that densities follow from them, but not that they are the rows'."""
    return COVERAGE if model.estimated_ is None else GIVEN


@np.errstate(over="ignore", invalid="ignore")  # what is not finite holds nowhere
def normal_claims(model: Any, n: Floats, recipe: dict[str, Any]) -> tuple[Claim, ...]:
    """The claims of a fitted model. `recipe` says how its covariances follow from the rows; n (K,) weighs the classes."""
    recipe = {"classes": plain_labels(model.classes_), "priors": model.priors_, "added": model.added_, **recipe}
    claims = [_likelihood(model, n, recipe)]
    if len(n) == 2 and np.all(model.priors_ > 0):
        claims.append(_boundary(model, recipe))
    groups = np.flatnonzero(model.added_.any(axis=1))
    if "pooled_share" in recipe:
        claims.append(_pooled(model, recipe))
    elif len(groups):
        claims.append(_singular(model, groups, recipe))
    return tuple(claims)


def _residual(A: Floats, covariance: Floats, added: Floats) -> tuple[float, float]:
    """How far the whitened variances are from one, and how far rounding can put them: 1e-6 + 1e-12·‖A diag(u)‖².

    u_j is the standard deviation of column j; the norm is at most d / λ_min of the correlations.
    """
    variance = np.einsum("ij,ij->i", A @ covariance + A * added, A)
    return float(np.abs(variance - 1).max()), TOLERANCE + 1e-12 * _spread(A, covariance, added)


def _spread(A: Floats, covariance: Floats, added: Floats) -> float:
    """‖A diag(u)‖² = tr R⁻¹ of the correlations R: how much rounding grows in what is whitened."""
    return float((A * A @ (np.diag(covariance) + added)).sum())


def _covariances(model: Any) -> Floats:
    """All of them, (G, d, d)."""
    C: Floats = model.covariance_
    return C if C.ndim == 3 else C[None]


def _likelihood(model: Any, n: Floats, recipe: dict[str, Any]) -> Claim:
    covariances = _covariances(model)
    found = [
        _residual(model.whiten_[g], covariances[g], model.added_[g])
        for g in range(len(model.whiten_))
        if recipe["tied"] or n[g] > 0
    ]
    worst, bound = max(r for r, _ in found), max(b for _, b in found)
    kind = {"tied": "one covariance for all classes", "diagonal": "diagonal covariances"}
    what = kind.get(recipe["covariance"], f"{recipe['covariance']} covariances")
    given = (
        "" if model.estimated_ is None else "; those of the classes are as covariance_estimator gave them, unchecked"
    )
    divisor = "N − K" if recipe["tied"] else "N_k − 1"
    return Claim(
        name="maximum likelihood",
        statement=(
            f"priors {'as given' if recipe['priors_given'] else 'N_k/N'}, means and {what} "
            f"(divided by {divisor if recipe['unbiased'] else 'N' if recipe['tied'] else 'N_k'}{_pull(recipe)}) are the closed form; "
            f"whitened covariances are I within {bound:.1e}{given}"
        ),
        holds=all(r <= b < np.inf for r, b in found),
        check="discriminant_likelihood",
        value=worst,
        bound=bound,
        witness={**recipe, "mean": model.means_, "whiten": model.whiten_, "log_det": model.log_det_},
    )


def _pull(recipe: dict[str, Any]) -> str:
    pulls = [f"{word}={recipe[word]}" for word in ("shrinkage", "reg_param", "pooled_share") if recipe.get(word)]
    return f", {', '.join(pulls)}" if pulls else ""


def _boundary(model: Any, recipe: dict[str, Any]) -> Claim:
    """Value: the form at the midpoint of the means against the log-odds there, relative to its largest term."""
    line = boundary(model.priors_, model.means_, model.whiten_, model.log_det_)
    x = model.means_.mean(axis=0)
    odds = model._scores(x[None])[0]
    error = abs(float(line.form(x[None])[0]) - 2 * float(odds[0] - odds[1])) / _terms(line, x)
    spreads = [_spread(*parts) for parts in zip(model.whiten_, _covariances(model), model.added_)]
    bound = TOLERANCE if error <= TOLERANCE else max(TOLERANCE, 16 * ROUNDING * max(spreads))
    first, second = recipe["classes"]
    return Claim(
        name="boundary",
        statement=f"b̃ − wᵀx + xᵀMx is twice the log-odds of {first!r} against {second!r} on every row",
        holds=error <= bound,
        check="discriminant_boundary",
        value=error,
        bound=bound,
        witness={**recipe, "b": line.b, "w": line.w, "M": line.M},
    )


def _singular(model: Any, groups: Any, recipe: dict[str, Any]) -> Claim:
    which = _which(model, groups, recipe)
    top = float(model.added_.max())
    return Claim(
        name="singular covariance",
        statement=(
            f"{which}: the least ridge that cures it was added, up to {top:.3g} to a column's variance; "
            "consider reg_param, shrinkage or fewer columns"
        ),
        holds=True,
        check="discriminant_singular",
        value=top,
        kind="warning",
        witness={**recipe, "rank": model.rank_, "tol": float(model.tol)},
    )


def _which(model: Any, groups: Any, recipe: dict[str, Any]) -> str:
    """The covariances that are singular, and their ranks."""
    d = model.means_.shape[1]
    if recipe["tied"]:
        return f"the common covariance has rank {int(model.rank_[0])} of {d}"
    named = [f"{recipe['classes'][g]!r} has rank {int(model.rank_[g])}" for g in groups[:5]]
    more = f" and {len(groups) - 5} more" if len(groups) > 5 else ""
    return f"the covariance of class {', '.join(named)}{more} (of {d})"


def _pooled(model: Any, recipe: dict[str, Any]) -> Claim:
    """Value: the leave-one-out error of the share that was chosen."""
    share, errors, top = recipe["pooled_share"], model.pooled_errors_, float(model.added_.max())
    there = model._state.class_count > 0
    which = _which(model, np.flatnonzero((model.rank_ < model.means_.shape[1]) & there), recipe)
    why = (
        "as rows learnt from earlier are gone"
        if errors is None
        else f"that of least leave-one-out error of {len(errors)}"
    )
    ridge = f"; the common one is singular too: up to {top:.3g} was added to a column's variance" if top > 0 else ""
    return Claim(
        name="singular covariance",
        statement=f"{which}: all covariances are pulled towards the common one by the share {share:.3g}, {why}{ridge}",
        holds=True,
        check="discriminant_pooled",
        value=None if errors is None else float(errors.min()),
        kind="warning",
        witness={**recipe, "rank": model.rank_, "tol": float(model.tol), "errors": [] if errors is None else errors},
    )


class Boundary(NamedTuple):
    """b − wᵀx + xᵀMx = 0, with b for the notes' b̃. The form is 2·log[ p(C₁|x) / p(C₂|x) ]: positive on the side of C₁.

    C₁ is `classes_[0]` and C₂ is `classes_[1]`; `decision_function`, the log-odds of C₂, is −½ of the form.
    """

    b: float
    w: Floats
    M: Floats

    def form(self, X: Floats) -> Floats:
        """b − wᵀx + xᵀMx for each row of X (n, d)."""
        value: Floats = self.b - X @ self.w + np.einsum("ij,ij->i", X @ self.M, X)
        return value


@np.errstate(over="ignore", invalid="ignore")
def boundary(priors: Floats, means: Floats, whiten: Floats, log_det: Floats) -> Boundary:
    """The boundary of two classes; `whiten` (G, d, d) and `log_det` (G,) with G = 1 where they share a covariance.

    b = 2 log(p₁/p₂) − log|Σ₁| + log|Σ₂| − μ₁ᵀΣ₁⁻¹μ₁ + μ₂ᵀΣ₂⁻¹μ₂,  w = 2(Σ₂⁻¹μ₂ − Σ₁⁻¹μ₁),  M = Σ₂⁻¹ − Σ₁⁻¹
    """
    line, centre = _about_zero(priors, means, whiten, log_det), means[0]
    near = _about_zero(priors, means - centre, whiten, log_det)
    off = abs(float(line.form(centre[None])[0]) - near.b)
    return line if off <= TOLERANCE * _terms(line, centre) else _moved(near, centre)  # far from zero its terms drown b


def _about_zero(priors: Floats, means: Floats, whiten: Floats, log_det: Floats) -> Boundary:
    A1, A2 = whiten[0], whiten[-1]
    z1, z2 = A1 @ means[0], A2 @ means[1]
    log_p = safe_log(priors)
    b = 2 * (log_p[0] - log_p[1]) - log_det[0] + log_det[-1] - z1 @ z1 + z2 @ z2
    w = 2 * (A2.T @ z2 - A1.T @ z1)
    M = A2.T @ A2 - A1.T @ A1 if len(whiten) > 1 else np.zeros((len(w), len(w)))
    return Boundary(float(b), w, M)


def _terms(line: Boundary, x: Floats) -> float:
    """The size of the form's terms at x, to which rounding is proportional."""
    return 1 + abs(line.b) + float(np.abs(line.w) @ np.abs(x) + np.abs(x) @ np.abs(line.M) @ np.abs(x))


def _moved(line: Boundary, centre: Floats) -> Boundary:
    """The form of x, from that of x − centre."""
    turned = line.M @ centre
    return Boundary(float(line.b + line.w @ centre + centre @ turned), line.w + 2 * turned, line.M)
