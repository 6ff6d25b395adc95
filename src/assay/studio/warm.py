"""What is done once before anybody asks, so that the first fit of each kind is as quick as the next: compiled loops are loaded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from assay.errors import AssayError

FIRST = ("perceptron", "logistic-regression", "linear-svc", "svc", "knn", "decision-tree", "random-forest", "mlp")
ROWS = 300


def chores() -> Iterator[Callable[[], None]]:
    """Small pieces of work, the most wanted first; none of them fails."""
    from assay.families import REGISTRY

    yield from (partial(_fit, name) for name in (*FIRST, *(name for name in REGISTRY if name not in FIRST)))


def _fit(name: str) -> None:
    """Fit a model to points as the page would ask for."""
    from assay.families import model_class
    from assay.studio.asks import Ask, View
    from assay.studio.playing import fit
    from assay.studio.tables import Shelf

    classes = "classifier" in model_class(name).kind_of({})
    few = {"n_estimators": 4} if "n_estimators" in model_class(name).params else {}
    ask = Ask(_data(classes), name, View((-3.0, 3.0), (-3.0, 3.0)), params=few, quick=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for _ in fit(ask, None, Shelf(folder)):
                pass
        except AssayError:  # such as counts that are none: what could be loaded is
            pass


def _data(classes: bool) -> Any:
    from assay.studio.asks import Data, Points

    x, y = np.random.default_rng(0).normal(size=(2, ROWS))
    if not classes:
        return Data(Points(x.tolist(), target=(x + y).tolist()))
    return Data(Points(x.tolist(), y.tolist(), label=np.where(x * x + y > 0.5, "a", "b").tolist()))
