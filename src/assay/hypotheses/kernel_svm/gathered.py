"""The rows of a fit as a kernel machine needs them: in memory, float64, those of weight 0 left out."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Engine, Rows, fold
from assay.engines.split import keys_of
from assay.errors import DataConversionWarning, DataError, as_seen_by_sklearn, warn
from assay.hypotheses.neighbours.target import merge_surveys, some, survey_block
from assay.kernels import Kernel, check_own_kernel, check_precomputed
from assay.labels import Labels
from assay.numerics import Array, Floats

APART = 1e3  # times the least spread of a column: from there on the kernel hardly sees that column
NAMED = 5  # columns that a warning names
OF_DISTANCES = ("rbf", "laplacian", "poly", "sigmoid")  # kernels in which the widest columns drown the others


class Gathered(NamedTuple):
    """The n rows of weight > 0: X (n, d) (of a precomputed kernel (n, n)), y (n,) codes or numbers, w (n,) or None, their numbers among
    all rows of the fit; how many those are, and the fingerprint of all of them."""

    X: Floats
    y: Array
    w: Floats | None
    numbers: Array
    total: int
    mark: bytes

    @property
    def weight(self) -> Floats:
        """(n,), ones where no weights were given."""
        return np.ones(len(self.X)) if self.w is None else self.w


def gather(engine: Engine, rows: Rows, labels: Labels | None, precomputed: bool) -> Gathered:
    """The rows of a fit; without labels the target is a number."""
    kept = rows.in_memory()
    if precomputed:
        check_precomputed(kept.X)
    survey = some(fold(engine, kept.blocks(), partial(survey_block, labels, rows.names), merge_surveys))
    X = np.require(kept.X, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
    numbers = np.arange(len(X))
    if survey.w is None or survey.kept == len(X):
        return Gathered(X, survey.y, survey.w, numbers, len(X), survey.mark)
    numbers = np.flatnonzero(survey.w > 0)
    there = X[np.ix_(numbers, numbers)] if precomputed else X[numbers]
    return Gathered(there, survey.y[numbers], survey.w[numbers], numbers, len(X), survey.mark)


def check_kernel(kernel: Kernel, rows: Gathered, names: Any) -> None:
    """Raise where a user's function is no kernel or values overflow; warn where columns of other units drown the rest."""
    kernel.diagonal(rows.X)  # by which the other values are bounded
    if kernel.own is not None:
        check_own_kernel(kernel, rows.X)
    elif kernel.name in OF_DISTANCES:
        _warn_unscaled(kernel, rows, names)


def _warn_unscaled(kernel: Kernel, rows: Gathered, names: Any) -> None:
    spread = np.ptp(rows.X, axis=0)
    some_spread = spread[spread > 0]
    if not len(some_spread) or some_spread.max() <= APART * some_spread.min():
        return
    called = [f"column {j}" for j in range(len(spread))] if names is None else [repr(str(name)) for name in names]
    wide = [j for j in np.argsort(-spread, kind="stable") if spread[j] > APART * some_spread.min()]
    shown = ", ".join(f"{called[j]} (over {spread[j]:.3g})" for j in wide[:NAMED]) + (
        ", …" if len(wide) > NAMED else ""
    )
    least = int(np.flatnonzero(spread == some_spread.min())[0])
    warn(
        f"The columns are in very different units: {shown} spread more than {APART:g} times as far as {called[least]} (over "
        f"{spread[least]:.3g}), which the {kernel.name} kernel hardly sees beside them. Standardise the columns, e.g. divide each by its "
        "deviation.",
        as_seen_by_sklearn(DataConversionWarning),
    )


def content_keys(X: Floats) -> Array:
    """A key of each row that depends on its numbers alone, to the digits of float32: equal rows have equal keys, in either precision."""
    with np.errstate(over="ignore"):
        bits = (np.asarray(X).astype(np.float32) + np.float32(0.0)).view(np.uint32).astype(np.uint64)  # −0 is 0
    keys = np.zeros(len(X), dtype=np.uint64)
    for j in range(bits.shape[1]):
        keys = keys_of(keys ^ bits[:, j], j + 1)
    return keys


def refuse_overflowing_bounds(C: float, upper: Floats) -> None:
    """Bounds of zero or infinity that no weight of the user's can have meant."""
    if np.any(np.isnan(upper)) or (np.isfinite(C) and not np.all(np.isfinite(upper))):
        raise DataError(f"C={C:g} times the weights overflows float64: divide the weights, or C, by a constant.")
