"""Empirical risk: the mean loss of a predictor on given rows.

R(h) = Σ_k w_k·ℓ(h(x_k), y_k) / Σ_k w_k
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.engines import ArrayRows, Block, Part, Rows, engine_for, merge_in_order, rows_of
from assay.errors import DataError, ParameterError
from assay.numerics import Array
from assay.risk.losses import LABEL, PROBABILITY, Loss, loss_of

Total = tuple[float, float]


def empirical_risk(
    predictor: Any,
    X: Any,
    y: Any = None,
    loss: str | Loss | Callable[[Any, Any], Any] = "zero-one",
    sample_weight: Any = None,
) -> float:
    """The (weighted) mean loss of a predictor: a function of rows, or an object with `predict` and the like.

    `X` is what the predictor takes, or `assay.rows(...)`, which are then read block by block.

    >>> empirical_risk(lambda X: X[:, 0] > 0, np.array([[1.0], [-1.0], [2.0]]), [True, True, True]).__round__(4)
    0.3333
    """
    measure = loss_of(loss)
    ask = _question(predictor, measure)
    classes = getattr(predictor, "classes_", None)
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise DataError("assay.rows(...) brings its own target and weights: name them there, not in this call.")
        return _mean(_over_blocks(X, predictor, ask, measure, classes))
    if y is None:
        raise DataError("empirical_risk needs the true targets y.")
    truth = _column(y)
    w = np.ones(len(truth)) if sample_weight is None else _weights(sample_weight, len(truth))
    values = _values(measure, ask(X), truth, classes)
    return _mean((float(w @ values), float(w.sum())))


def _question(predictor: Any, loss: Loss) -> Callable[[Any], Any]:
    """What to call on rows: the predictor itself, or the method whose answer the loss looks at."""
    wanted = {LABEL: ("predict",), PROBABILITY: ("predict_proba", "decision_function")}.get(
        loss.needs, ("decision_function",)
    )
    for name in wanted:
        method = getattr(predictor, name, None)
        if method is not None:
            asked: Callable[[Any], Any] = method
            return asked
    if callable(predictor) and not hasattr(predictor, "predict"):
        return predictor  # type: ignore[no-any-return]
    raise ParameterError(
        f"The loss {loss.name!r} needs {' or '.join(wanted)}, which {type(predictor).__name__} does not have: "
        "choose another loss, or give a function of the rows."
    )


def _values(loss: Loss, answers: Any, y: Array, classes: Any) -> Array:
    values = loss.value(answers, y, None if loss.needs == LABEL else classes)
    if values.shape != (len(y),):
        raise DataError(
            f"The loss {loss.name!r} gave shape {values.shape} for {len(y)} rows; for several outputs use 'hamming'."
        )
    return values


def _column(y: Any) -> Array:
    try:
        array = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    except ValueError as error:
        raise DataError(f"y is ragged: give one target a row. ({error})") from None
    if array.ndim not in (1, 2) or not len(array):
        raise DataError(f"y should be a list of targets, one a row, got shape {array.shape}.")
    return array


def _weights(sample_weight: Any, n: int) -> Array:
    try:
        w = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any():
        raise DataError(f"sample_weight must be {n} finite numbers ≥ 0, one a row.")
    return w


def _mean(total: Total) -> float:
    value, weight = total
    if not weight > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return value / weight


@dataclass(frozen=True)
class _BlockRisk:
    """Loss and weight of one block. Our own models are told the columns' names, others get the bare array."""

    ask: Callable[[Any], Any]
    loss: Loss
    classes: Any
    like: ArrayRows | None

    def __call__(self, part: Part) -> Total:
        block: Block = part.load()
        if block.y is None:
            raise DataError("These rows have no target: name it in assay.rows(..., target=...).")
        rows = block.X if self.like is None else rows_of(block.X, like=self.like)
        values = _values(self.loss, self.ask(rows), block.y, self.classes)
        return (
            (float(values.sum()), float(len(values)))
            if block.w is None
            else (float(block.w @ values), float(block.w.sum()))
        )


def _over_blocks(rows: Rows, predictor: Any, ask: Any, loss: Loss, classes: Any) -> Total:
    like = None
    if hasattr(predictor, "predict_blocks"):
        names = getattr(predictor, "feature_names_in_", None)
        rows = rows.fitted_to(None if names is None else tuple(names), getattr(predictor, "_categories", None))
        like = ArrayRows(np.empty((0, rows.n_columns)), names=rows.names, categories=rows.categories)
    engine = engine_for(rows)
    totals = engine.map(_BlockRisk(ask, loss, classes, like), engine.open(rows).blocks())
    merged = merge_in_order(totals, _add)
    if merged is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return merged


def _add(a: Total, b: Total) -> Total:
    return a[0] + b[0], a[1] + b[1]
