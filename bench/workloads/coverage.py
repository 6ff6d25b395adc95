"""How often the 95 % intervals of a cross-validation hold the error that they are about: that of the model handed over, on new rows.

Samples of 300 rows are drawn from large tables, cheap models are compared on each by ten folds with the search nested within, as
`assay compare` does it, and every model handed over is judged on rows that its sample does not hold (10 000, or all there are). Counted are the
intervals of all models, and that of the best of each sample, which was picked by the same numbers. No race: the result is a table.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.assess.distinct_rows import effective_rows
from assay.certify.held_out import clopper_pearson
from bench.harness import Race

ROWS, FRESH, SAMPLES = 300, 10_000, 20
CLASSIFIERS = ("lda", "gaussian-nb", "logistic-regression", "decision-tree", "knn")
REGRESSORS = ("ridge", "tree-regressor", "knn-regressor")
TABLES = ("adult.parquet", "bank_marketing.csv", "spambase.csv", "optdigits.csv", "california_housing.csv")
SHARES = (0.0, 0.5, 1.0)  # of Nadeau and Bengio's correction


class Hit(NamedTuple):
    """Whether the intervals of a model on a sample hold its error on new rows, one a correction."""

    table: str
    sample: int
    model: str
    held: tuple[bool, ...]
    best: bool


def races() -> list[Race]:
    return []


def notes() -> list[str]:
    """The shares of intervals that hold: by table, by model, and of all."""
    hits = [
        Hit(name, seed, *hit) for name, frame in _frames() for seed in range(SAMPLES) for hit in _judged(frame, seed)
    ]
    return [
        f"{SAMPLES} samples of {ROWS} rows a table, ten folds each. Intervals without the correction for fits that share rows, with half of Nadeau and "
        "Bengio's (what is stated), and with all of it. ± is one standard error over samples, since the models of one sample hang together. Half "
        "was chosen among 0, 0.5, 0.6, 0.75 and 1 on a pilot with scikit-learn's models and other draws of the same tables: these numbers are a "
        "check on new draws, not on new tables.",
        *_lines("table", [(h.table, h) for h in hits]),
        *_lines("model", [(h.model, h) for h in hits]),
        *_lines("", [("all", h) for h in hits]),
    ]


def _frames() -> Any:
    import pandas as pd

    folder = Path(os.environ["ASSAY_DATA"])
    for name in TABLES:
        frame = pd.read_parquet(folder / name) if name.endswith("parquet") else pd.read_csv(folder / name)
        yield name.split(".")[0], frame.rename(columns={frame.columns[-1]: "target"})
    rng = np.random.default_rng(0)
    y, centres = rng.integers(0, 26, 20_000), rng.normal(size=(26, 16))
    X = pd.DataFrame(centres[y] + rng.normal(size=(20_000, 16)), columns=[f"x{j}" for j in range(16)])
    yield "26 letters (normal)", X.assign(target=[f"letter {k:02}" for k in y])


def _judged(frame: Any, seed: int) -> list[tuple[str, tuple[bool, ...], bool]]:
    """(model, whether its interval with each correction holds the error on new rows, whether it is the best of the sample)."""
    from assay import compare

    order = np.random.default_rng(seed).permutation(len(frame))
    sample, fresh = frame.iloc[order[:ROWS]], frame.iloc[order[ROWS : ROWS + FRESH]]
    number = frame["target"].dtype.kind == "f"
    models = list(REGRESSORS if number else CLASSIFIERS)
    found = compare(sample.reset_index(drop=True), "target", models=models, folds=10, seed=seed, workers=0)
    hits = []
    for entry in found.done:
        answers = np.asarray(entry.model.predict(fresh.drop(columns="target")))
        truth = fresh["target"].to_numpy()
        risk = float(np.mean((answers - truth) ** 2 if number else answers.astype(str) != truth.astype(str)))
        held = tuple(low <= risk <= high for low, high in (_interval(entry.risk, share) for share in SHARES))
        hits.append((entry.name, held, entry.name == found.best))
    return hits


def _interval(stated: Any, share: float) -> tuple[float, float]:
    """The interval with so much of the correction in the place of that which is stated."""
    worth = 1 / (1 / ROWS + share / (0.9 * ROWS))
    if stated.name == "error":
        return clopper_pearson(stated.value * worth, worth)
    factor = math.sqrt(effective_rows(ROWS, 0.9 * ROWS) / worth)
    return stated.value - factor * (stated.value - stated.low), stated.value + factor * (stated.high - stated.value)


def _lines(head: str, hits: list[tuple[str, Hit]]) -> list[str]:
    """A line a group: the share of intervals that hold, of all models and of the best of each sample."""
    lines = [
        "",
        f"| {head} | intervals | without | **half** | whole | half, of the best of a sample |",
        "|---|---|---|---|---|---|",
    ]
    for group in dict.fromkeys(key for key, _ in hits):
        inside = [hit for key, hit in hits if key == group]
        shares = [_share(inside, k) for k in range(len(SHARES))]
        lines.append(f"| {group} | {len(inside)} | {' | '.join(shares)} | {_share([h for h in inside if h.best], 1)} |")
    return lines


def _share(hits: list[Hit], k: int) -> str:
    """The share that holds, with its standard error over samples."""
    if not hits:
        return "–"
    samples = list(dict.fromkeys((h.table, h.sample) for h in hits))
    means = [float(np.mean([h.held[k] for h in hits if (h.table, h.sample) == at])) for at in samples]
    error = float(np.std(means, ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return f"{100 * np.mean([h.held[k] for h in hits]):.1f} ± {100 * error:.1f} %"
