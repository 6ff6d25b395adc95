"""Some columns of a block together with the class of each row: what a density family reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from assay.errors import DataError
from assay.hypotheses.heavy_weights import refuse_heavy
from assay.numerics import Array

TILE_ELEMENTS = 1 << 16


class Part(NamedTuple):
    """X (m, c): the columns numbered `columns` of rows `start`, …; codes (m,): their classes 0 … K−1; w (m,) or None."""

    X: Array
    codes: Array
    w: Array | None
    K: int
    columns: Array
    start: int
    names: Sequence[str] | None

    def column(self, j: int) -> str:
        """The name under which a user knows the j-th column of this part."""
        at = int(self.columns[j])
        return f"column {self.names[at]!r}" if self.names is not None else f"column {at}"

    def refuse_where(self, bad: Array, before: str, remedy: str) -> None:
        """Raise for the first row of positive weight that is marked in `bad` (m, c)."""
        if self.w is not None:
            bad = bad & (self.w > 0)[:, None]
        if bad.any():
            i, j = (int(k) for k in np.argwhere(bad)[0])
            raise DataError(f"{before} (value {self.X[i, j]:g} in row {self.start + i}, {self.column(j)}). {remedy}")

    def refuse_infinite(self) -> None:
        """Raise for the first infinite value."""
        what = f"Input X contains infinity or a value too large for dtype('{self.X.dtype}')"
        self.refuse_where(np.isinf(self.X), what, "Drop these rows or mark the values as missing (NaN).")

    def refuse_overflow(self) -> NoReturn:
        """Raise for the column with the largest values, whose squares or sums overflow, or for the weights that make them."""
        refuse_heavy(self.w)
        top = np.nanmax(np.abs(self.X), axis=0, initial=0.0, where=~np.isnan(self.X))
        j = int(np.argmax(top))
        column = self.column(j)
        raise DataError(
            f"{column[0].upper()}{column[1:]} holds values as large as {top[j]:.3g}, whose squares overflow float64. "
            "Rescale it (divide by a constant)."
        )


def take(X: Array, columns: Array) -> Array:
    """The columns of a block, in C order; all of them without a copy."""
    return X if len(columns) == X.shape[1] else np.ascontiguousarray(X[:, columns])


def tiles(X: Array) -> Iterator[slice]:
    """Slices of rows that fit the processor's cache."""
    rows = max(16, TILE_ELEMENTS // max(1, X.shape[1]))
    for a in range(0, len(X), rows):
        yield slice(a, a + rows)
