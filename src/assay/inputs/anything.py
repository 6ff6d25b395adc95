"""Whatever a user hands over becomes `Rows`."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.engines import ArrayRows, Rows, SparseRows
from assay.errors import DataError, DataTypeError
from assay.inputs.arrays import as_column, as_matrix, as_weights
from assay.inputs.frames import Levels, as_frame, frame_matrix
from assay.inputs.sparse import as_sparse, is_sparse
from assay.numerics import Array

NOT_SPARSE = "Sparse data is not supported by this model: convert it with X.toarray() (dense data is required)."


def as_rows(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    categories: bool = False,
    levels: Levels | None = None,
    sparse: bool = False,
) -> Rows:
    """Rows of anything that holds a table: arrays, lists, frames (pandas, polars, Arrow, …), Dask collections, `assay.rows`.

    `categories`: text and categorical columns become codes (for models that take them) instead of an error; `levels` are
    the categories of an earlier fit (None for a column of numbers), by which they are then coded; unknown ones become
    missing, and a column that changed its kind is refused. `sparse`: sparse matrices stay sparse instead of an error.
    """
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise DataError("assay.rows(...) brings its own target and weights: name them there, not in this call.")
        if X.sparse and not sparse:
            raise DataTypeError(NOT_SPARSE)
        return X
    if hasattr(X, "__dask_graph__"):
        from assay.engines.cluster import dask_rows

        return dask_rows(X, y, sample_weight)
    if is_sparse(X):
        if not sparse:
            raise DataTypeError(NOT_SPARSE)
        kept = as_sparse(X)
        return SparseRows(kept, *_target_and_weights(y, sample_weight, len(kept)))
    names, cats, array = _matrix(X, categories, levels)
    target, weights = _target_and_weights(y, sample_weight, len(array))
    return ArrayRows(array, target, weights, names=names, categories=cats)


def _target_and_weights(y: Any, sample_weight: Any, n: int) -> tuple[Array | None, Array | None]:
    target = None if y is None else as_column(y, "y", n)
    weights = None if sample_weight is None else as_weights(sample_weight, n)
    return target, weights


def _matrix(X: Any, categories: bool, levels: Levels | None) -> tuple[tuple[str, ...] | None, Levels | None, Array]:
    if not isinstance(X, np.ndarray | list | tuple):
        frame = as_frame(X)
        if frame is not None:
            return frame_matrix(frame, categories, levels)
    return None, None, as_matrix(X)
