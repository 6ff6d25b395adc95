"""One small independent checker a kind of claim: plain NumPy, two passes where the solver took one, slow if need be.

A checker is `check(claim, rows, predict) -> Verdict`. It trusts nothing but the rows and the witness. It must refuse a
witness that does not prove the claim.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from assay.certify.claim import Claim, Verdict
from assay.engines import Rows

Check = Callable[[Claim, Rows, Any], Verdict]

CHECKS: dict[str, str] = {
    "discriminant_boundary": "assay.certify.checks.discriminant:check_boundary",
    "discriminant_likelihood": "assay.certify.checks.discriminant:check_likelihood",
    "discriminant_singular": "assay.certify.checks.discriminant:check_singular",
    "held_out_error": "assay.certify.checks.held_out:check_held_out_error",
    "held_out_loss": "assay.certify.checks.held_out:check_held_out_loss",
    "normal_equations": "assay.certify.checks.least_squares:check_normal_equations",
    "least_squares_rank": "assay.certify.checks.least_squares:check_least_squares_rank",
    "minimum_norm": "assay.certify.checks.least_squares:check_minimum_norm",
    "residual_variance": "assay.certify.checks.least_squares:check_residual_variance",
    "naive_bayes_priors": "assay.certify.checks.naive_bayes:check_priors",
    "naive_bayes_gaussian": "assay.certify.checks.naive_bayes:check_gaussian",
    "naive_bayes_bernoulli": "assay.certify.checks.naive_bayes:check_bernoulli",
    "naive_bayes_poisson": "assay.certify.checks.naive_bayes:check_poisson",
    "naive_bayes_multinomial": "assay.certify.checks.naive_bayes:check_multinomial",
    "naive_bayes_categorical": "assay.certify.checks.naive_bayes:check_categorical",
    "naive_bayes_smoothing": "assay.certify.checks.naive_bayes:check_smoothing",
}


def checker(name: str) -> Check | None:
    """The checker of that name, or None."""
    where = CHECKS.get(name)
    if where is None:
        return None
    module, function = where.split(":")
    found: Check = getattr(import_module(module), function)
    return found
