"""Compile the loops that most tests need, each once: pytest's processes would all compile the same ones at the same time.

    python tests/compile_first.py 2

Each model, and each kind of tree, is fitted by one of so many processes; what they compile is kept beside the loops.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from collections import defaultdict

import numpy as np
from cases import CASES, answers
from tree_tables import random_setup


def kinds_of_trees() -> list[list[int]]:
    """Seeds of random settings, those together that share their loops: of the same target, binned or not."""
    kinds = defaultdict(list)
    for seed in range(60):
        model, _, y, _ = random_setup(seed)
        numbers = model.criterion if type(model).__name__.endswith("Regressor") else None
        kinds[numbers, len(np.unique(y)) == 2, isinstance(model.bins, int)].append(seed)
    return list(kinds.values())


def fit(task: int | list[int]) -> None:
    """A kind of tree, or a model in the ways that the laws fit it: rows of both precisions, with weights or not."""
    warnings.simplefilter("ignore")
    if isinstance(task, list):
        for model, X, y, w in map(random_setup, task):
            answers(model.fit(X, y, w), X)
        return
    case = CASES[task]
    X, y = case.rows(60, 3)
    for rows in (X, X.astype(np.float32)):
        for weights in (None, 0.5 + np.arange(60) % 3):
            model = case.model().fit(rows, y, sample_weight=weights)
            answers(model, rows)
            model.certificate_.verify(rows, y, weights)
    if "tree" in case.name:  # many rows are kept in sorted lists
        X, y = case.rows(20_000, 3)
        case.model().fit(X, y, sample_weight=0.5 + np.arange(20_000) % 7 / 3)


if __name__ == "__main__":
    models = sorted(
        range(len(CASES)), key=lambda i: (i % 3, i)
    )  # neighbours share loops, and should not begin together
    with multiprocessing.get_context("spawn").Pool(int(sys.argv[1])) as pool:
        pool.map(fit, [*kinds_of_trees(), *models], chunksize=1)
