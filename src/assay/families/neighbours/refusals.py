"""What is asked of a model of neighbours and cannot be: calls, files of functions, and files that do not fit together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import DataError, ModelFileError, ParameterError
from assay.families.neighbours.metrics import check_metric, is_distance_object, metric_of

if TYPE_CHECKING:
    from assay.families.neighbours.fit import NeighboursModel
    from assay.families.neighbours.kept_rows import NeighboursBase

MAPPED = ("mahalanobis", "seuclidean", "quadratic", "learned")  # metrics that are a linear map
INSTEAD = {
    "metric": "one of the named metrics, or metric='quadratic' with a matrix",
    "weights": "weights='uniform' or 'distance'",
}


def refuse_functions(model: NeighboursBase) -> None:
    """Raise where a file would have to hold a function."""
    for name, instead in INSTEAD.items():
        given = model._fitted_with.get(name)
        if is_distance_object(given):
            raise ModelFileError(
                f"A model file holds data, no objects of scikit-learn: fit with metric={metric_of(model)!r}, by its name."
            )
        if callable(given):
            raise ModelFileError(
                f"This {type(model).__name__} was fitted with a {name} function of yours, and a model file holds data, no code. Use {instead}; "
                "or keep the table, and fit again where you need the model."
            )


def check_parts(model: NeighboursBase) -> None:
    """Raise where the parts of a file do not fit together."""
    check_metric(model, model.n_features_in_)
    if not np.isfinite(model.rows_).all() and (metric_of(model) != "nan_euclidean" or np.isinf(model.rows_).any()):
        raise ModelFileError("The model file's array 'rows_' holds NaN or infinity.")
    if metric_of(model) == "precomputed" and (len(model.rows_) != model.n_features_in_ or (model.rows_ < 0).any()):
        raise ModelFileError("The model file's distances are not those between all of its rows.")
    if metric_of(model) == "haversine" and model.n_features_in_ != 2:
        raise ModelFileError("The model file's rows are not points of a sphere.")
    if (model.map_ is None) != (model.centre_ is None) or (model.map_ is None) == (metric_of(model) in MAPPED):
        raise ModelFileError(f"The model file's map is not one of metric={metric_of(model)!r}.")
    if model.map_ is not None and not np.isfinite(model._geometry().rows(model.rows_)).all():
        raise ModelFileError("The model file's map takes its rows beyond all numbers.")
    if not (model.scale_ > 0 and math.frexp(model.scale_)[0] == 0.5):
        raise ModelFileError("The model file's scale is no power of two.")


def check_number(model: NeighboursModel) -> None:
    """Raise where the number of neighbours of a file is not the one that was asked for."""
    if (model.n_neighbors == "auto") != (model.leave_one_out_ is not None):
        raise ModelFileError("The model file's leave-one-out errors do not fit its n_neighbors.")
    if model.n_neighbors not in ("auto", model.n_neighbors_):
        raise ModelFileError("The model file's number of neighbours is not the one that was asked for.")


def whole_number(k: Any) -> int:
    """n_neighbors as a number."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"n_neighbors={k!r} is not possible: it must be a whole number ≥ 1.")
    return int(k)


def check_rows(k: int, n: int) -> None:
    """Raise where fewer rows than neighbours are there."""
    if k > n:
        raise DataError(
            f"Expected n_neighbors <= n_samples_fit: {k} neighbours are asked for, and there are {n} rows to choose from."
        )


def check_mode(mode: str) -> None:
    """Raise where a graph can hold no such thing."""
    if mode not in ("connectivity", "distance"):
        raise ParameterError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead.'
        )
