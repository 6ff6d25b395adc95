"""What a fit must know of all rows before any is asked: a fold over the table that keeps targets and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, fingerprint
from assay.errors import DataError, ParameterError
from assay.inputs import as_regression_target, refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats


class TargetSurvey(NamedTuple):
    """y (n,): codes of classes or numbers; w (n,) or None; low, high (d,): of the rows of positive weight; the rows' fingerprint."""

    y: Array
    w: Floats | None
    low: Floats
    high: Floats
    mark: bytes

    @property
    def kept(self) -> int:
        """The rows of positive weight."""
        return len(self.y) if self.w is None else int((self.w > 0).sum())


def survey_block(labels: Labels | None, names: Any, block: Block) -> TargetSurvey:
    """Of one block; without labels the target is a number, without a target nothing."""
    if not np.isfinite(block.X).all():
        refuse_non_finite(block.X, block.start, names)
    if block.y is None:
        y = np.zeros(len(block.X))
    else:
        y = as_regression_target(block.y, block.start) if labels is None else labels.encode(block.y)
    X = block.X if block.w is None else block.X[block.w > 0]
    low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    mark = fingerprint.leaf_of(block.X, None if block.y is None else y, block.w)
    return TargetSurvey(y, block.w, low.astype(np.float64), high.astype(np.float64), mark)


def survey_missing(labels: Labels | None, names: Any, block: Block) -> TargetSurvey:
    """As `survey_block` of rows in which values may be missing."""
    found = survey_block(labels, names, block._replace(X=np.where(np.isnan(block.X), 0.0, block.X)))
    target = None if block.y is None else found.y
    return found._replace(mark=fingerprint.leaf_of(block.X, target, block.w))


def merge_surveys(a: TargetSurvey, b: TargetSurvey) -> TargetSurvey:
    """Of both, one after the other."""
    w = None if a.w is None or b.w is None else np.concatenate([a.w, b.w])
    return TargetSurvey(
        np.concatenate([a.y, b.y]),
        w,
        np.minimum(a.low, b.low),
        np.maximum(a.high, b.high),
        fingerprint.join(a.mark, b.mark),
    )


def some(found: TargetSurvey | None) -> TargetSurvey:
    """The survey, of which there must be rows."""
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.kept:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return found


def penalties_of(alpha: Any, T: int) -> Floats:
    """The penalty of each target: one for all, or one each."""
    alphas = np.asarray(alpha, dtype=np.float64)
    if alphas.ndim and alphas.shape != (T,):
        raise ParameterError(
            f"Number of targets and number of penalties do not correspond: {alphas.size} != {T}. Give one alpha for all targets, or one for each."
        )
    return np.broadcast_to(alphas, (T,))
