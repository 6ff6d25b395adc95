"""Naive Bayes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, Rows
from assay.engines import fingerprint
from assay.errors import DataError
from assay.hypotheses.class_moments import ClassMoments, absorb_moments, absorb_present, merge_moments
from assay.hypotheses.one_fold import OneFold
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.labels import Labels, class_multipliers
from assay.learner import BayesClassifier, Tensor
from assay.numerics import Array, Floats, safe_log
from assay.params import CLASS_WEIGHT, N_JOBS, Range


class Statistics(NamedTuple):
    class_count: Floats
    count: Floats
    mean: Floats
    m2: Floats
    mark: bytes


def absorb(labels: Labels, names: Any, block: Block) -> Statistics:
    assert block.y is not None
    codes = labels.encode(block.y)
    K = len(labels.classes)
    moments, weight, hashes = absorb_moments(block.X, codes, block.w, K)
    if not np.isfinite(moments.m2).all():
        refuse_non_finite(block.X, block.start, names, nan=False)
        moments = absorb_present(block.X, codes, block.w, K)
        if not np.isfinite(moments.m2).all():
            refuse_overflow(block.X, block.start, names)
    return Statistics(weight, *moments, fingerprint.leaf(hashes, block.X, codes, block.w))


def merge(a: Statistics, b: Statistics) -> Statistics:
    moments = merge_moments(ClassMoments(*a[1:4]), ClassMoments(*b[1:4]))
    return Statistics(a.class_count + b.class_count, *moments, fingerprint.join(a.mark, b.mark))


class GaussianNB(OneFold, BayesClassifier):
    name = "gaussian-nb"
    takes_missing = True
    statistics = Statistics
    params = {"var_smoothing": Range(low=0, doc="share of the largest variance added to all"), "class_weight": CLASS_WEIGHT, "n_jobs": N_JOBS}
    layout = {
        "theta_": Tensor(("K", "d")), "var_": Tensor(("K", "d"), low=0), "class_prior_": Tensor(("K",), low=0),
        "state.class_count": Tensor(("K",), low=0), "state.count": Tensor(("K", "d"), low=0), "state.mean": Tensor(("K", "d")), "state.m2": Tensor(("K", "d"), low=0),
    }

    def __init__(self, *, var_smoothing: float = 1e-9, class_weight: Any = None, n_jobs: int | None = None) -> None:
        self.var_smoothing = var_smoothing
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def _absorber(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Callable[[Block], Any]:
        labels = self._classes_of(engine, rows, afresh, classes)
        return partial(absorb, labels, rows.names)

    _merge = staticmethod(merge)

    def _finish(self, s: Statistics) -> None:
        self.theta_ = s.mean
        self.var_ = s.m2 / np.maximum(s.count, 1e-300)
        self.var_ = self.var_ + self.var_smoothing * self.var_.max()
        count = s.class_count * class_multipliers(self.class_weight, self.classes_, s.class_count)
        self.class_prior_ = count / count.sum()

    def _scores(self, X: Array) -> Floats:
        Z = np.empty((len(X), len(self.classes_)))
        const = safe_log(self.class_prior_) - 0.5 * np.log(2 * np.pi * self.var_).sum(axis=1)
        T = np.empty((min(len(X), 1024), X.shape[1]))
        for a in range(0, len(X), 1024):
            x = X[a : a + 1024]
            t = T[: len(x)]
            for k in range(len(Z.T)):
                np.subtract(x, self.theta_[k], out=t)
                np.multiply(t, t, out=t)
                Z[a : a + 1024, k] = t @ (-0.5 / self.var_[k])
        Z += const
        return Z
