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
    "constant_class": "assay.certify.checks.baseline:check_constant_class",
    "constant_number": "assay.certify.checks.baseline:check_constant_number",
    "discriminant_boundary": "assay.certify.checks.discriminant:check_boundary",
    "discriminant_likelihood": "assay.certify.checks.discriminant:check_likelihood",
    "discriminant_singular": "assay.certify.checks.discriminant:check_singular",
    "duality_gap": "assay.certify.checks.linear:check_duality_gap",
    "boxed_duality_gap": "assay.certify.checks.linear:check_boxed_duality_gap",
    "small_slope": "assay.certify.checks.linear_likelihood:check_small_slope",
    "separating_weights": "assay.certify.checks.linear_likelihood:check_separating_weights",
    "inverse_hessian": "assay.certify.checks.linear_likelihood:check_inverse_hessian",
    "kernel_perceptron_bound": "assay.certify.checks.kernel_perceptron:check_bound",
    "kernel_perceptron_counts": "assay.certify.checks.kernel_perceptron:check_counts",
    "kernel_perceptron_errors": "assay.certify.checks.kernel_perceptron:check_errors",
    "kernel_perceptron_replay": "assay.certify.checks.kernel_perceptron_replay:check_replay",
    "kernel_perceptron_values": "assay.certify.checks.kernel_perceptron:check_values",
    "hard_margin": "assay.certify.checks.hard_margin:check_hard_margin",
    "leave_one_out_bound": "assay.certify.checks.hard_margin:check_leave_one_out_bound",
    "custom_loss": "assay.certify.checks.custom_loss:check_custom_loss",
    "zero_perceptron_loss": "assay.certify.checks.custom_loss:check_zero_perceptron_loss",
    "held_out_error": "assay.certify.checks.held_out:check_held_out_error",
    "held_out_loss": "assay.certify.checks.held_out:check_held_out_loss",
    "kernel_features": "assay.certify.checks.kernel_features:check_on_features",
    "kernel_approximation": "assay.certify.checks.kernel_features:check_approximation",
    "normal_equations": "assay.certify.checks.least_squares:check_normal_equations",
    "least_squares_rank": "assay.certify.checks.least_squares:check_least_squares_rank",
    "minimum_norm": "assay.certify.checks.least_squares:check_minimum_norm",
    "residual_variance": "assay.certify.checks.least_squares:check_residual_variance",
    "kernel_probabilities": "assay.certify.checks.kernel_probability:check_probabilities",
    "kernel_svm_gap": "assay.certify.checks.kernel_svm:check_gap",
    "kernel_svm_kkt": "assay.certify.checks.kernel_svm:check_kkt",
    "kernel_svm_margin": "assay.certify.checks.kernel_svm:check_margin",
    "kernel_svm_leave_one_out": "assay.certify.checks.kernel_svm:check_leave_one_out",
    "kernel_svr_gap": "assay.certify.checks.kernel_svr:check_gap",
    "kernel_svr_kkt": "assay.certify.checks.kernel_svr:check_kkt",
    "naive_bayes_priors": "assay.certify.checks.naive_bayes:check_priors",
    "naive_bayes_gaussian": "assay.certify.checks.naive_bayes:check_gaussian",
    "naive_bayes_bernoulli": "assay.certify.checks.naive_bayes:check_bernoulli",
    "naive_bayes_poisson": "assay.certify.checks.naive_bayes:check_poisson",
    "naive_bayes_multinomial": "assay.certify.checks.naive_bayes:check_multinomial",
    "naive_bayes_categorical": "assay.certify.checks.naive_bayes:check_categorical",
    "network_slopes": "assay.certify.checks.network:check_back_propagation",
    "network_loss": "assay.certify.checks.network:check_loss",
    "network_errors": "assay.certify.checks.network:check_errors",
    "network_gradient": "assay.certify.checks.network:check_gradient",
    "network_best_epoch": "assay.certify.checks.network:check_best_epoch",
    "neighbours_kept": "assay.certify.checks.neighbours:check_kept",
    "neighbours_exact": "assay.certify.checks.neighbours:check_exact",
    "neighbours_whitened": "assay.certify.checks.neighbours:check_whitened",
    "neighbours_learned": "assay.certify.checks.neighbours:check_learned",
    "neighbours_choice": "assay.certify.checks.neighbours:check_choice",
    "neighbours_bayes": "assay.certify.checks.neighbours:check_bayes",
    "perceptron_bound": "assay.certify.checks.perceptron:check_bound",
    "perceptron_errors": "assay.certify.checks.perceptron:check_errors",
    "perceptron_replay": "assay.certify.checks.perceptron:check_replay",
    "naive_bayes_smoothing": "assay.certify.checks.naive_bayes:check_smoothing",
    "rectangle_tightest": "assay.certify.checks.rectangle:check_tightest",
    "rectangle_least_error": "assay.certify.checks.rectangle:check_least_error",
    "rectangle_local": "assay.certify.checks.rectangle:check_local",
    "rectangle_pac": "assay.certify.checks.rectangle:check_pac",
    "rectangle_answers": "assay.certify.checks.rectangle:check_answers",
    "tree_leaves": "assay.certify.checks.trees_leaves:check_tree_leaves",
    "tree_gains": "assay.certify.checks.trees_splits:check_gains",
    "tree_best_splits": "assay.certify.checks.trees_splits:check_best_splits",
    "forest_leaves": "assay.certify.checks.trees_leaves:check_forest_leaves",
    "out_of_bag": "assay.certify.checks.trees_out_of_bag:check_out_of_bag",
    "separability_bound": "assay.certify.checks.separability:check_bound",
    "separability_hulls": "assay.certify.checks.separability:check_hulls",
    "separability_hyperplane": "assay.certify.checks.separability:check_hyperplane",
    "separability_margin": "assay.certify.checks.separability:check_margin",
    "separability_weak": "assay.certify.checks.separability:check_weak",
}


def checker(name: str) -> Check | None:
    """The checker of that name, or None."""
    where = CHECKS.get(name)
    if where is None:
        return None
    module, function = where.split(":")
    found: Check = getattr(import_module(module), function)
    return found
