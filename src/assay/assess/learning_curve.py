"""The risk on training rows and on held-out rows as the training set grows: would more rows help?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.groups import mean_loss
from assay.assess.paired import PairedTest, compare_pair
from assay.assess.score import Score, check_confidence, plain, same_length
from assay.errors import AssayError, DataError, ParameterError
from assay.numerics import Array
from assay.risk import Loss
from assay.risk.losses import loss_of

SHARES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
NARROW = 0.02  # of the risk: a last step that cannot have gained more is flat
HELPS, FLAT, UNSURE = "more rows would help", "flat", "cannot tell whether more rows would help"


@dataclass(frozen=True)
class LearningCurvePoint:
    """Risks of the model fitted on the first n rows."""

    n: int
    train: Score
    test: Score


@dataclass(frozen=True)
class LearningCurve:
    """Points of growing n, the test of the last two on the same held-out rows, and a verdict.

    'more rows would help' where the last step made the risk smaller beyond chance; 'flat' where it made it smaller by at most 2 %
    (the whole interval says so); else 'cannot tell whether more rows would help'. `slope` is the change of the held-out risk a doubling of the rows, from the last step. `left_out` names sizes that could not be fitted.
    """

    points: tuple[LearningCurvePoint, ...]
    last_step: PairedTest | None
    slope: float | None
    verdict: str
    left_out: tuple[str, ...] = ()

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def learning_curve(
    fit: Callable[[Any, Any], Any],
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    stratified: bool = True,
    loss: str | Loss = "zero-one",
    confidence: float = 0.95,
) -> LearningCurve:
    """Fits on growing shares of the rows, each containing the one before. `fit(X, y)` returns a model with `predict`.

    `stratified` keeps the classes' shares in every part. The verdict is a paired test of the last two fits: it weighs the
    chance in the held-out rows, not that in which training rows were drawn.
    """
    confidence, measure = (
        check_confidence(confidence),
        loss_of(loss.replace("_", "-") if isinstance(loss, str) else loss),
    )
    y, y_test = np.asarray(y), np.asarray(y_test)
    n = same_length(y=y)
    sizes = _sizes(shares, n)
    order = nested_order(y, seed, stratified and measure.name != "squared")
    points, losses, left_out = [], [], []
    for size in sizes:
        rows = np.sort(order[:size])
        try:
            model = fit(X[rows], y[rows])
        except AssayError as error:  # a class may not be among the first few rows
            left_out.append(f"{size} rows: {error}")
            continue
        train = mean_loss("train", measure.value(model.predict(X[rows]), y[rows]), confidence)
        train = replace(train, kind="approximate")  # of rows that the fit has seen no interval is exact
        losses.append(measure.value(model.predict(X_test), y_test))
        points.append(LearningCurvePoint(size, train, mean_loss("test", losses[-1], confidence)))
    if not points:
        raise DataError("No size could be fitted: " + "; ".join(left_out))
    return _judged(tuple(points), losses, tuple(left_out), confidence)


def _sizes(shares: Sequence[float], n: int) -> list[int]:
    if not len(shares) or not all(0 < s <= 1 for s in shares):
        raise ParameterError(f"shares={tuple(shares)!r}: give shares of the training rows, each above 0 and at most 1.")
    return sorted({max(1, round(s * n)) for s in shares})


def nested_order(y: Array, seed: int, stratified: bool) -> Array:
    """A shuffle of the rows of which every beginning is a sample; stratified, with the classes' shares kept throughout.

    The r-th of the n_k rows of class k is placed at (r + u_k)/n_k, u_k random, so beginnings hold n_k·share rows of it, ± 1.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    if not stratified:
        return order
    place = np.empty(len(y))
    for k in np.unique(y):
        mine = np.flatnonzero(y[order] == k)
        place[mine] = (np.arange(len(mine)) + rng.random()) / len(mine)
    return order[np.argsort(place, kind="stable")]


def _judged(
    points: tuple[LearningCurvePoint, ...], losses: list[Any], left_out: tuple[str, ...], confidence: float
) -> LearningCurve:
    if len(points) < 2:
        return LearningCurve(points, None, None, UNSURE, left_out)
    wrong = [np.asarray(v) for v in losses[-2:]]
    if all(((v == 0) | (v == 1)).all() for v in wrong):  # flags of mistakes: answers where 0 is the truth
        test = compare_pair(wrong[1], wrong[0], y=np.zeros(len(wrong[0])), confidence=confidence)
    else:
        test = compare_pair(wrong[1], wrong[0], confidence=confidence)
    slope = test.difference / float(np.log2(points[-1].n / points[-2].n))
    narrow = test.low >= -NARROW * points[-1].test.value
    verdict = HELPS if test.verdict == "first is better" else FLAT if narrow else UNSURE
    return LearningCurve(points, test, slope, verdict, left_out)
