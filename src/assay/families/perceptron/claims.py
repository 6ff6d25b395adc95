"""The certificate of a perceptron: the run can be replayed, its mistakes are bounded, and what the weights get wrong.

With R = max ‖x̃‖ and weights u of margin γ = min y⟨u, x̃⟩/‖u‖ > 0 (Novikoff 1962), steps ε_1 … ε_M from w = 0:

    γ Σε ≤ ⟨w, u⟩/‖u‖ ≤ ‖w‖ ≤ R √Σε²      so      (Σε)²/Σε² ≤ R²/γ²,     which is M ≤ R²/γ² where all steps are equal

For K > 2 classes a correction moves two rows of weights (‖ΔW‖² = 2ε²‖x̃‖²), γ = min (⟨w_y, x̃⟩ − max_k≠y ⟨w_k, x̃⟩)/‖W‖, and
the bound is 2R²/γ². A batch step counts as one step of the sum of its ε. From weights w⁰ ≠ 0 and equal steps,
γεM + a ≤ √(‖w⁰‖² + R²ε²M) with a = ⟨w⁰, u⟩/‖u‖ bounds M. Nothing is claimed where rounding could hide the sign of γ.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.errors import ConvergenceWarning, as_seen_by_sklearn
from assay.estimator.layout import Fact, Tensor
from assay.inputs.labels import plain_labels
from assay.numerics import Floats

if TYPE_CHECKING:
    from assay.solvers.separation.separation import Separation, Space


EPS = float(np.finfo(np.float64).eps)
MOST_CORRECTIONS = 200_000  # what a replay in plain NumPy may take: corrections, …
MOST_PRODUCTS = 2e9  # … products of scores, …
MOST_SPARSE_VISITS = 200_000  # … visits of sparse rows, …
MOST_VOTER_NUMBERS = 2_000_000  # … and numbers of voters to compare


COVERAGE = Coverage(
    proof={
        "perceptron_replay": "coef_ intercept_ class_factor_ start_ last_ drift_ voters_ votes_ n_iter_ t_ mistakes_",
        "perceptron_errors": "rows_ wrong_ wrong_weight_",
        "separability_hyperplane": "separator_ greatest_margin_",
        "separability_bound": "separation_radius_",
        "separability_margin separability_hulls": "support_ support_weights_",
    },
    nothing="converged_ history_ sparse_ step_sum_ step_squares_ radius_ least_margin_ weight_ separable_ margin_limit_ support_sides_ "
    "exactly_ weakly_",
)


class PerceptronEvidence(NamedTuple):
    """What a fit knows of itself."""

    model: Any
    last: Floats  # (m, d + 1), bias first

    @classmethod
    def of(cls, model: Any) -> PerceptronEvidence:
        last = model.last_ if model.variant == "averaged" else np.column_stack([model.intercept_, model._part("coef_")])
        return cls(model, last)


def claims_of(e: PerceptronEvidence) -> tuple[Claim, ...]:
    """All claims of a fit; none where rows came in pieces after a fit: nobody can go through them again."""
    m = e.model
    if m.history_ == "mixed":
        return ()
    replayed = _replayable(m)
    witness = _witness(e)
    claims = [_replay(m, witness)] if replayed else []
    if m.history_ == "fit":
        bound = _bound(e)
        if bound is not None:
            claims.append(_mistakes(e, witness, *bound, replayed))
        claims.append(_errors(m, witness))
    return tuple(claims)


def _replayable(m: Any) -> bool:
    voters = m.voters_.size if m.variant == "voted" else 0
    products = float(m.t_) * m.start_.size
    sparse = m.t_ > MOST_SPARSE_VISITS and m.sparse_
    return bool(
        m.mistakes_ <= MOST_CORRECTIONS and products <= MOST_PRODUCTS and voters <= MOST_VOTER_NUMBERS and not sparse
    )


def _witness(e: PerceptronEvidence) -> dict[str, Any]:
    m = e.model
    return {
        "classes": plain_labels(m.classes_),
        "w": e.last,
        "start": m.start_,
        "factor": m.class_factor_,
        "order": _order_of(m),
        "eta": float(m.eta0),
        "intercept": bool(m.fit_intercept),
        "seed": int(m.random_state or 0),
        "passes": int(m.n_iter_),
        "visits": int(m.t_),
        "mistakes": int(m.mistakes_),
    }


def _order_of(m: Any) -> str:
    """The order in which rows were visited: pieces are gone through as they come."""
    if m.history_ == "pieces" and m.order != "batch":
        return "first-mistake in order" if m.order == "first-mistake" else "cyclic"
    return f"{m.order}, shuffled" if m.shuffle else str(m.order)


def _replay(m: Any, witness: dict[str, Any]) -> Claim:
    more: dict[str, Any] = {}
    if m.variant == "averaged":
        more = {"mean": np.column_stack([m.intercept_, m._part("coef_")])}
    elif m.variant == "voted":
        more = {"voters": m.voters_, "votes": m.votes_}
    what = {"last": "w", "averaged": "w and its average", "voted": "w and all voters"}[m.variant]
    return Claim(
        name="replay",
        statement=f"order {witness['order']!r} with step {m.eta0:g}: {m.t_} visits from the stated start give {what}, with "
        f"{m.mistakes_} mistakes",
        holds=True,
        check="perceptron_replay",
        value=float(m.mistakes_),
        witness={**witness, **more},
    )


def _bound(e: PerceptronEvidence) -> tuple[float, float, float] | None:
    """(γ, the effective number of mistakes, its bound), or None where γ may be ≤ 0 or no bound is known."""
    m, size = e.model, e.last.shape[1]
    norm = float(np.linalg.norm(e.last))
    many = len(e.last) > 1
    if not (norm > 0 and m.step_squares_ > 0):
        return None
    R = m.radius_ * (1 + (size + 4) * EPS)
    gamma = m.least_margin_ / norm * (1 - (size + 4) * EPS) - 4 * (size + 8) * EPS * R
    if not gamma > 0:
        return None
    effective = m.step_sum_**2 / m.step_squares_
    square = (2 if many else 1) * R * R
    if not m.start_.any():
        return gamma, effective, square / gamma**2
    equal = math.isclose(effective, m.mistakes_, rel_tol=1e-12) and m.order != "batch"
    if not equal:
        return None
    return gamma, effective, most_mistakes(square, gamma, m.step_sum_ / m.mistakes_, m.start_, e.last / norm)


def most_mistakes(square: float, gamma: float, eps: float, start: Floats, u: Floats) -> float:
    """The bound on the mistakes of equal steps ε from w⁰ = `start`, by weights u of length 1 and margin γ; `square` is R² (2R²)."""
    if not start.any():
        return square / gamma**2
    a = float(np.sum(start * u))
    p, q = square * eps**2 - 2 * gamma * eps * a, float(np.sum(start**2)) - a * a
    bound = (p + math.sqrt(p * p + 4 * (gamma * eps) ** 2 * max(q, 0.0))) / (2 * (gamma * eps) ** 2)
    return bound * (1 + 1e-9)


def _mistakes(
    e: PerceptronEvidence, witness: dict[str, Any], gamma: float, value: float, bound: float, replayed: bool
) -> Claim:
    m = e.model
    R = m.radius_
    number = f"{m.mistakes_} mistakes"
    if not math.isclose(value, m.mistakes_, rel_tol=1e-9):
        number = f"(sum of steps)^2 / sum of squared steps = {value:.6g} of {m.mistakes_} mistakes"
    formula = "2R^2/gamma^2" if len(e.last) > 1 else "R^2/gamma^2"
    formula = formula if not m.start_.any() else "the root of (gamma*eps*M + a)^2 = |w0|^2 + R^2*eps^2*M"
    how = "" if replayed else "; the mistakes are as the fit counted them: too many visits to replay"
    return Claim(
        name="mistake bound",
        statement=f"{number} in order {witness['order']!r} <= {formula} with R = {R:.6g} and the margin gamma = {gamma:.6g} of w; "
        f"scaled to R = 1 the margin is {gamma / R:.6g} and the bound the same{how}",
        holds=bool(value <= bound),
        check="perceptron_bound",
        value=float(value),
        bound=float(bound),
        kind="proof" if replayed else "estimate",
        witness={**witness, "radius": float(R), "gamma": float(gamma), "replayed": replayed},
    )


def _errors(m: Any, witness: dict[str, Any]) -> Claim:
    mean = {"mean": np.column_stack([m.intercept_, m._part("coef_")])} if m.variant == "averaged" else {}
    whose = "the averaged weights" if mean else "the last weights" if m.variant == "voted" else "w"
    if m.wrong_ == 0:
        what = (
            f"{whose} are right on all {m.rows_} rows"
            if mean or m.variant == "voted"
            else f"w is right on all {m.rows_} rows"
        )
    else:
        share = m.wrong_weight_ / m.weight_
        what = f"{whose}: wrong on {m.wrong_} of {m.rows_} rows, a share of {share:.4g} by weight, after {m.n_iter_} "
        what += "searches" if m.order == "first-mistake" else "passes"
    return Claim(
        name="mistakes left",
        statement=what,
        holds=True,
        check="perceptron_errors",
        value=float(m.wrong_weight_ / m.weight_),
        kind="proof" if m.wrong_ == 0 else "warning",
        witness={
            "classes": witness["classes"],
            "w": witness["w"],
            "factor": m.class_factor_,
            "rows": int(m.rows_),
            "wrong": int(m.wrong_),
            **mean,
        },
    )


# Whether any weights are right on all rows: what a perceptron keeps of the answer, the claims that follow, and advice.

ANSWERS = {True: "yes", False: "no", None: "undecided"}
SEPARATION_LAYOUT: dict[str, Tensor | Fact] = {
    "separable_": Fact(str, optional=True, doc="whether any weights are right on all rows: 'yes', 'no' or 'undecided'; absent where nobody asked"),
    "separator_": Tensor(("e",), optional=True, doc="(b, w) that is right on all rows, or comes nearest to it"),
    "greatest_margin_": Fact(float, low=0, optional=True, doc="the margin of `separator_`: the least distance of a row from its hyperplane"),
    "margin_limit_": Fact(float, low=0, optional=True, doc="no separator has a greater margin than this"),
    "separation_radius_": Fact(float, low=0, optional=True, doc="R, the greatest length of a row, as in the bound (R / margin)²"),
    "support_": Tensor(("h",), dtype="<i8", low=0, optional=True, doc="the numbers of the rows that prove the answer"),
    "support_sides_": Tensor(("h",), dtype="<i8", low=-1, high=1, optional=True, doc="the side, +1 or −1, of each of these rows"),
    "support_weights_": Tensor(("h",), low=0, high=1, optional=True, doc="their convex weights: the hulls of both sides meet there, or are nearest"),
    "exactly_": Fact(bool, optional=True, doc="whether the answer was proved with exact arithmetic"),
    "weakly_": Fact(bool, optional=True, doc="whether a hyperplane has the classes on its two sides, with rows on it; None where it was not asked"),
}  # fmt: skip


def kept(found: Separation) -> dict[str, Any]:
    """The learnt attributes of a separation."""
    return {
        "separable_": ANSWERS[found.separable],
        "separator_": np.append(found.intercept, found.coef),
        "greatest_margin_": float(found.margin),
        "margin_limit_": float(found.upper),
        "separation_radius_": float(found.radius),
        "support_": np.asarray(found.rows, dtype=np.int64),
        "support_sides_": np.asarray(found.sides, dtype=np.int64),
        "support_weights_": np.asarray(found.weights, dtype=np.float64),
        "exactly_": bool(found.exact),
        "weakly_": None if found.weak is None else bool(found.weak),
    }


def separation_claims_of(model: Any, space: Space) -> tuple[Claim, ...]:
    """The claims of what was kept; none where nothing was asked or rounding hides the answer."""
    answer = {text: value for value, text in ANSWERS.items()}.get(getattr(model, "separable_", "undecided"))
    if answer is None:
        return ()
    from assay.families.separability.separability import bound_claim, is_clear, separation_claims
    from assay.solvers.separation.separation import Separation

    margin, upper = model.greatest_margin_, model.margin_limit_
    found = Separation(
        separable=answer,
        space=space,
        coef=model.separator_[1:],
        intercept=float(model.separator_[0]),
        margin=margin,
        upper=upper,
        gap=max(0.0, 1.0 - margin / upper) if answer and upper > 0 else 1.0,
        radius=model.separation_radius_,
        rows=model.support_,
        sides=model.support_sides_,
        weights=model.support_weights_,
        exact=model.exactly_,
        weak=model.weakly_ if hasattr(model, "weakly_") else None,
        passes=0,
        reason="",
    )
    label = plain_labels(model.classes_)[1]
    bound = (bound_claim(found, label),) if answer and is_clear(found) else ()
    return (*separation_claims(found, label), *bound)


def warn_unfinished(model: Any) -> None:
    """Warn that a fit ended with mistakes, and say what to do about it, given what is known."""
    what = "searches" if model.order == "first-mistake" else "passes"
    known = getattr(model, "separable_", None)
    advice = {
        "no": "No weights are right on all rows (the certificate has the proof): allow a share of mistakes (tol=0.05), use "
        "variant='averaged', or fit a model that bears mistakes.",
        "yes": "Weights that are right on all rows exist (the certificate has them): raise max_iter.",
    }.get(
        str(known),
        "Raise max_iter"
        + (
            ", or ask whether any weights could do it: model.certify(X, y) and assay.separability(X, y) tell. "
            if len(model.classes_) == 2
            else " (assay.separability tells of each class against the rest only). "
        )
        + "Where none can, allow a share of mistakes (tol=0.05) or use variant='averaged'.",
    )
    warnings.warn(
        f"Perceptron: {model.max_iter} {what} did not end in one without a mistake; {model.wrong_} of {model.rows_} rows are on the "
        f"wrong side. {advice}",
        as_seen_by_sklearn(ConvergenceWarning),
        stacklevel=6,
    )
