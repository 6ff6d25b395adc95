"""A figure's rows as arrays, and its panels as models of the library."""

from __future__ import annotations

import itertools
import warnings
from functools import cache
from typing import Any

import numpy as np

from assay.families import model_class
from assay.studio.presets import PRESETS


def rows_of(preset: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """X and y of the points that a figure draws."""
    points = preset["data"]["points"]
    if preset["task"] == "classes":
        return np.column_stack([points["x"], points["y"]]), np.array(points["label"])
    return np.array(points["x"])[:, None], np.array(points["target"])


def arrays(labelled: Any) -> tuple[np.ndarray, np.ndarray]:
    """X and y of points as the makers of figures hold them."""
    return np.array(labelled.places), np.array(labelled.labels)


def model_of(panel: dict[str, Any]) -> Any:
    """The panel's model, not fitted. Words such as "inf" are read by the table of hyper-parameters."""
    cls = model_class(panel["model"])
    read = {k: cls.params[k].parse(v) if isinstance(v, str) else v for k, v in panel["params"].items()}
    return cls(**read)


@cache
def fitted(name: str) -> tuple[tuple[Any, ...], np.ndarray, np.ndarray]:
    """Every panel's model, fitted to the figure's rows, with these rows."""
    preset = PRESETS[name]()
    X, y = rows_of(preset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some figures show what does not end
        return tuple(model_of(panel).fit(X, y) for panel in preset["panels"]), X, y


def risk(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The share of wrong answers; of numbers the mean squared error."""
    answers = model.predict(X)
    return float(np.mean((answers - y) ** 2) if y.dtype.kind == "f" else np.mean(answers != y))


def risks(name: str) -> list[float]:
    """The training risk of every panel."""
    models, X, y = fitted(name)
    return [risk(model, X, y) for model in models]


def steps_of(name: str, i: int) -> list[Any]:
    """What the i-th panel plays."""
    preset = PRESETS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(model_of(preset["panels"][i]).steps(*rows_of(preset)))


def plane(name: str, n: int = 60) -> np.ndarray:
    """A grid over the figure's view."""
    view = PRESETS[name]()["view"]
    return np.array([(a, b) for b in np.linspace(*view["y"], n) for a in np.linspace(*view["x"], n)])


def best_line(X: np.ndarray, y: np.ndarray) -> float:
    """The least share of mistakes of any line: the best goes between two rows, with each of them on either side."""
    sign, best = np.where(y == y[0], 1, -1), len(y)
    for i, j in itertools.combinations(range(len(X)), 2):
        across = (X[j] - X[i])[::-1] * (-1, 1)
        side = (X - X[i]) @ across
        for side[i], side[j] in itertools.product((-1, 1), repeat=2):
            wrong = int(np.sum(np.sign(side) != sign))
            best = min(best, wrong, len(y) - wrong)
    return best / len(y)


def changes(model: Any, name: str) -> int:
    """How often the answer changes along the rows of pixels of the view: a ragged boundary has many."""
    answers = model.predict(plane(name)).reshape(60, 60)
    return int(np.sum(answers[:, 1:] != answers[:, :-1]))
