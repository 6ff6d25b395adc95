"""Whether any weights are right on all rows: what a perceptron keeps of the answer, the claims that follow, and advice."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.errors import ConvergenceWarning, as_seen_by_sklearn
from assay.labels import plain_labels
from assay.learner import Fact, Tensor

if TYPE_CHECKING:
    from assay.solvers.separation import Separation, Space

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
    from assay.hypotheses.separation_claims import bound_claim, separation_claims
    from assay.solvers.separation import Separation

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
    bound = (bound_claim(found, label),) if answer and space == "augmented" else ()
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
