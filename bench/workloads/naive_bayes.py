"""GaussianNB, 500 000×50: fit and predict, against scikit-learn and against reading the array once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from sklearn.naive_bayes import GaussianNB

import assay
from assay.engines import ArrayRows, engine
from bench import agreement
from bench.data import two_classes
from bench.harness import Contender, Race, Target


@njit(nogil=True)
def _xor(u: Any) -> Any:  # pragma: no cover - compiled
    total = np.uint64(0)
    for i in range(u.shape[0]):
        total ^= u[i]
    return total


def _read_block(part: Any) -> Any:
    return _xor(part.load().X.reshape(-1).view(np.uint64))


def read_once(X: np.ndarray) -> int:
    """Touch every number of X once, on the same threads and blocks as a fit."""
    return sum(1 for _ in engine("threads").map(_read_block, ArrayRows(X).blocks()))


def races() -> list[Race]:
    X, y = two_classes(500_000, 50)
    ours, theirs = assay.GaussianNB().fit(X, y), GaussianNB().fit(X, y)
    return [
        Race(
            "GaussianNB fit, 500 000×50, 2 classes",
            [
                Contender("assay", lambda: assay.GaussianNB().fit(X, y).var_),
                Contender("scikit-learn", lambda: GaussianNB().fit(X, y).var_, rounds=4),
                Contender("reading X once, same threads", lambda: read_once(X)),
                Contender("reading X once, X.sum()", lambda: X.sum()),
            ],
            agreement.arrays,
            [Target("scikit-learn", at_least=10), Target("reading X once, same threads", at_most=1.5)],
            {"reading X once, same threads": agreement.nothing, "reading X once, X.sum()": agreement.nothing},
        ),
        Race(
            "GaussianNB predict, 500 000×50, 2 classes",
            [
                Contender("assay", lambda: ours.predict(X)),
                Contender("scikit-learn", lambda: theirs.predict(X), rounds=4),
            ],
            agreement.labels,
            [Target("scikit-learn", at_least=5)],
        ),
    ]
