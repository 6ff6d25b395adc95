"""Which model `assay train` takes where none is asked for: the target decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.engines import Rows

MOST_CLASSES = 20
ROWS_A_CLASS = 5


def default_model(rows: Rows) -> tuple[str, str]:
    """(name, why). Text, truth values and few whole numbers are classes; the rest is a regression.

    Few: two, or at most 20 with five rows or more to each on average. Sixteen years with a row each are no classes.
    """
    import numpy as np

    seen = np.empty(0)
    n = 0
    for part in rows.targets():
        y = part.load().y
        assert y is not None
        if y.dtype.kind not in "iuf":
            return "naive-bayes", "the target is text or true/false"
        seen = np.union1d(seen, y)
        n += len(y)
        if len(seen) > MOST_CLASSES or np.any(seen != np.floor(seen)):
            return "linear-regression", "the target is a number"
    if len(seen) > 2 and len(seen) * ROWS_A_CLASS > n:
        return "linear-regression", f"the target is a number, {len(seen)} different ones in {n} rows"
    return "naive-bayes", f"the target has {len(seen)} different whole numbers"
