"""Print a hash of the model file of each case, fitted by the loops of one tier of processors.

ASSAY_TIER=x86-64-v3 python tests/tier_marks.py [MODEL …]
"""

from __future__ import annotations

import hashlib
import sys
import warnings

import numpy as np
from cases import CASES, file_bytes

ROWS, COLUMNS = 700, 19  # neither is a multiple of a vector


def mark(case, dtype):
    X, y = case.rows(ROWS, COLUMNS)
    model = case.model().fit(X.astype(dtype), y, sample_weight=0.5 + np.arange(ROWS) % 5)
    return hashlib.sha256(file_bytes(model)).hexdigest()[:16]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for number, case in enumerate(CASES):
        if not sys.argv[1:] or case.name in sys.argv[1:]:
            print(number, case.name, *(mark(case, dtype) for dtype in (np.float64, np.float32)))
