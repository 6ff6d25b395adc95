"""Which model `assay train` takes where none is asked for: the target decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.engines import Rows

MOST_CLASSES = 20


def default_model(rows: Rows) -> tuple[str, str]:
    """(name, why). Text, truth values and few whole numbers are classes; the rest is a regression."""
    import numpy as np

    seen = np.empty(0)
    for part in rows.targets():
        y = part.load().y
        assert y is not None
        if y.dtype.kind not in "iuf":
            return "naive-bayes", "the target is text or true/false"
        seen = np.union1d(seen, y)
        if len(seen) > MOST_CLASSES or np.any(seen != np.floor(seen)):
            return "linear-regression", "the target is a number"
    return "naive-bayes", f"the target has {len(seen)} different whole numbers"
