"""Refusing weights so large that sums of them, or of their products with values, overflow."""

from __future__ import annotations

import numpy as np

from assay.errors import DataError
from assay.numerics import Array

HEAVY = 1e150  # from here on a sum that overflowed did so because of the weights


def refuse_heavy(w: Array | None) -> None:
    """Raise where sums overflowed because of weights (of rows, or their sums); the values are to blame otherwise."""
    top = 0.0 if w is None else float(np.max(w, initial=0.0))
    if not top <= HEAVY:
        raise DataError(
            f"sample_weight reaches {top:.3g}: the weights are so large that their sum overflows: divide them by a constant."
        )
