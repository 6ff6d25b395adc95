"""Each model with the settings of the lecture notes, in one word: `assay.notes.decision_tree()` is the entropy tree.

Every function takes further hyper-parameters by name, which then count instead. The book ("The notes, section by section") says which
section each is from.
"""

from __future__ import annotations

from typing import Any

from assay.families import model_class

CLASSIFIERS = (
    "decision_tree",
    "gaussian_naive_bayes",
    "k_nn",
    "kernel_perceptron",
    "kernel_svm",
    "logistic_regression",
    "map_classifier",
    "neural_network",
    "online_perceptron",
    "perceptron",
    "random_forest",
    "svm",
)
__all__ = [*CLASSIFIERS, "CLASSIFIERS", "batch_perceptron", "gradient_descent", "least_squares", "polynomial"]


def _made(name: str, settings: dict[str, Any], given: dict[str, Any]) -> Any:
    return model_class(name)(**{**settings, **given})


def perceptron(**settings: Any) -> Any:
    """PLA: from w = 0 the first row with y⟨w, x̃⟩ ≤ 0 is added, until there is none.

    >>> perceptron().fit([[2, -1], [2, 1], [1, 3]], [1, 1, 0]).mistakes_
    3
    """
    return _made("perceptron", {"order": "first-mistake"}, settings)


def online_perceptron(passes: int = 5, **settings: Any) -> Any:
    """Row after row from w = 0, `passes` times over all of them (5N visits are five), sgn(0) = 1."""
    return _made("perceptron", {"order": "cyclic", "max_iter": passes}, settings)


def batch_perceptron(**settings: Any) -> Any:
    """All mistakes of a pass at once, from weights drawn close to zero."""
    return _made("perceptron", {"order": "batch", "init": "random"}, settings)


def kernel_perceptron(kernel: Any = "affine", **settings: Any) -> Any:
    """α_i + 1 at each mistake; K(x, z) = 1 + x·z is the perceptron itself."""
    return _made("kernel-perceptron", {"kernel": kernel}, settings)


def map_classifier(**settings: Any) -> Any:
    """The MAP classifier with estimated normal classes: priors N_k/N, means, covariances over N_k."""
    return _made("qda", {}, settings)


def gaussian_naive_bayes(**settings: Any) -> Any:
    """Naive Bayes with normal densities by closed-form maximum likelihood, nothing added to the variances."""
    return _made("gaussian-nb", {"var_smoothing": 0.0}, settings)


def k_nn(k: int = 1, **settings: Any) -> Any:
    """The class most common among the k nearest rows, by the Euclidean distance."""
    return _made("knn", {"n_neighbors": k, "metric": "euclidean"}, settings)


def svm(**settings: Any) -> Any:
    """The widest margin of separable classes, min ½‖w‖² with y(w·x + w₀) ≥ 1, by projected gradient descent."""
    return _made("linear-svc", {"C": float("inf"), "loss": "hinge", "solver": "pgd"}, settings)


def kernel_svm(kernel: Any = "rbf", C: float = float("inf"), **settings: Any) -> Any:
    """The dual of the widest margin in feature space, by sequential quadratic programming."""
    return _made("svc", {"kernel": kernel, "C": C, "solver": "sqp"}, settings)


def logistic_regression(**settings: Any) -> Any:
    """Maximum likelihood without a penalty, by Newton's method."""
    return _made("logistic-regression", {"C": float("inf"), "solver": "newton"}, settings)


def neural_network(units: int = 10, **settings: Any) -> Any:
    """One layer of logistic units by stochastic gradient descent, on the log loss: the zero-one loss has no slope."""
    ours = {
        "hidden_layer_sizes": (units,),
        "activation": "logistic",
        "solver": "sgd",
        "momentum": 0.0,
        "random_state": 0,
    }
    return _made("mlp", ours, settings)


def decision_tree(**settings: Any) -> Any:
    """The tree whose splits gain most entropy, grown until every leaf holds one class."""
    return _made("decision-tree", {"criterion": "entropy"}, settings)


def random_forest(trees: int = 100, samples: float | int = 0.632, **settings: Any) -> Any:
    """T entropy trees, each of m < n draws with replacement (`samples`: a share of n, or m itself); the majority of their votes."""
    ours = {
        "n_estimators": trees,
        "max_samples": samples,
        "criterion": "entropy",
        "voting": "majority",
        "random_state": 0,
    }
    return _made("random-forest", ours, settings)


def least_squares(**settings: Any) -> Any:
    """w = (AᵀA)⁻¹Aᵀf."""
    return _made("linear-regression", {}, settings)


def gradient_descent(**settings: Any) -> Any:
    """w ← w − ε ∇E(w), E = ½ Σ (w·x̃ − f)², from weights drawn close to zero."""
    return _made("linear-regression", {"solver": "gd", "init": "random"}, settings)


def polynomial(degree: int, **settings: Any) -> Any:
    """Least squares over all polynomials of a degree in the columns: ridge regression in the features of (x·z + 1)^degree, with a penalty
    so small that it only keeps the equations solvable. Bring the column to about −1 … 1 first.
    """
    ours = {"kernel": "poly", "degree": degree, "gamma": 1.0, "coef0": 1.0, "alpha": 1e-8}
    return _made("features-regressor", ours, settings)
