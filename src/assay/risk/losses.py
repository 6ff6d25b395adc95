"""Losses: what a prediction costs where the truth is y. Each satisfies ℓ ≥ 0, and ℓ(y, y) = 0 for predictions of labels.

    zero-one (Hamming)   1{p ≠ y}              squared      (p − y)²
    hinge                max{0, 1 − yz}        perceptron   max{0, −yz}        log   log(1 + exp(−yz)) or −log p(y | x)

p is a predicted label or number, z a score (the margin losses take y as −1 or 1, or as one of two classes, the greater
of which counts as 1), p(k | x) a row of probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array, Floats, safe_log

LABEL, SCORE, PROBABILITY = "label", "score", "probability"


@dataclass(frozen=True)
class Loss:
    """A loss by name; `needs` says what of a model it looks at: its label, its score, or its probability of y."""

    name: str
    needs: str
    _value: Callable[[Array, Array], Any]

    def value(self, prediction: Any, y: Any, classes: Any = None) -> Floats:
        """The loss of each row. `classes` are the two (log: any number of) labels, needed where y may lack some of them."""
        p, truth = np.asarray(prediction), np.asarray(y)
        if self.needs == LABEL:
            _same_shape(p, truth)
            return np.asarray(self._value(p, truth), dtype=np.float64)
        if p.ndim == 2 and self.needs == PROBABILITY:
            return np.asarray(-safe_log(_probability_of(p.astype(np.float64), truth, classes)))
        if p.ndim == 2 and p.shape[1] == 1:
            p = p[:, 0]
        y_signs = signs(truth, classes)  # first: it says best what is wrong with more than two classes
        _same_shape(p, truth)
        return np.asarray(self._value(p.astype(np.float64), y_signs), dtype=np.float64)

    __call__ = value


def _same_shape(p: Array, y: Array) -> None:
    if p.shape != y.shape:
        raise DataError(f"Predictions of shape {p.shape} cannot be compared with targets of shape {y.shape}.")


def signs(y: Array, classes: Any = None) -> Floats:
    """Labels of two classes as −1 and 1.

    >>> signs(np.array(["no", "yes", "no"]))
    array([-1.,  1., -1.])
    """
    known = np.unique(y) if classes is None else np.unique(np.asarray(classes))
    if classes is None and y.dtype.kind in "fiu" and np.isin(known, (-1, 1)).all():
        return y.astype(np.float64)
    if len(known) != 2:
        raise DataError(
            f"This loss looks at the margin of two classes, but there are {len(known)}: {list(known[:5])}. Use 'zero-one' or 'log', "
            "or give the two classes."
        )
    _refuse_strangers(y, known)
    return np.where(y == known[1], 1.0, -1.0)


def _refuse_strangers(y: Array, known: Array) -> None:
    inside = np.isin(y, known)
    if not inside.all():
        raise DataError(f"y contains {y[~inside][0]!r}, which is none of the classes {list(known[:10])}.")


def _probability_of(P: Floats, y: Array, classes: Any) -> Floats:
    known = np.unique(y if classes is None else np.asarray(classes))
    if P.shape != (len(y), len(known)):
        raise DataError(f"Probabilities of shape {P.shape} do not fit {len(y)} rows and {len(known)} classes.")
    _refuse_strangers(y, known)
    out: Floats = P[np.arange(len(y)), np.searchsorted(known, y)]
    return out


def _zero_one(p: Array, y: Array) -> Any:
    return p != y


def _hamming(p: Array, y: Array) -> Any:
    wrong = p != y
    return wrong.mean(axis=1) if wrong.ndim == 2 else wrong


def _squared(p: Array, y: Array) -> Any:
    try:
        return (p.astype(np.float64) - y.astype(np.float64)) ** 2
    except (TypeError, ValueError):
        raise DataError(
            f"The squared loss needs numbers, not {p.dtype} and {y.dtype}: use 'zero-one' for labels."
        ) from None


def _hinge(z: Floats, y: Floats) -> Any:
    return np.maximum(0.0, 1.0 - y * z)


def _perceptron(z: Floats, y: Floats) -> Any:
    return np.maximum(0.0, -y * z)


def _log(z: Floats, y: Floats) -> Any:
    return np.logaddexp(0.0, -y * z)


ZERO_ONE = Loss("zero-one", LABEL, _zero_one)
HAMMING = Loss("hamming", LABEL, _hamming)
SQUARED = Loss("squared", LABEL, _squared)
HINGE = Loss("hinge", SCORE, _hinge)
PERCEPTRON = Loss("perceptron", SCORE, _perceptron)
LOG = Loss("log", PROBABILITY, _log)
LOSSES: dict[str, Loss] = {loss.name: loss for loss in (ZERO_ONE, HAMMING, SQUARED, HINGE, PERCEPTRON, LOG)}


@dataclass(frozen=True)
class _Checked:
    """A user's function of (prediction, truth), held to ℓ ≥ 0 and ℓ(y, y) = 0 wherever it is evaluated."""

    function: Callable[[Any, Any], Any]

    def __call__(self, p: Array, y: Array) -> Floats:
        values = self._evaluate(p, y)
        self._refuse(~(values >= 0), p, y, values, "negative or no number, but a loss must be ≥ 0")
        at_truth = self._evaluate(y, y)
        self._refuse(~(np.abs(at_truth) <= 1e-12), y, y, at_truth, "not zero, but a right prediction must cost nothing")
        return values

    def _evaluate(self, p: Array, y: Array) -> Floats:
        values = np.asarray(self.function(p, y), dtype=np.float64)
        if values.shape != y.shape:
            raise ParameterError(
                f"The custom loss returned shape {values.shape} for {y.shape} targets: one number a row is due."
            )
        return values

    @staticmethod
    def _refuse(bad: Array, p: Array, y: Array, values: Floats, what: str) -> None:
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise ParameterError(f"The custom loss ℓ({p[i]!r}, {y[i]!r}) is {values[i]:g}: {what}.")


def custom(
    function: Callable[[Any, Any], Any], samples: Iterable[Any] = (-1.0, 0.0, 0.5, 1.0, 2.0), name: str = "custom"
) -> Loss:
    """A loss of your own: `function(prediction, truth)` on arrays, one number a row.

    It is checked at once on all pairs of `samples` (give some labels, where yours are not numbers) and again on the rows it
    is used on: ℓ ≥ 0 and ℓ(y, y) = 0.

    >>> float(custom(lambda p, y: abs(p - y)).value([3.0], [1.0])[0])
    2.0
    """
    loss = Loss(name, LABEL, _Checked(function))
    pairs = list(product(list(samples), repeat=2))
    if pairs:
        loss.value(np.array([p for p, _ in pairs]), np.array([y for _, y in pairs]))
    return loss


def loss_of(given: str | Loss | Callable[[Any, Any], Any]) -> Loss:
    """A loss by name, as it is, or from a function."""
    if isinstance(given, Loss):
        return given
    if isinstance(given, str):
        if given not in LOSSES:
            raise ParameterError(f"There is no loss {given!r}. {nearest(given, LOSSES)}")
        return LOSSES[given]
    if callable(given):
        return custom(given)
    raise ParameterError(f"loss={given!r} is neither a name ({', '.join(LOSSES)}), a Loss nor a function.")
