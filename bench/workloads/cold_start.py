"""Cold start, each in a process of its own: import, help, first fit with empty and warm cache, predict from the shell."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import assay
from bench import agreement
from bench.data import two_classes
from bench.harness import Contender, Race, Target

FIT = "import numpy as np, assay; X = np.arange(60.0).reshape(20, 3) ** 2; assay.GaussianNB().fit(X, np.arange(20) % 2)"


def _process(arguments: list[str], **environment: str) -> Callable[[], None]:
    def run() -> None:
        subprocess.run(arguments, check=True, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)

    return run


def _python(code: str, **environment: str) -> Callable[[], None]:
    return _process([sys.executable, "-c", code], **environment)


def _fit_with_empty_cache() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _python(FIT, NUMBA_CACHE_DIR=folder)()


def races() -> list[Race]:
    folder = Path(tempfile.mkdtemp())
    X, y = two_classes(100, 5)
    table = folder / "rows.csv"
    table.write_text("a,b,c,d,e\n" + "\n".join(",".join(map(str, row)) for row in X) + "\n")
    import pandas as pd

    assay.GaussianNB().fit(pd.DataFrame(X, columns=list("abcde")), y).save(folder / "model.assay")
    shell = str(Path(sys.executable).with_name("assay"))
    return [
        Race(
            "import",
            [
                Contender("import assay", _python("import assay"), 10),
                Contender("import numpy", _python("import numpy"), 10),
                Contender("import sklearn.naive_bayes", _python("import sklearn.naive_bayes"), 5),
            ],
            agreement.nothing,
            [Target("import numpy", at_most=1.3)],
        ),
        Race(
            "from process start",
            [
                Contender("assay --help", _process([shell, "--help"]), 10),
                Contender("first fit, warm cache", _python(FIT), 5),
                Contender("first fit, empty cache", _fit_with_empty_cache, 2),
                Contender(
                    "assay predict, 100 rows", _process([shell, "predict", str(folder / "model.assay"), str(table)]), 5
                ),
                Contender(
                    "scikit-learn: import and fit",
                    _python(FIT.replace("assay", "sklearn.naive_bayes")),
                    5,
                ),
            ],
            agreement.nothing,
            [
                Target("assay --help", within=0.4),
                Target("first fit, warm cache", within=2.5),
                Target("assay predict, 100 rows", within=1.0),
            ],
        ),
    ]
