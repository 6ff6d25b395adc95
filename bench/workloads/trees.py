"""Trees and forests: fits of equal held-out accuracy, answers for many rows and for one, size of the file, growth with the rows."""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearnex.ensemble import RandomForestClassifier as IntelexForest
from sklearnex.ensemble import RandomForestRegressor as IntelexForestRegressor

import assay
from bench.harness import Contender, Race, Target

POINTS = 0.3  # of held-out accuracy, in percent, that count as equal
JOBS = 2
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@cache
def classes(n: int, d: int, K: int) -> Split:
    """Rows to fit on and half as many held out."""
    X, y = make_classification(
        n + n // 2,
        d,
        n_informative=min(10, d // 2) if d < 100 else 30,
        n_redundant=d // 10,
        n_classes=K,
        random_state=0,
    )
    return X[:n], y[:n], X[n:], y[n:]


@cache
def numbers(n: int, d: int) -> Split:
    """A smooth function of five columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.random((n + n // 2, d))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y += rng.normal(size=len(y))
    return X[:n], y[:n], X[n:], y[n:]


def by_score(data: Split) -> Callable[[Any, Any], str]:
    """Held-out accuracy (or R²) of both, in percent."""

    def agree(ours: Any, theirs: Any) -> str:
        a, b = (100 * float(model.score(data[2], data[3])) for model in (ours, theirs))
        return f"held out {a:.2f} against {b:.2f} %" + ("" if a >= b - POINTS else " (WORSE)")

    return agree


def races() -> list[Race]:
    return [*_forests(), *_single_trees(), *_numbers(), *_answers()]


def _forest(title: str, data: Split, trees: int, intelex: float, plain: float | None) -> Race:
    X, y = data[0], data[1]
    return Race(
        title,
        [
            Contender("assay", lambda: assay.RandomForestClassifier(n_estimators=trees).fit(X, y), rounds=7),
            Contender(
                "assay, without out-of-bag",
                lambda: assay.RandomForestClassifier(n_estimators=trees, oob_score=False).fit(X, y),
                rounds=5,
            ),
            Contender("scikit-learn-intelex", lambda: IntelexForest(trees, n_jobs=JOBS).fit(X, y), rounds=4),
            Contender("scikit-learn", lambda: RandomForestClassifier(trees, n_jobs=JOBS).fit(X, y), rounds=1),
        ],
        by_score(data),
        [
            Target("scikit-learn-intelex", at_least=intelex),
            *([] if plain is None else [Target("scikit-learn", at_least=plain)]),
        ],
    )


def _forests() -> list[Race]:
    return [
        _forest("Forest, 100 trees, 80 000×20", classes(80_000, 20, 2), 100, 5, 30),
        _forest("Forest, 50 trees, 80 000×20, 10 classes", classes(80_000, 20, 10), 50, 4, None),
        _forest("Forest, 100 trees, 16 000×500", classes(16_000, 500, 2), 100, 3, None),
        _forest("Forest, 10 trees, 800 000×20", classes(800_000, 20, 2), 10, 5, None),
    ]


def _single_trees() -> list[Race]:
    found = []
    for n, d, wanted in ((80_000, 20, 20), (16_000, 500, 15)):
        data = classes(n, d, 2)
        X, y = data[0], data[1]
        found.append(
            Race(
                f"Exact entropy tree, {n:,}×{d}".replace(",", " "),
                [
                    Contender(
                        "assay",
                        lambda X=X, y=y: assay.DecisionTreeClassifier(criterion="entropy", bins="exact").fit(X, y),
                        rounds=7,
                    ),
                    Contender(
                        "scikit-learn",
                        lambda X=X, y=y: DecisionTreeClassifier(criterion="entropy", random_state=0).fit(X, y),
                        rounds=2,
                    ),
                ],
                by_score(data),
                [Target("scikit-learn", at_least=wanted)],
            )
        )
    return found


def _numbers() -> list[Race]:
    data = numbers(80_000, 20)
    X, y = data[0], data[1]
    return [
        Race(
            "Regression forest, 50 trees, 80 000×20, a third of the columns",
            [
                Contender(
                    "assay",
                    lambda: assay.RandomForestRegressor(n_estimators=50, max_features=1 / 3).fit(X, y),
                    rounds=5,
                ),
                Contender(
                    "scikit-learn-intelex",
                    lambda: IntelexForestRegressor(50, max_features=1 / 3, n_jobs=JOBS).fit(X, y),
                    rounds=3,
                ),
                Contender(
                    "scikit-learn",
                    lambda: RandomForestRegressor(50, max_features=1 / 3, n_jobs=JOBS).fit(X, y),
                    rounds=1,
                ),
            ],
            by_score(data),
            [Target("scikit-learn-intelex", at_least=4), Target("scikit-learn", at_least=15)],
        ),
        Race(
            "Regression tree, exact, 80 000×20",
            [
                Contender("assay", lambda: assay.DecisionTreeRegressor(bins="exact").fit(X, y), rounds=7),
                Contender("scikit-learn", lambda: DecisionTreeRegressor(random_state=0).fit(X, y), rounds=2),
            ],
            by_score(data),
            [Target("scikit-learn", at_least=15)],
        ),
    ]


def _answers() -> list[Race]:
    X, y, Xt, _ = classes(80_000, 20, 2)
    ours = assay.RandomForestClassifier(n_estimators=100).fit(X, y)
    intelex = IntelexForest(100, n_jobs=JOBS).fit(X, y)
    plain = RandomForestClassifier(100, n_jobs=JOBS).fit(X, y)
    alone = RandomForestClassifier(100).fit(X[:2000], y[:2000])
    alone.estimators_ = plain.estimators_
    many, one = np.ascontiguousarray(Xt[:20_000]), np.ascontiguousarray(Xt[:1])

    def same_labels(a: Any, b: Any) -> str:
        return f"{100 * float(np.mean(a == b)):.2f} % of the labels alike"

    return [
        Race(
            "Forest, 100 trees: 20 000 rows answered",
            [
                Contender("assay", lambda: ours.predict(many)),
                Contender("scikit-learn-intelex", lambda: intelex.predict(many)),
                Contender("scikit-learn", lambda: plain.predict(many), rounds=3),
            ],
            same_labels,
            [Target("scikit-learn-intelex", at_least=1.7)],
        ),
        Race(
            "Forest, 100 trees: one row answered",
            [
                Contender("assay", lambda: ours.predict(one), rounds=200),
                Contender("scikit-learn-intelex", lambda: intelex.predict(one), rounds=50),
                Contender("scikit-learn, n_jobs=1", lambda: alone.predict(one), rounds=20),
            ],
            same_labels,
            [Target("assay", within=0.5e-3)],
        ),
    ]


def notes() -> list[str]:
    return [_size(), _growth(), _bins()]


def _size() -> str:
    X, y, _, _ = classes(80_000, 20, 2)
    ours = assay.RandomForestClassifier(n_estimators=100).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.assay"
        ours.save(path)
        size = path.stat().st_size
        start = time.perf_counter()
        assay.load(path)
        loading = time.perf_counter() - start
    theirs = len(pickle.dumps(RandomForestClassifier(100, n_jobs=JOBS).fit(X, y), protocol=5))
    nodes = len(ours.feature_)
    return (
        f"A forest of 100 trees on 80 000×20 takes {size / 1e6:.1f} MB ({size / nodes:.1f} bytes a node) and loads in {loading:.2f} s; "
        f"scikit-learn's pickle {theirs / 1e6:.1f} MB: {theirs / size:.1f}× (wanted ≥ 5×)."
    )


def _growth() -> str:
    sizes = [10_000, 30_000, 100_000, 300_000, 1_000_000]
    X, y, _, _ = classes(1_000_000, 10, 2)
    lines = []
    for name, make in (
        ("forest of 10 trees", lambda: assay.RandomForestClassifier(n_estimators=10)),
        ("binned tree", lambda: assay.DecisionTreeClassifier(bins=255)),
        ("exact tree", lambda: assay.DecisionTreeClassifier(bins="exact")),
    ):
        seconds = []
        for n in sizes:
            make().fit(X[:n], y[:n])
            rounds = []
            for _ in range(3):
                start = time.perf_counter()
                make().fit(X[:n], y[:n])
                rounds.append(time.perf_counter() - start)
            seconds.append(min(rounds))
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        times = ", ".join(f"{s:.3f}" for s in seconds)
        lines.append(f"{name}: exponent {slope:.2f} (wanted ≤ 1.15; n = 10⁴ … 10⁶, ×10: {times} s)")
    return "Growth with the rows: " + "; ".join(lines) + "."


def _bins() -> str:
    X, y, Xt, yt = classes(60_000, 20, 2)
    exact = assay.RandomForestClassifier(n_estimators=100, bins="exact").fit(X, y).score(Xt, yt)
    binned = assay.RandomForestClassifier(n_estimators=100, bins=255).fit(X, y).score(Xt, yt)
    error = float(np.sqrt(exact * (1 - exact) / len(yt)))
    return (
        f"Exact against binned splits, forest of 100 trees on 60 000×20: held out {100 * exact:.2f} and {100 * binned:.2f} %, "
        f"standard error {100 * error:.2f}."
    )
