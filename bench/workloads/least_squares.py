"""Least squares, 500 000×50, against scikit-learn and scikit-learn-intelex."""

from __future__ import annotations

from sklearn.linear_model import LinearRegression
from sklearnex.linear_model import LinearRegression as IntelLinearRegression

import assay
from bench import agreement
from bench.data import linear_target
from bench.harness import Contender, Race, Target


def races() -> list[Race]:
    X, y = linear_target(500_000, 50)
    ours, theirs = assay.LinearRegression().fit(X, y), LinearRegression().fit(X, y)
    return [
        Race(
            "LinearRegression fit, 500 000×50",
            [
                Contender("assay", lambda: assay.LinearRegression().fit(X, y).coef_),
                Contender("scikit-learn", lambda: LinearRegression().fit(X, y).coef_, rounds=4),
                Contender("scikit-learn-intelex", lambda: IntelLinearRegression().fit(X, y).coef_),
            ],
            agreement.arrays,
            [Target("scikit-learn", at_least=10), Target("scikit-learn-intelex", at_least=1.5)],
        ),
        Race(
            "LinearRegression predict, 500 000×50",
            [
                Contender("assay", lambda: ours.predict(X)),
                Contender("scikit-learn", lambda: theirs.predict(X)),
            ],
            agreement.arrays,
        ),
    ]
