"""How much worse a model does on held-out rows when a column is shuffled (Breiman 2001; Fisher, Rudin and Dominici 2019).

    importance of columns g = mean over rows and repeats of  ℓ(h(x with x_g of another row), y) − ℓ(h(x), y)

Columns that were one before encoding (the parts of a one-hot code) are shuffled together. Beware of columns that say much
the same: each looks dispensable while the other is there, and shuffling one makes rows that never occur. Shuffle such
columns as one group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.assess.score import Score, around, check_confidence, plain, same_length, score
from assay.errors import ParameterError
from assay.numerics import Array, Floats
from assay.risk import Loss
from assay.risk.losses import loss_of


@dataclass(frozen=True)
class Importance:
    """By how much the risk grows when the columns named are shuffled."""

    name: str
    columns: tuple[int, ...]
    increase: Score

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def permutation_importance(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    *,
    groups: Mapping[str, Sequence[int]] | None = None,
    loss: str | Loss | Callable[[Any, Any], Any] = "zero-one",
    repeats: int = 5,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Importance]:
    """The importance of each group of columns (of each column, if none are given), greatest first. X (n, d) may be sparse.

    `predict(X)` answers what the loss looks at. Approximate interval: a row takes part twice, judged with another's value and
    lending its own; the deviation over rows of the sum of both means over the repeats is what the mean is uncertain by.
    """
    confidence, measure = (
        check_confidence(confidence),
        loss_of(loss.replace("_", "-") if isinstance(loss, str) else loss),
    )
    y = np.asarray(y)
    X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    n, d = X.shape
    same_length(y=y, X=np.empty(n))
    if repeats < 1:
        raise ParameterError(f"repeats={repeats!r} is not possible: shuffle at least once.")
    parts = _groups(groups, d)
    base = measure.value(predict(X), y)
    found = []
    for g, (name, columns) in enumerate(parts.items()):
        judged, lent = np.zeros(n), np.zeros(n)
        for r in range(repeats):
            order = np.random.default_rng([seed, g, r]).permutation(n)
            worse = measure.value(predict(_shuffled(X, columns, order)), y) - base
            judged += worse / repeats
            lent[order] += worse / repeats
        found.append(Importance(name, tuple(columns), _increase(name, judged, lent, confidence)))
    return sorted(found, key=lambda i: -i.increase.value)


def _groups(groups: Mapping[str, Sequence[int]] | None, d: int) -> dict[str, list[int]]:
    if groups is None:
        return {f"column {j}": [j] for j in range(d)}
    parts = {name: [int(j) for j in columns] for name, columns in groups.items()}
    for name, columns in parts.items():
        strange = [j for j in columns if not 0 <= j < d]
        if strange or not columns:
            raise ParameterError(f"Group {name!r} names the columns {columns}, but they are numbered 0 to {d - 1}.")
    return parts


def _shuffled(X: Any, columns: list[int], order: Array) -> Any:
    """X with these columns taken from the rows in another order."""
    if hasattr(X, "tocsr"):
        from scipy.sparse import diags_array

        chosen = np.zeros(X.shape[1])
        chosen[columns] = 1.0
        return X @ diags_array(1 - chosen) + X[order] @ diags_array(chosen)
    mixed = X.copy()
    mixed[:, columns] = X[order][:, columns] if len(columns) > X.shape[1] // 2 else X[:, columns][order]
    return mixed


def _increase(name: str, judged: Floats, lent: Floats, confidence: float) -> Score:
    n, mean = len(judged), float(judged.mean())
    error = float((judged + lent).std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    return score(name, mean, around(mean, error, max(1, n - 1), confidence), "approximate", "high", n)
