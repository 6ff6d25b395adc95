"""Which classes a fit can learn: those listed for `partial_fit`, and those that have rows of positive weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import DataError, ParameterError
from assay.labels import plain_labels
from assay.numerics import Array, Floats


def refuse_unlisted(model: Any, classes: Any) -> None:
    """The first call of `partial_fit` must list the classes: later rows may bring others."""
    if classes is None and not hasattr(model, "classes_"):
        raise DataError(
            "classes must be passed on the first call to partial_fit: list every class that can occur, "
            "e.g. partial_fit(X, y, classes=[0, 1])."
        )


def refuse_balanced(model: Any) -> None:
    """`partial_fit` cannot balance the classes of rows that it has not seen."""
    if model.class_weight == "balanced":
        raise ParameterError(
            "class_weight='balanced' needs all rows at once, and partial_fit sees some: give the weights as a dict, "
            "e.g. class_weight={0: 1.0, 1: 3.0}."
        )


def refuse_absent(classes: Array, weights: Floats, whole: bool) -> None:
    """Some class must have weight; where these are the `whole` rows of a fit, two of them."""
    present = np.flatnonzero(weights > 0)
    if not len(present):
        raise DataError("All sample weights are zero, so no class has any rows: give some rows a positive weight.")
    if whole and len(present) < 2:
        raise DataError(
            f"Only one class, {plain_labels(classes)[present[0]]!r}, has rows of positive weight: a classifier needs at least two "
            "classes to tell apart."
        )
