"""Errors about cells, columns, weights and classes, found only when a model's statistics show that something is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.engines import Rows, SparseMatrix
from assay.errors import DataError, ParameterError, SchemaError, nearest
from assay.inputs.labels import plain_labels
from assay.numerics import Array, Floats

MODERATE = 1e50  # columns of numbers beyond this (or one over it) can over- or underflow in what a fit computes
HEAVY = 1e150  # from here on a sum that overflowed did so because of the weights


def refuse_non_finite(
    X: Array | SparseMatrix, start: int = 0, names: Sequence[str] | None = None, *, nan: bool = True
) -> None:
    """Raise for the first infinite (or, with `nan`, missing) value of a block, naming row and column."""
    values = X.data if isinstance(X, SparseMatrix) else X
    bad = ~np.isfinite(values) if nan else np.isinf(values)
    if bad.any():
        i, j = first_cell(X, bad)
        column = f"column {names[j]!r}" if names is not None else f"column {j}"
        if np.isnan(values[bad][0]):
            raise DataError(
                f"Input X contains NaN (first in row {start + i}, {column}). Drop or impute missing values, or use a model "
                "that takes them as they are (trees, forests, the naive Bayes family)."
            )
        raise DataError(
            f"Input X contains infinity or a value too large for dtype('{X.dtype}') (first in row {start + i}, {column})."
        )


def first_cell(X: Array | SparseMatrix, marked: Array) -> tuple[int, int]:
    """Row and column of the first marked value; of a sparse matrix only the kept entries are marked, (nnz,)."""
    if isinstance(X, SparseMatrix):
        entry = int(np.argmax(marked))
        return int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])
    i, j = (int(k) for k in np.argwhere(marked)[0])
    return i, j


def largest(X: Array | SparseMatrix) -> Floats:
    """max |x| of each column, missing values left out."""
    top: Floats = np.zeros(X.shape[1])
    if isinstance(X, SparseMatrix):
        np.fmax.at(top, X.indices, np.abs(X.data))
        return top
    return np.fmax.reduce(np.abs(X), axis=0, out=top, initial=0.0)


def refuse_overflow(X: Array | SparseMatrix, start: int = 0, names: Sequence[str] | None = None) -> None:
    """Raise for values whose squares overflow, naming the column."""
    top = largest(X)
    j = int(np.argmax(top))
    column = f"Column {names[j]!r}" if names is not None else f"Column {j}"
    raise DataError(
        f"{column} holds values as large as {top[j]:.3g}, whose squares overflow float64. Rescale it (divide by a constant)."
    )


def refuse_extreme(rows: Rows, error: Exception | None) -> None:
    """Raise for numbers with which float64 cannot compute; with an `error`, only where they explain it."""
    sizes = largest(rows.X) if rows.resident else np.zeros(1)
    targets = rows.y if rows.resident and rows.y is not None and rows.y.dtype.kind == "f" else np.zeros(1)
    sizes = np.append(sizes[sizes > 0], np.abs(targets[targets != 0]))
    if error is None or not rows.resident or np.any((sizes > MODERATE) | (sizes < 1 / MODERATE)) or rows.w is not None:
        raise DataError(
            "The table holds numbers (or weights) so large or so small that what follows from them over- or underflows float64"
            f"{'' if not len(sizes) else f': their sizes lie between {sizes.min():.3g} and {sizes.max():.3g}'}. Rescale them towards one."
        ) from error


def check_features(model: Any, rows: Rows) -> None:
    """Raise where rows at prediction do not have the columns of the fit."""
    name = type(model).__name__
    fitted: Array | None = getattr(model, "feature_names_in_", None)
    if fitted is not None and rows.names is not None and tuple(fitted) != tuple(rows.names):
        raise SchemaError(_names_message(list(fitted), list(rows.names)))
    if rows.n_columns != model.n_features_in_:
        raise DataError(
            f"X has {rows.n_columns} features, but {name} is expecting {model.n_features_in_} features as input."
        )
    if fitted is not None and rows.names is None:
        warnings.warn(
            f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning, stacklevel=5
        )
    elif fitted is None and rows.names is not None:
        warnings.warn(f"X has feature names, but {name} was fitted without feature names", UserWarning, stacklevel=5)


def _names_message(fitted: list[str], given: list[str]) -> str:
    unseen = sorted(set(given) - set(fitted))
    missing = sorted(set(fitted) - set(given))
    message = "The feature names should match those that were passed during fit.\n"
    if unseen:
        message += "Feature names unseen at fit time:\n" + "".join(f"- {n}\n" for n in unseen[:5])
        if len(unseen) > 5:
            message += "- ...\n"
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {n}\n" for n in missing[:5])
        if len(missing) > 5:
            message += "- ...\n"
        if unseen:
            message += nearest(missing[0], unseen) + "\n"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def refuse_heavy(w: Array | None) -> None:
    """Raise where sums overflowed because of weights (of rows, or their sums); the values are to blame otherwise."""
    top = 0.0 if w is None else float(np.max(w, initial=0.0))
    if not top <= HEAVY:
        raise DataError(
            f"sample_weight reaches {top:.3g}: the weights are so large that their sum overflows: divide them by a constant."
        )


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
            "class_weight 'balanced' is not supported for partial_fit. In order to use 'balanced' weights, use "
            "compute_class_weight('balanced', classes=classes, y=y). In place of y you can use a large enough sample of the full "
            "training set target to properly estimate the class frequency distributions. Pass the resulting weights as the "
            "class_weight parameter."
        )


def refuse_absent(classes: Array, weights: Floats, whole: bool, fewest: int = 2) -> None:
    """Some class must have weight; where these are the `whole` rows of a fit, at least `fewest` of them."""
    present = np.flatnonzero(weights > 0)
    if not len(present):
        raise DataError("All sample weights are zero, so no class has any rows: give some rows a positive weight.")
    if whole and len(present) < fewest:
        raise DataError(
            f"Only one class, {plain_labels(classes)[present[0]]!r}, has rows of positive weight: a classifier needs at least two "
            "classes to tell apart."
        )
