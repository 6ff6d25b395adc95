"""Perceptron, logistic and softmax regression, linear SVM: fits to at least the peers' objective, on good and bad columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.svm import LinearSVC
from sklearnex.linear_model import LogisticRegression as IntelexLogisticRegression

import assay
from bench import agreement
from bench.data import bad_units, easy_classes, made_classes, noisy_sign
from bench.harness import Contender, Race, Target

Weights = tuple[np.ndarray, np.ndarray]
CLOSE = 1e-6


def weights(model: Any) -> Weights:
    return np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)


def by_objective(objective: Callable[[Weights], float]) -> Callable[[Any, Any], str]:
    """How far our objective is below (−) or above (+) theirs, relatively."""

    def agree(ours: Any, theirs: Any) -> str:
        a, b = objective(ours), objective(theirs)
        return f"objective {(a - b) / b:+.1e}" + ("" if a <= b * (1 + CLOSE) else " (WORSE)")

    return agree


def log_objective(X: np.ndarray, y: np.ndarray) -> Callable[[Weights], float]:
    t = np.where(y > 0, 1.0, -1.0)
    return lambda w: float(np.logaddexp(0, -t * (X @ w[0][0] + w[1][0])).sum() + 0.5 * (w[0] ** 2).sum())


def softmax_objective(X: np.ndarray, y: np.ndarray) -> Callable[[Weights], float]:
    def value(w: Weights) -> float:
        Z = X @ w[0].T + w[1]
        top = Z.max(axis=1)
        loss = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(y)), y]
        return float(loss.sum() + 0.5 * (w[0] ** 2).sum())

    return value


def hinge_objective(X: np.ndarray, y: np.ndarray, power: int) -> Callable[[Weights], float]:
    """liblinear's: the intercept is penalised with the weights."""
    t = np.where(y > 0, 1.0, -1.0)

    def value(w: Weights) -> float:
        short = np.maximum(0, 1 - t * (X @ w[0][0] + w[1][0]))
        return float((short**power).sum() + 0.5 * (w[0] ** 2).sum() + 0.5 * w[1][0] ** 2)

    return value


def races() -> list[Race]:
    return [*_perceptron(), *_logistic(), *_softmax(), *_svm(), *_single_row()]


def _perceptron() -> list[Race]:
    X, y = made_classes(500_000, 50, 2)
    return [
        Race(
            "Perceptron, 5 epochs, 500 000×50",
            [
                Contender("assay", lambda: assay.Perceptron(max_iter=5).fit(X, y).predict(X[:1000]), rounds=10),
                Contender(
                    "scikit-learn", lambda: Perceptron(max_iter=5, tol=None).fit(X, y).predict(X[:1000]), rounds=4
                ),
                Contender(
                    "scikit-learn, shuffle=False",
                    lambda: Perceptron(max_iter=5, tol=None, shuffle=False).fit(X, y).predict(X[:1000]),
                    rounds=4,
                ),
            ],
            agreement.nothing,
            [Target("scikit-learn", at_least=8)],
        )
    ]


def _logistic() -> list[Race]:
    X, y = made_classes(500_000, 50, 2)
    easy, target = noisy_sign(500_000, 50)
    model = assay.LogisticRegression()
    return [
        _logistic_race("LogisticRegression, 500 000×50, C=1", X, y, 4),
        _logistic_race("the same, columns easy for first-order methods", easy, target, None),
        _own_units("LogisticRegression, columns × 10^U(−4, 4)", model, bad_units(X), X, y),
    ]


def _logistic_race(title: str, X: np.ndarray, y: np.ndarray, least: float | None) -> Race:
    peers = {
        "scikit-learn-intelex": IntelexLogisticRegression(),
        "scikit-learn, lbfgs": LogisticRegression(),
        "scikit-learn, newton-cholesky": LogisticRegression(solver="newton-cholesky"),
    }
    return Race(
        title,
        [
            Contender("assay", lambda: weights(assay.LogisticRegression().fit(X, y)), rounds=10),
            *(Contender(name, partial(_fit, peer, X, y), rounds=2) for name, peer in peers.items()),
        ],
        by_objective(log_objective(X, y)),
        [] if least is None else [Target(name, at_least=least) for name in peers],
    )


def _fit(model: Any, X: np.ndarray, y: np.ndarray) -> Weights:
    return weights(model.fit(X, y))


def _own_units(title: str, model: Any, bad: np.ndarray, X: np.ndarray, y: np.ndarray) -> Race:
    return Race(
        title,
        [
            Contender("assay, bad columns", lambda: weights(model.fit(bad, y)), rounds=6),
            Contender("assay, good columns", lambda: weights(model.fit(X, y)), rounds=6),
        ],
        agreement.nothing,
        [Target("assay, good columns", at_most=2)],
    )


def _softmax() -> list[Race]:
    X, y = made_classes(100_000, 100, 10)
    easy, target = easy_classes(100_000, 100, 10)
    model = assay.LogisticRegression(tol=1e-3)
    return [
        _softmax_race("softmax, 100 000×100, K=10, C=1", X, y, 15),
        _softmax_race("the same, columns easy for first-order methods", easy, target, None),
        _own_units("softmax, columns × 10^U(−4, 4)", model, bad_units(X), X, y),
    ]


def _softmax_race(title: str, X: np.ndarray, y: np.ndarray, least: float | None) -> Race:
    peers = {"scikit-learn-intelex": IntelexLogisticRegression(), "scikit-learn": LogisticRegression()}
    return Race(
        title,
        [
            Contender("assay", lambda: weights(assay.LogisticRegression(tol=1e-3).fit(X, y)), rounds=6),
            *(Contender(name, partial(_fit, peer, X, y), rounds=1) for name, peer in peers.items()),
        ],
        by_objective(softmax_objective(X, y)),
        [] if least is None else [Target(name, at_least=least) for name in peers],
    )


def _svm() -> list[Race]:
    X, y = made_classes(100_000, 50, 2)
    bad = bad_units(X)
    own = {"intercept_scaling": 1.0}
    fifty = {"loss": "hinge", "max_iter": 50, "tol": 1e-9, "dual": True}
    return [
        Race(
            "LinearSVC squared hinge, 100 000×50, C=1",
            [
                Contender("assay", lambda: weights(assay.LinearSVC(**own).fit(X, y)), rounds=10),
                Contender("scikit-learn (liblinear)", lambda: weights(LinearSVC().fit(X, y)), rounds=2),
            ],
            by_objective(hinge_objective(X, y, 2)),
            [Target("scikit-learn (liblinear)", at_least=25)],
        ),
        Race(
            "LinearSVC hinge to a gap of 1e-6, 100 000×50",
            [
                Contender("assay", lambda: weights(assay.LinearSVC(loss="hinge", **own).fit(X, y)), rounds=10),
                Contender("liblinear, 50 epochs", lambda: weights(LinearSVC(**fifty).fit(X, y)), rounds=2),
            ],
            by_objective(hinge_objective(X, y, 1)),
            [Target("liblinear, 50 epochs", at_least=15)],
        ),
        _own_units("LinearSVC squared hinge, columns × 10^U(−4, 4)", assay.LinearSVC(), bad, X, y),
        _own_units("LinearSVC hinge, columns × 10^U(−4, 4)", assay.LinearSVC(loss="hinge"), bad, X, y),
    ]


def _single_row() -> list[Race]:
    X, y = noisy_sign(2000, 20)
    ours, theirs, one = assay.LogisticRegression().fit(X, y), LogisticRegression().fit(X, y), X[:1].copy()

    def a_hundred(model: Any) -> Callable[[], Any]:
        return lambda: [model.predict(one) for _ in range(100)][-1]

    return [
        Race(
            "LogisticRegression predict, one row, 100 times",
            [Contender("assay", a_hundred(ours)), Contender("scikit-learn", a_hundred(theirs))],
            agreement.labels,
            [Target("assay", within=100 * 30e-6)],
        )
    ]
