"""What transformers say of the columns that they make."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import DataError, not_fitted
from assay.numerics import Array


def names_out(model: Any, width: int, input_features: Any = None) -> Array:
    """The class's name in small letters and 0, 1, …; `input_features` must be the columns of the fit, where given."""
    if not hasattr(model, "n_features_in_"):
        raise not_fitted(model)
    fitted = getattr(model, "feature_names_in_", None)
    if input_features is not None:
        given = list(input_features)
        if len(given) != model.n_features_in_:
            raise DataError(
                f"input_features should have length equal to number of features ({model.n_features_in_}), got {len(given)}."
            )
        if fitted is not None and given != list(fitted):
            raise DataError(
                "input_features is not equal to feature_names_in_: give the names of the columns of the fit."
            )
    return np.array([f"{type(model).__name__.lower()}{k}" for k in range(width)], dtype=object)
