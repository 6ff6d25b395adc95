"""`assay compare` on a table of 150 rows, from the start of the process to its end; the same nested grid in scikit-learn.

Warm: modules are compiled to bytecode as any installation has them, whatever PYTHONDONTWRITEBYTECODE says here.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench import agreement
from bench.data import FOLDER
from bench.harness import Contender, Race, Target
from bench.processes import watched

WITHIN = 6.0  # seconds


def races() -> list[Race]:
    table = _iris()
    where = FOLDER / "plan_small"
    watched([sys.executable, "-m", "bench.plan", str(table), "target", str(where)])
    shell = str(Path(sys.executable).with_name("assay"))
    warm = ["env", "-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPYCACHEPREFIX={(FOLDER / 'bytecode').resolve()}"]
    peer = [*warm, sys.executable, "-m", "bench.sklearn_grid", str(table), str(where)]
    return [
        Race(
            "compare, 150 rows (iris), process start to end",
            [
                Contender(
                    "assay compare",
                    lambda: watched([*warm, shell, "compare", str(table), "--target", "target", "--quiet"]).lines,
                    5,
                ),
                Contender("scikit-learn, n_jobs=1", lambda: watched([*peer, "1"]).lines, 2),
                Contender("scikit-learn, n_jobs=2", lambda: watched([*peer, "2"]).lines, 2),
            ],
            agreement.nothing,
            [Target("assay compare", within=WITHIN)],
        )
    ]


def _iris() -> Path:
    """The iris table as a CSV file."""
    from sklearn.datasets import load_iris

    iris = load_iris(as_frame=True)
    frame = iris.frame.assign(target=iris.target_names[iris.target])
    FOLDER.mkdir(exist_ok=True)
    frame.to_csv(FOLDER / "iris.csv", index=False)
    return FOLDER / "iris.csv"
