"""Whether any weights are right on all rows: what a perceptron keeps of the answer, and the claims that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assay.certify import Claim
from assay.labels import plain_labels
from assay.learner import Fact, Tensor

if TYPE_CHECKING:
    from assay.solvers.separation import Separation, Space

ANSWERS = {True: "yes", False: "no", None: "undecided"}
SEPARATION_LAYOUT: dict[str, Tensor | Fact] = {
    "separable_": Fact(str, optional=True),
    "separator_": Tensor(("e",), optional=True),
    "greatest_margin_": Fact(float, low=0, optional=True),
    "margin_limit_": Fact(float, low=0, optional=True),
    "separation_radius_": Fact(float, low=0, optional=True),
    "support_": Tensor(("h",), dtype="<i8", low=0, optional=True),
    "support_sides_": Tensor(("h",), dtype="<i8", low=-1, high=1, optional=True),
    "support_weights_": Tensor(("h",), low=0, high=1, optional=True),
    "exactly_": Fact(bool, optional=True),
    "weakly_": Fact(bool, optional=True),
}


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
