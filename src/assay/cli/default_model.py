"""Which model `assay train` takes where none is asked for: the target decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.tables.kinds import MOST_CLASSES, are_classes

if TYPE_CHECKING:
    from assay.engines import Rows


def default_model(rows: Rows) -> tuple[str, str]:
    """(name, why). Text, truth values and few whole numbers are classes (`are_classes` says how few); the rest is a regression."""
    import numpy as np

    seen = np.empty(0)
    n, whole = 0, True
    for part in rows.targets():
        y = part.load().y
        assert y is not None
        if y.dtype.kind not in "iuf":
            return "naive-bayes", "the target is text or true/false"
        seen = np.union1d(seen, y)
        n += len(y)
        whole = bool(np.all(seen == np.floor(seen)))
        if len(seen) > MOST_CLASSES or not whole:
            break
    classes, why = are_classes(len(seen), whole, n)
    return "naive-bayes" if classes else "linear-regression", why
