"""Print a hash of the model file of each case, fitted by the loops of one tier of processors.

ASSAY_TIER=x86-64-v3 python tests/tier_marks.py [--short] [MODEL …]

In short: one case a model, of rows in one precision, the models taking turns. Then a third fewer loops have to be compiled.
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


def main(short: bool, names: list[str]) -> None:
    warnings.simplefilter("ignore")
    cases = [(number, case) for number, case in enumerate(CASES) if not names or case.name in names]
    if short:
        cases = list({case.name: (number, case) for number, case in reversed(cases)}.values())
    for turn, (number, case) in enumerate(cases):
        precisions = (np.float64, np.float32)[turn % 2 :][:1] if short else (np.float64, np.float32)
        print(number, case.name, *(mark(case, dtype) for dtype in precisions))


if __name__ == "__main__":
    main("--short" in sys.argv, [word for word in sys.argv[1:] if word != "--short"])
