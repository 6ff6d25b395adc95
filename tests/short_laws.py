"""The laws in short, without pytest: every model fits a small table, answers the same from its file, and its claims are verified.

    python tests/short_laws.py [MODEL …]

For an installation that has nothing but Assay (`tools/other-python`: another Python, from the wheel). With NUMBA_DISABLE_JIT=1 the loops run as
plain Python, which takes a minute less than to compile them all.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from cases import CASES, Case, answers, file_bytes

import assay

ROWS, COLUMNS = 30, 3


def check(case: Case, folder: Path) -> None:
    """A fit, its file, and its certificate."""
    X, y = case.rows(ROWS, COLUMNS)
    model = case.model().fit(X, y)
    model.save(folder / "model.assay")
    loaded = assay.load(folder / "model.assay")
    assert file_bytes(loaded) == file_bytes(model), f"{case}: the file is not what was saved"
    np.testing.assert_array_equal(answers(loaded, X), answers(model, X), err_msg=str(case))
    found = loaded.certificate_.verify(X, y)
    assert found.holds == model.certificate_.holds, f"{case}: {found}"


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    cases = [case for case in CASES if not names or case.name in names]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            check(case, Path(folder))
    print(f"Python {platform.python_version()}: {len(cases)} fits keep their laws ({Path(assay.__file__).parent})")


if __name__ == "__main__":
    main(sys.argv[1:])
