"""Nearest neighbours: the k-d tree built and asked, brute force, a learned metric, growth with the rows; neighbours must be identical.

The OpenBLAS that faiss brings may not know the processor and then takes its slowest kernels: set OPENBLAS_CORETYPE (SkylakeX where there is
AVX-512) so that it runs as fast as it can.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import KDTree as TheirTree
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearnex.neighbors import NearestNeighbors as Intelex

import assay
from assay.engines.engine import Threads
from assay.families.neighbours.metric_learning import sorted_rows, value
from bench.harness import Contender, Race, Target

K, QUERIES, JOBS = 5, 10_000, 2
Found = tuple[np.ndarray, np.ndarray]


@cache
def uniform(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(n + d).random((n, d))


@cache
def clustered(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(n + d)
    centres = rng.random((100, d))
    return centres[rng.integers(100, size=n)] + 0.01 * rng.standard_normal((n, d))


@cache
def repeated(n: int, d: int) -> np.ndarray:
    """Few values a column: every row has many copies, and distances tie."""
    return np.random.default_rng(n + d).integers(12, size=(n, d)) / 12


@cache
def queries(kind: Callable[[int, int], np.ndarray], n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    if kind is repeated:
        return rng.integers(12, size=(QUERIES, d)) / 12
    rows = kind(n, d)
    return rows[rng.integers(n, size=QUERIES)] + 0.001 * rng.standard_normal((QUERIES, d))


def same(ours: Found, theirs: Found) -> str:
    """How far distances differ, and in which share of the lists a row does."""
    off = float((np.abs(ours[0] - theirs[0]) / np.maximum(ours[0], 1e-300)).max(initial=0.0, where=ours[0] > 0))
    alike = float(np.mean(np.sort(ours[1], axis=1) == np.sort(theirs[1], axis=1)))
    return f"distances to {off:.1g}, {100 * alike:.2f} % of the rows alike" + ("" if off <= 1e-12 else " (DIFFERS)")


def inexact(ours: Found, theirs: Found) -> str:
    """What a search in float32 loses."""
    alike = np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(ours[1], theirs[1])])
    return f"{100 * float(alike):.3f} % of the neighbours found"


def races() -> list[Race]:
    shapes = [(uniform, 100_000, d) for d in (2, 3, 5, 10)] + [(uniform, 1_000_000, d) for d in (3, 5)]
    shapes += [(kind, 100_000, 3) for kind in (clustered, repeated)]
    found: list[Race] = []
    for kind, n, d in shapes:
        found += [_asked(kind, n, d), _built(kind, n, d)]
    return [*found, *_brute(), _learned()]


def _title(what: str, kind: Callable[[int, int], np.ndarray], n: int, d: int) -> str:
    return f"k-d tree, {what}, {_spaced(n)}×{d}, {kind.__name__}"


def _spaced(n: int) -> str:
    return f"{n:,}".replace(",", " ")


def _asked(kind: Callable[[int, int], np.ndarray], n: int, d: int) -> Race:
    X, Q = kind(n, d), queries(kind, n, d)
    ours, scipy, intelex = assay.KDTree(X), cKDTree(X), Intelex(n_neighbors=K, algorithm="kd_tree", n_jobs=JOBS).fit(X)
    contenders = [
        Contender("assay", lambda: ours.query(Q, K)),
        Contender("scipy", lambda: scipy.query(Q, K, workers=JOBS)),
        Contender("scikit-learn-intelex", lambda: intelex.kneighbors(Q)),
    ]
    targets = [Target("scipy", at_least=1.4), Target("scikit-learn-intelex", at_least=1.4)]
    if d == 5:
        plain = TheirTree(X)
        contenders.append(Contender("scikit-learn", lambda: plain.query(Q, K), rounds=3))
        targets.append(Target("scikit-learn", at_least=10))
    return Race(_title(f"{_spaced(QUERIES)} queries", kind, n, d), contenders, same, targets)


def _built(kind: Callable[[int, int], np.ndarray], n: int, d: int) -> Race:
    X = kind(n, d)
    return Race(
        _title("built", kind, n, d),
        [
            Contender("assay", lambda: assay.KDTree(X), rounds=5),
            Contender("scipy", lambda: cKDTree(X), rounds=5),
            Contender("scikit-learn-intelex", lambda: Intelex(algorithm="kd_tree", n_jobs=JOBS).fit(X), rounds=5),
        ],
        lambda a, b: "",
        [Target("scipy", at_least=1.2), Target("scikit-learn-intelex", at_least=1.2)],
    )


def _brute() -> list[Race]:
    import faiss

    faiss.omp_set_num_threads(JOBS)
    found = []
    for m, n, d, wanted in ((10_000, 50_000, 64, 1.3), (2000, 50_000, 784, 0.95)):
        rng = np.random.default_rng(d)
        X, Q = rng.standard_normal((n, d)), rng.standard_normal((m, d))
        X32, Q32 = X.astype(np.float32), Q.astype(np.float32)
        ours = assay.NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X)
        intelex = Intelex(n_neighbors=K, algorithm="brute", n_jobs=JOBS).fit(X)
        index = faiss.IndexFlatL2(d)
        index.add(X32)

        found.append(
            Race(
                f"Brute force, {_spaced(m)} queries of {_spaced(n)}×{d}, exact in float64",
                [
                    Contender("assay", lambda Q=Q, model=ours: model.kneighbors(Q), rounds=7),
                    Contender("faiss, float32", lambda Q=Q32, index=index: index.search(Q, K), rounds=7),
                    Contender("scikit-learn-intelex", lambda Q=Q, model=intelex: model.kneighbors(Q), rounds=4),
                ],
                same,
                [Target("faiss, float32", at_least=wanted), Target("scikit-learn-intelex", at_least=2.5)],
                {"faiss, float32": inexact},
            )
        )
    return found


def _learned() -> Race:
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 3
    X = rng.standard_normal((3000, 20))
    X[:, :4] += 1.2 * y[:, None] * np.array([1.0, -0.7, 0.5, 0.3])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    from assay.families.neighbours.metric_learning import learn_map

    def objective(ours: Any, theirs: Any) -> str:
        rows = sorted_rows(X, y, None)
        a, b = (float(value(rows, L, Threads(JOBS))) for L in (ours.map, theirs.components_.T))
        return f"soft leave-one-out accuracy {a:.5f} against {b:.5f}" + ("" if a >= b else " (WORSE)")

    return Race(
        "Learned metric, 3000×20, three classes, 50 iterations",
        [
            Contender("assay", lambda: learn_map(X, y, steps=50, tol=0.0, workers=Threads(JOBS)), rounds=5),
            Contender(
                "scikit-learn",
                lambda: NeighborhoodComponentsAnalysis(max_iter=50, tol=0.0, random_state=0).fit(X, y),
                rounds=1,
            ),
        ],
        objective,
        [Target("scikit-learn", at_least=6)],
    )


def notes() -> list[str]:
    lines = []
    sizes = [10_000, 100_000, 1_000_000, 10_000_000]
    for d in (2, 3):
        seconds = []
        for n in sizes:
            X = np.random.default_rng(n).random((n, d))
            Q = np.random.default_rng(1).random((QUERIES, d))
            tree = assay.KDTree(X)
            rounds = []
            for _ in range(7):
                start = time.perf_counter()
                tree.query(Q, K)
                rounds.append(time.perf_counter() - start)
            seconds.append(min(rounds[1:]))
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        times = ", ".join(f"{1e3 * s:.1f}" for s in seconds)
        lines.append(f"d = {d}: exponent {slope:.2f} (wanted ≤ 0.15; n = 10⁴ … 10⁷: {times} ms)")
    return ["Growth of 10 000 queries with the rows, uniform: " + "; ".join(lines) + "."]
