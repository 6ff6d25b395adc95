"""Which independent optimum or recomputation a claim is compared with, by the name of its check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fuzz.case import Case
from fuzz.closed_forms import baseline_shares, centroids, counts, discriminant_means, priors, weighted_means
from fuzz.deviances import deviance
from fuzz.feature_maps import approximation, on_features
from fuzz.forest_votes import forest_leaves, out_of_bag
from fuzz.huber_optima import huber
from fuzz.kernel_optima import hard_margin, svc, svr
from fuzz.kernel_runs import kernel_counts, kernel_replay, kernel_scores
from fuzz.least_squares_optima import least_squares
from fuzz.left_out import constant, ridge_left_out
from fuzz.linear_optima import boxed_gap, duality_gap, stochastic_risk
from fuzz.network_tangents import network
from fuzz.perceptron_runs import errors, replay
from fuzz.recomputed import least_error, neighbours, root_split, soft_neighbours, tightest, tree, within
from fuzz.sides import hulls, planes

Problem = tuple[str, str]

ORACLES: dict[str, Callable[[Case, Any, dict[str, Any]], Iterator[Problem]]] = {
    "normal_equations": least_squares,
    "duality_gap": duality_gap,
    "boxed_duality_gap": boxed_gap,
    "deviance_gap": deviance,
    "huber_gap": huber,
    "stochastic_risk": stochastic_risk,
    "ridge_leave_one_out": ridge_left_out,
    "constant_answer": constant,
    "kernel_svm_gap": svc,
    "kernel_svr_gap": svr,
    "separability_hulls": hulls,
    "separability_hyperplane": planes,
    "neighbours_exact": neighbours,
    "neighbours_within": within,
    "nearest_centroid": centroids,
    "neighbours_learned": soft_neighbours,
    "naive_bayes_gaussian": weighted_means,
    "naive_bayes_bernoulli": counts,
    "naive_bayes_poisson": counts,
    "naive_bayes_priors": priors,
    "discriminant_likelihood": discriminant_means,
    "hard_margin": hard_margin,
    "tree_best_splits": root_split,
    "constant_class": baseline_shares,
    "tree_leaves": tree,
    "rectangle_tightest": tightest,
    "rectangle_least_error": least_error,
    "network_loss": network,
    "forest_leaves": forest_leaves,
    "out_of_bag": out_of_bag,
    "perceptron_replay": replay,
    "perceptron_errors": errors,
    "kernel_perceptron_replay": kernel_replay,
    "kernel_perceptron_counts": kernel_counts,
    "kernel_perceptron_errors": kernel_scores,
    "kernel_features": on_features,
    "kernel_approximation": approximation,
}


def against_optima(case: Case, model: Any) -> Iterator[Problem]:
    """What independent arithmetic says against the claims of a fitted model."""
    claims = {claim.check: claim for claim in model.certificate_}
    for check, oracle in ORACLES.items():
        if check in claims:
            yield from oracle(case, model, claims)
