"""Boosting: fits of equal leaves, rate and stages against the libraries that people use for it, with the held-out loss of both; answers; memory; cold start.

ASSAY_DATA names the folder with Adult (categories and missing values); without it that race is left out. About seven minutes on two quiet cores.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from xgboost import XGBClassifier, XGBRegressor

import assay
from bench.data import real_data
from bench.harness import Contender, Race, Target
from bench.workloads import cold_start

JOBS, STAGES, LEAVES, RATE = 2, 100, 31, 0.1
NEAR = 1.003  # of the other's held-out loss: equal
ADULT_ROWS = 32_561  # the published training rows
TABLES = 5
TIMES = 1000  # one row is answered so often
SAME = {"n_estimators": STAGES, "learning_rate": RATE}
XGBOOST = {**SAME, "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0, "n_jobs": JOBS}  # fmt: skip
LIGHTGBM = {**SAME, "num_leaves": LEAVES, "n_jobs": JOBS, "verbose": -1}
HIST = {"max_iter": STAGES, "learning_rate": RATE, "max_leaf_nodes": LEAVES, "early_stopping": False}
CATBOOST = {"iterations": STAGES, "learning_rate": RATE, "depth": 5, "thread_count": JOBS, "verbose": False, "allow_writing_files": False}  # fmt: skip
WANTED = [
    Target("LightGBM", at_least=1.5),
    Target("XGBoost", at_least=3),
    Target("HistGradientBoosting", at_least=4),
    Target("CatBoost", at_least=10),
]
MEMORY = """
import re, sys, numpy as np
from pathlib import Path
def held(name):
    return int(re.search(name + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)) / 1024
X, y = np.load(sys.argv[2] + "/X.npy"), np.load(sys.argv[2] + "/y.npy")
if sys.argv[1] == "assay":
    from assay import GradientBoostingClassifier
    model = GradientBoostingClassifier(n_estimators=20)
else:
    from lightgbm import LGBMClassifier
    model = LGBMClassifier(n_estimators=20, n_jobs=2, verbose=-1)
model.fit(X[:5000], y[:5000])
before = held("VmRSS")
model.fit(X, y)
print(held("VmHWM"), held("VmHWM") - before)
"""
Split = tuple[Any, np.ndarray, Any, np.ndarray]


@cache
def classes(n: int, d: int, K: int, seed: int = 0) -> Split:
    """Rows to fit on and half as many held out."""
    X, y = make_classification(
        n + n // 2, d, n_informative=min(10, d // 2), n_redundant=d // 10, n_classes=K, random_state=seed
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


def adult(folder: Path) -> Split:
    """Adult as a frame: texts are categories, some cells are missing."""
    frame = pd.read_parquet(folder / "adult.parquet")
    y = (frame.pop("target").astype(str).str.contains(">50K")).to_numpy().astype(np.int64)
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category")
    return frame[:ADULT_ROWS], y[:ADULT_ROWS], frame[ADULT_ROWS:], y[ADULT_ROWS:]


def _texts(X: Any) -> Any:
    """As CatBoost takes categories: texts, those that are missing too."""
    if not isinstance(X, pd.DataFrame):
        return X
    return X.assign(**{name: X[name].astype(object).fillna("none") for name in X.select_dtypes("category").columns})


def by_loss(data: Split) -> Callable[[Any, Any], str]:
    """Held-out log loss, or squared error, of both."""

    def loss(model: Any) -> float:
        if hasattr(model, "predict_proba"):
            X = _texts(data[2]) if isinstance(model, CatBoostClassifier) else data[2]
            return float(log_loss(data[3], model.predict_proba(X)))
        return float(mean_squared_error(data[3], model.predict(data[2])))

    def agree(ours: Any, theirs: Any) -> str:
        a, b = loss(ours), loss(theirs)
        return f"held-out loss {a:.5f} against {b:.5f}" + ("" if a <= NEAR * b else " (WORSE)")

    return agree


def races() -> list[Race]:
    folder = real_data()
    return [
        _classes("100 000×20", classes(100_000, 20, 2)),
        _classes("1 000 000×20", classes(1_000_000, 20, 2), rounds=2, slow=0),
        _classes("200 000×100", classes(200_000, 100, 2), rounds=2, slow=0),
        *([_classes("Adult, 32 561 rows", adult(folder))] if folder is not None else []),
        _classes("50 000×50, 10 classes", classes(50_000, 50, 10), rounds=1, slow=0),
        _numbers("100 000×20", numbers(100_000, 20)),
        _answers(classes(1_000_000, 20, 2)),
        _one_row(classes(100_000, 20, 2)),
        _first_fit(),
    ]


def notes() -> list[str]:
    """What one table cannot tell, and no time."""
    return [_losses(), _peaks()]


def _losses() -> str:
    """Held-out losses over several tables: on one of them another edge of a bin moves either side's by a per cent."""
    makers = {
        "assay": _ours,
        "LightGBM": _lightgbm,
        "XGBoost": lambda X, y: XGBClassifier(**XGBOOST).fit(X, y),
    }
    out = [
        f"## Held-out log loss of {STAGES} stages of {LEAVES} leaves, {TABLES} tables of 100 000×20",
        "",
        "| contender | each table | mean |",
        "|---|---|---|",
    ]
    for name, make in makers.items():
        found = []
        for seed in range(TABLES):
            X, y, Z, t = classes(100_000, 20, 2, seed)
            found.append(float(log_loss(t, make(X, y).predict_proba(Z))))
        out.append(f"| {name} | {' '.join(f'{loss:.5f}' for loss in found)} | {np.mean(found):.5f} |")
    return "\n".join(out)


def _peaks() -> str:
    """Peak memory of a process that fits 1 000 000×20."""
    X, y = classes(1_000_000, 20, 2)[:2]
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        np.save(f"{folder}/y.npy", y)
        found = {name: _memory(name, folder) for name in ("assay", "LightGBM")}
    out = [
        "## Memory of a process that fits 1 000 000×20",
        "",
        f"The rows take {X.nbytes / 2**20:.0f} MB. *More*: above what the process held when a fit of 5000 rows had ended. Wanted: ours at most 1.3 times "
        "LightGBM's.",
        "",
        "| contender | peak | more |",
        "|---|---|---|",
        *(f"| {name} | {peak:.0f} MB | {more:.0f} MB |" for name, (peak, more) in found.items()),
        "",
        f"Ours is {found['assay'][0] / found['LightGBM'][0]:.2f} times LightGBM's; of what is more, {found['assay'][1] / found['LightGBM'][1]:.2f} times.",
    ]
    return "\n".join(out)


def _memory(name: str, folder: str) -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", MEMORY, name, folder], check=True, capture_output=True, text=True)
    peak, more = done.stdout.split()[-2:]
    return float(peak), float(more)


def _ours(X: Any, y: np.ndarray) -> Any:
    return assay.GradientBoostingClassifier(**SAME, max_leaf_nodes=LEAVES).fit(X, y)


def _lightgbm(X: Any, y: np.ndarray) -> Any:
    return LGBMClassifier(**LIGHTGBM).fit(X, y)


def _catboost(X: Any, y: np.ndarray) -> Any:
    texts = list(X.select_dtypes("category").columns) if isinstance(X, pd.DataFrame) else None
    return CatBoostClassifier(**CATBOOST, cat_features=texts).fit(_texts(X), y)


def _classes(title: str, data: Split, rounds: int = 5, slow: int = 1) -> Race:
    X, y = data[0], data[1]
    makers: list[tuple[str, Callable[[], Any], int]] = [
        ("assay", partial(_ours, X, y), rounds),
        ("LightGBM", partial(_lightgbm, X, y), rounds),
        ("XGBoost", lambda: XGBClassifier(**XGBOOST, enable_categorical=True).fit(X, y), slow),
        (
            "HistGradientBoosting",
            lambda: HistGradientBoostingClassifier(**HIST, categorical_features="from_dtype").fit(X, y),
            slow,
        ),
        ("CatBoost", partial(_catboost, X, y), 0),
    ]
    return Race(
        f"Boosting, {STAGES} stages of {LEAVES} leaves, {title}",
        [Contender(*maker) for maker in makers],
        by_loss(data),
        WANTED,
    )


def _numbers(title: str, data: Split) -> Race:
    X, y = data[0], data[1]
    return Race(
        f"Boosting of numbers, {STAGES} stages of {LEAVES} leaves, {title}",
        [
            Contender("assay", lambda: assay.GradientBoostingRegressor(**SAME, max_leaf_nodes=LEAVES).fit(X, y), 5),
            Contender("LightGBM", lambda: LGBMRegressor(**LIGHTGBM).fit(X, y), 5),
            Contender("XGBoost", lambda: XGBRegressor(**XGBOOST).fit(X, y), 1),
            Contender("HistGradientBoosting", lambda: HistGradientBoostingRegressor(**HIST).fit(X, y), 1),
        ],
        by_loss(data),
        WANTED[:3],
    )


def _answers(data: Split) -> Race:
    X, y = data[0], data[1]
    ours, theirs = _ours(X[:100_000], y[:100_000]), _lightgbm(X[:100_000], y[:100_000])
    ours.predict_proba(X[:1000])
    return Race(
        "Boosting: 1 000 000 rows answered",
        [
            Contender("assay", lambda: ours.predict_proba(X), 5),
            Contender("LightGBM", lambda: theirs.predict_proba(X), 3),
        ],
        lambda a, b: f"mean difference {np.abs(a - b).mean():.4f}",
        [Target("LightGBM", at_least=3)],
    )


def _one_row(data: Split) -> Race:
    """As it was fitted, and as it comes out of a file."""
    X, y = data[0], data[1]
    ours, theirs, row = _ours(X, y), _lightgbm(X, y), X[:1].copy()
    with tempfile.TemporaryDirectory() as folder:
        ours.save(f"{folder}/model.assay")
        loaded = assay.load(f"{folder}/model.assay")

    def often(model: Any) -> Callable[[], list[Any]]:
        model.predict(row)
        return lambda: [model.predict(row) for _ in range(TIMES)]

    return Race(
        f"Boosting: one row answered {TIMES} times",
        [
            Contender("assay", often(ours), 5),
            Contender("assay, from a file", often(loaded), 5),
            Contender("LightGBM", often(theirs), 3),
        ],
        lambda a, b: "the same" if np.array_equal(a[0], b[0]) else "another class",
        [Target("assay", within=3e-5 * TIMES), Target("assay, from a file", within=3e-5 * TIMES)],
    )


def _first_fit() -> Race:
    """From a clone nothing takes longer than five seconds to compile; the rest of a process is about one."""
    race = cold_start.first_fit("gradient-boosting")
    race.targets.append(Target("clone, cold", within=6.0))
    return race
