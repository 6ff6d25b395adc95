"""Fits of an older version of this library beside today's, in processes of their own that take turns.

ASSAY_BENCH_BEFORE names the `src` folder of the older version. The same rows, the same calls; answers must agree.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import assay
from bench.harness import Contender, Race, Target

SLOWEST = 1 / 1.05  # of the older one's speed: no fit may take more than 5 % longer
FITS = {  # rows, columns, classes (0: numbers), the call
    "GaussianNB, 500 000×20": (500_000, 20, 5, "GaussianNB()"),
    "LinearRegression, 200 000×50": (200_000, 50, 0, "LinearRegression()"),
    "Ridge, 200 000×50": (200_000, 50, 0, "Ridge()"),
    "LogisticRegression, 50 000×30": (50_000, 30, 2, "LogisticRegression()"),
    "LogisticRegression, ten classes, 20 000×30": (20_000, 30, 10, "LogisticRegression()"),
    "LinearSVC, 50 000×30": (50_000, 30, 2, "LinearSVC()"),
    "SVC, 4 000×10": (4_000, 10, 2, "SVC()"),
    "DecisionTreeClassifier, 100 000×20": (100_000, 20, 3, "DecisionTreeClassifier()"),
    "RandomForestClassifier, 20 000×20": (20_000, 20, 3, "RandomForestClassifier(n_estimators=30)"),
    "KNeighborsClassifier, 20 000×10": (20_000, 10, 3, "KNeighborsClassifier()"),
    "MLPClassifier, 5 000×20": (5_000, 20, 3, "MLPClassifier(max_iter=20)"),
    "LinearDiscriminantAnalysis, 200 000×30": (200_000, 30, 5, "LinearDiscriminantAnalysis()"),
}


def races() -> list[Race]:
    before = os.environ.get("ASSAY_BENCH_BEFORE")
    if not before:
        raise SystemExit("before_after: ASSAY_BENCH_BEFORE must name the src folder of an older version")
    processes = {
        name: _Process(src) for name, src in (("today", str(Path(assay.__file__).parents[1])), ("before", before))
    }
    return [
        Race(
            title,
            [Contender(name, lambda p=process, t=title: p.fit(t)) for name, process in processes.items()],
            lambda ours, theirs: f"{100 * float(np.mean(np.equal(ours, theirs))):.2f} % equal answers",
            [Target("before", at_least=SLOWEST)],
        )
        for title in FITS
    ]


class _Process:
    """A version in a process of its own: told the title of a fit, it fits and writes its answers."""

    def __init__(self, src: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([src, str(Path(__file__).parents[2])])}
        self.child = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", __spec__.name], stdin=-1, stdout=-1, env=environment
        )

    def fit(self, title: str) -> np.ndarray:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(f"{title}\n".encode())
        self.child.stdin.flush()
        rows = int(self.child.stdout.readline())
        return np.frombuffer(self.child.stdout.read(8 * rows), dtype=np.float64)


def _data(rows: int, columns: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    score = X[:, :5].sum(axis=1) + np.sin(3 * X[:, 0]) + rng.normal(size=rows)
    if not classes:
        return X, score
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def _answer_forever() -> None:
    drawn: dict[str, Any] = {}
    for line in sys.stdin:
        rows, columns, classes, call = FITS[line.strip()]
        X, y = drawn.setdefault(line, _data(rows, columns, classes))
        model = eval(f"assay.{call}", {"assay": assay})
        answers = np.asarray(model.fit(X, y).predict(X[:500]), dtype=np.float64)
        sys.stdout.buffer.write(b"%d\n" % len(answers) + answers.tobytes())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _answer_forever()
