"""A model fitted again and again with its setting fixed, on parts of its rows: learning curve, bias and variance.

The encoding is learnt anew in every fit, as it was in the comparison. Rows are named by their numbers, so that `assess` can
draw them as it likes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.assess import BiasVariance, LearningCurve, bias_variance, learning_curve
from assay.engines import engine_for
from assay.engines.engine import one_thread_blas
from assay.numerics import Array
from assay.risk import Loss
from assay.risk.losses import LABEL
from assay.selection.comparison import Comparison
from assay.selection.data import TableData
from assay.selection.table_model import TableModel
from assay.tables.encoding import Encoding

MOST_TRAIN, MOST_TEST, ROUNDS = 2000, 1000, 20
SHARE = 0.25  # of the rows that were tested, at least so many test the refits
ABSOLUTE = Loss("absolute", LABEL, lambda p, y: np.abs(p - y))


@dataclass(frozen=True)
class Refits:
    """`loss` is what the refits are judged by: the comparison's, where it looks at answers alone."""

    loss: str
    curve: LearningCurve
    parts: BiasVariance
    train_rows: int
    test_rows: int


@dataclass(frozen=True)
class _Refitted:
    model: TableModel
    data: TableData

    def predict(self, which: Array) -> Array:
        return self.model.model_.predict(self.data.encoded(self.model.encoding_, which))


def refits(comparison: Comparison, model: TableModel, *, rounds: int = ROUNDS, seed: int = 0) -> Refits:
    """Learning curve and decomposition of one model of a comparison, on at most 2000 rows to learn from and 1000 to test."""
    train, test = sides(comparison, seed)
    numbers = np.union1d(train, test)
    rows = comparison.data.pick(numbers).in_memory()
    small = TableData.of(comparison.schema, rows, comparison.data.classes is not None)
    y = small.y
    learn, judge = (np.searchsorted(numbers, side) for side in (train, test))

    def fit(which: Array, _: Array) -> _Refitted:
        raw = small.pick(which)
        encoding = Encoding.learn(engine_for(raw), small.schema, model.encoding_.encoding_spec, raw)
        fresh = type(model.model_)(**model.model_.get_params())
        with one_thread_blas():
            fresh.fit(small.encoded(encoding, which))  # type: ignore[attr-defined]
        return _Refitted(TableModel(fresh, encoding), small)

    classes = comparison.data.classes is not None
    name = "zero-one" if classes else "absolute" if comparison.loss == "absolute" else "squared"
    sets = (learn, y[learn], judge, y[judge])
    curve = learning_curve(fit, *sets, seed=seed, loss=ABSOLUTE if name == "absolute" else name, stratified=classes)
    parts = bias_variance(fit, *sets, rounds=rounds, seed=seed, loss="zero-one" if classes else "squared")
    return Refits(name, curve, parts, len(learn), len(judge))


def sides(comparison: Comparison, seed: int = 0) -> tuple[Array, Array]:
    """Rows to learn from and rows to test on that never mix what the comparison kept apart.

    Of a single split its two sides; of a split by time the last one; of folds as many as hold a quarter of the rows, against the rest.
    """
    rng = np.random.default_rng(seed)
    splits = comparison.splits
    chosen = splits[-1] if comparison.resampling.kind == "time" else splits[0]
    train, test = np.unique(chosen.train), np.unique(chosen.test)
    everything = np.unique(comparison.tested)
    if len(splits) > 1 and comparison.resampling.kind != "time" and len(test) < SHARE * len(everything):
        parts: list[Array] = []
        for k in rng.permutation(len(splits)):
            parts.append(splits[k].test)
            test = np.unique(np.concatenate(parts))
            if len(test) >= SHARE * len(everything):
                break
        train = np.setdiff1d(everything, test)
    return _some(train, MOST_TRAIN, rng), _some(test, MOST_TEST, rng)


def _some(rows: Array, most: int, rng: np.random.Generator) -> Array:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
