"""QDA and LDA, 200 000×50, 2 classes."""

from __future__ import annotations

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import assay
from bench import agreement
from bench.data import two_classes
from bench.harness import Contender, Race, Target


def races() -> list[Race]:
    X, y = two_classes(200_000, 50)
    qda, their_qda = assay.QuadraticDiscriminantAnalysis().fit(X, y), QuadraticDiscriminantAnalysis().fit(X, y)
    lda, their_lda = assay.LinearDiscriminantAnalysis().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    return [
        Race(
            "QDA fit, 200 000×50, 2 classes",
            [
                Contender("assay", lambda: assay.QuadraticDiscriminantAnalysis().fit(X, y).means_),
                Contender("scikit-learn", lambda: QuadraticDiscriminantAnalysis().fit(X, y).means_, rounds=4),
            ],
            agreement.arrays,
            [Target("scikit-learn", at_least=10)],
        ),
        Race(
            "QDA predict, 200 000×50, 2 classes",
            [
                Contender("assay", lambda: qda.predict(X)),
                Contender("scikit-learn", lambda: their_qda.predict(X), rounds=6),
            ],
            agreement.labels,
            [Target("scikit-learn", at_least=3)],
        ),
        Race(
            "LDA fit, 200 000×50, 2 classes",
            [
                Contender("assay", lambda: assay.LinearDiscriminantAnalysis().fit(X, y).coef_),
                Contender("scikit-learn", lambda: LinearDiscriminantAnalysis().fit(X, y).coef_, rounds=4),
                Contender(
                    "scikit-learn, lsqr", lambda: LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_, rounds=4
                ),
            ],
            agreement.arrays,
            [Target("scikit-learn", at_least=10)],
        ),
        Race(
            "LDA predict, 200 000×50, 2 classes",
            [
                Contender("assay", lambda: lda.predict(X)),
                Contender("scikit-learn", lambda: their_lda.predict(X)),
            ],
            agreement.labels,
        ),
    ]
