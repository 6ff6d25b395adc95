"""The shape of a network, its weights as one flat array and as layers, and the answers in NumPy and float64.

The NumPy functions are the definition that the loops must agree with, and what answers rows without a compiler. Columns are at mean 0 and
deviation 1 inside; the layers for columns as they are follow from

    z = (x − m) / s,  a regression's target (y − n) / r:      W₁ ← W₁ / s,  b₁ ← b₁ − (m / s)·W₁,      W_L ← r W_L,  b_L ← r b_L + n
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from assay.engines.rows import SMALLEST_BLOCK
from assay.errors import ParameterError
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import Choice, Free, Range, param
from assay.numerics import Array, Floats, log_sum_exp

ACTIVATIONS = (
    "identity",
    "relu",
    "logistic",
    "tanh",
    "gelu",
)  # in the order of families/networks/loops/minibatch.py
LOSSES = ("log", "squared", "hinge", "signs")
LANES, SHORT = 16, 4  # widths are filled up to a multiple of LANES, and sums go over a multiple of SHORT
ROOT, CUBE = 0.7978845608028654, 0.044715  # of gelu
AT_A_TIME = SMALLEST_BLOCK  # rows that are answered at a time
FAR = 1e6  # deviations from zero at which a column's mean is taken off before the products: it would take so many digits from them
MOST_UNITS = 1 << 20
MOST_WEIGHTS = 1 << 29  # 2 GB of float32, of which a fit needs some ten times as much
DIRECTIONS = 4  # along which slopes are compared with differences
MEASURES = 9 + 4 * DIRECTIONS


class Layer(NamedTuple):
    """Weights (units before, units) and biases (units,)."""

    weights: Floats
    biases: Floats


@dataclass(frozen=True)
class NetworkShape:
    """`widths`: columns, units of the hidden layers, outputs. `output_bias`: whether b_L is learnt, or stays 0."""

    widths: tuple[int, ...]
    activation: str = "relu"
    output_bias: bool = True

    @property
    def depth(self) -> int:
        """L: layers of weights."""
        return len(self.widths) - 1

    @cached_property
    def wide(self) -> Array:
        """Widths with what fills them."""
        return np.array([-(-w // LANES) * LANES for w in self.widths], dtype=np.int64)

    @cached_property
    def used(self) -> Array:
        """Widths up to a multiple of SHORT, beyond which all is zero."""
        return np.array([-(-w // SHORT) * SHORT for w in self.widths], dtype=np.int64)

    @cached_property
    def places(self) -> tuple[Array, Array, int]:
        """Where the weights and biases of layer l begin in the flat array (l = 0: nothing), and its size."""
        weights, biases = (np.zeros(len(self.widths), dtype=np.int64) for _ in range(2))
        at = 0
        for layer in range(1, len(self.widths)):
            weights[layer] = at
            at += int(self.wide[layer - 1] * self.wide[layer])
            biases[layer] = at
            at += int(self.wide[layer])
        return weights, biases, at

    @property
    def size(self) -> int:
        return self.places[2]

    def units(self, rows: int) -> tuple[Array, int]:
        """Where the units of each layer begin in the room for so many rows, and its size."""
        ends = np.concatenate([[0], np.cumsum(self.wide * rows)])
        return ends[:-1].astype(np.int64), int(ends[-1])

    def flat(self, layers: Sequence[Layer], dtype: Any) -> Array:
        """The weights in one array, what fills it 0."""
        found = np.zeros(self.size, dtype=dtype)
        for (W, b), (wide, bias) in zip(layers, self._views(found)):
            wide[: W.shape[0], : W.shape[1]] = W
            bias[: len(b)] = b
        return found

    def layers(self, flat: Array) -> list[Layer]:
        """The weights as float64 matrices."""
        return [
            Layer(W[:before, :after].astype(np.float64), b[:after].astype(np.float64))
            for (W, b), before, after in zip(self._views(flat), self.widths, self.widths[1:])
        ]

    def _views(self, flat: Array) -> list[tuple[Array, Array]]:
        weights, biases, _ = self.places
        found = []
        for layer in range(1, len(self.widths)):
            n, before = int(self.wide[layer]), int(self.wide[layer - 1])
            W = flat[weights[layer] : weights[layer] + before * n].reshape(before, n)
            found.append((W, flat[biases[layer] : biases[layer] + n]))
        return found

    def decays(self, dtype: Any) -> Array:
        """1 for weights, 0 for biases: what the penalty is taken of."""
        found = np.zeros(self.size, dtype=dtype)
        for W, _ in self._views(found):
            W[:] = 1
        return found

    def transposed(self, flat: Array) -> Array:
        """The weights of layers above the first transposed, in the same places."""
        found = np.zeros_like(flat)
        for number, ((W, _), (to, _)) in enumerate(zip(self._views(flat), self._views(found))):
            if number:
                to.reshape(-1)[:] = W.T.ravel()
        return found

    def drawn(self, random: np.random.Generator) -> list[Layer]:
        """Weights to begin with (Glorot and Bengio 2010): uniform within ±√(6 / (units before + after)), logistic ±√(2 / …)."""
        found = []
        factor = 2.0 if self.activation == "logistic" else 6.0
        for number, (before, after) in enumerate(zip(self.widths, self.widths[1:]), 1):
            bound = math.sqrt(factor / (before + after))
            W, b = random.uniform(-bound, bound, (before, after)), random.uniform(-bound, bound, after)
            found.append(Layer(W, b if self.output_bias or number < self.depth else np.zeros(after)))
        return found


class Standardisation(NamedTuple):
    """mean, scale (d,) of the columns; target_mean, target_scale of a number to predict."""

    mean: Floats
    scale: Floats
    target_mean: float = 0.0
    target_scale: float = 1.0

    def rows(self, X: Array) -> Floats:
        """The rows at mean 0 and deviation 1."""
        Z: Floats = X - self.mean
        Z /= self.scale
        return Z

    @property
    def columns(self) -> tuple[Floats, Floats]:
        """Mean and scale of the columns."""
        return self.mean, self.scale

    def numbers(self, y: Floats) -> Floats:
        """The target likewise."""
        found: Floats = (y - self.target_mean) / self.target_scale
        return found

    def folded(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers that answer rows as they are."""
        found = [Layer(W.copy(), b.copy()) for W, b in layers]
        W = found[0].weights / self.scale[:, None]
        found[0] = Layer(W, found[0].biases - self.mean @ W)
        W, b = found[-1]
        found[-1] = Layer(W * self.target_scale, b * self.target_scale + self.target_mean)
        return found

    def unfolded(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers that answer standardised rows as these answer rows as they are."""
        W, b = layers[-1]
        found = [*layers[:-1], Layer(W / self.target_scale, (b - self.target_mean) / self.target_scale)]
        W, b = found[0]
        found[0] = Layer(W * self.scale[:, None], b + self.mean @ W)
        return found


class FittedNetwork(NamedTuple):
    """Layers for rows as they are and, where columns are far from zero in their own scale, for rows that are standardised first (else `first` is None)."""

    folded: list[Layer]
    first: Standardisation | None
    layers: list[Layer]
    activation: str

    @classmethod
    def of(cls, standard: Standardisation, layers: list[Layer], activation: str) -> FittedNetwork:
        """The network of layers that answer standardised rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            folded = standard.folded(layers)
            far = bool((np.abs(standard.mean) > FAR * standard.scale).any())
        if not far:
            return cls(folded, None, folded, activation)
        inside = (
            [*layers[:-1], folded[-1]]
            if len(layers) > 1
            else standard._replace(mean=0 * standard.mean, scale=1 + 0 * standard.scale).folded(layers)
        )
        return cls(folded, standard, inside, activation)

    def __call__(self, X: Array) -> Floats:
        """f(x) of every row: (n, outputs)."""
        return outputs_of(self.layers, self.activation, X if self.first is None else self.first.rows(X))

    def aligned(self) -> FittedNetwork:
        """The same with arrays that travelled to odd addresses copied: products of such have other bits."""
        return self._replace(
            layers=[Layer(*(np.require(part, None, ["C", "A"]) for part in layer)) for layer in self.layers]
        )


def outputs_of(layers: Sequence[Layer], activation: str, X: Array) -> Floats:
    """f(x) of every row, (n, outputs), a few rows at a time, so that what is computed on the way stays near the processor.

    A product of matrices may round otherwise where it has other numbers of rows. Blocks of rows begin at multiples of AT_A_TIME, so rows are
    cut at the same places wherever they are answered.
    """
    n = len(X)
    if n <= AT_A_TIME:
        return outputs(layers, activation, X)
    F = np.empty((n, layers[-1].weights.shape[1]))
    for first in range(0, n, AT_A_TIME):
        F[first : first + AT_A_TIME] = outputs(layers, activation, X[first : first + AT_A_TIME])
    return F


def activated(name: str, z: Floats) -> Floats:
    """φ(z)."""
    if name == "relu":
        return np.maximum(z, 0.0)
    if name == "logistic":
        e = np.exp(-np.abs(z))
        return np.where(z >= 0, 1.0, e) / (1.0 + e)
    if name == "tanh":
        return np.tanh(z)
    if name == "gelu":
        return 0.5 * z * (1.0 + np.tanh(ROOT * (z + CUBE * z**3)))
    return z


def outputs(layers: Sequence[Layer], activation: str, X: Array) -> Floats:
    """f(x) of every row: (n, outputs)."""
    a = np.asarray(X, dtype=np.float64)
    for number, (W, b) in enumerate(layers, 1):
        z = a @ W + b
        a = activated(activation, z) if number < len(layers) else z
    return a


def losses(loss: str, F: Floats, target: Array) -> Floats:
    """The loss of every row: target holds codes (log, hinge, signs), or numbers (n, outputs) (squared)."""
    if loss == "squared":
        squares: Floats = 0.5 * ((F - np.asarray(target).reshape(F.shape)) ** 2).sum(axis=1)
        return squares
    if loss == "signs":
        own_class = target == 1 if F.shape[1] == 1 else np.arange(F.shape[1]) == np.asarray(target)[:, None]
        return losses("squared", F, np.where(own_class, 1.0, -1.0))
    if F.shape[1] == 1:
        margin = np.where(target == 1, 1.0, -1.0) * F[:, 0]
        return np.maximum(0.0, 1.0 - margin) if loss == "hinge" else np.logaddexp(0.0, -margin)
    rows = np.arange(len(F))
    own = F[rows, target]
    if loss == "hinge":
        rivals = F.copy()
        rivals[rows, target] = -np.inf
        short: Floats = np.maximum(0.0, 1.0 + rivals.max(axis=1) - own)
        return short
    return log_sum_exp(F) - own


def wrong(F: Floats, codes: Array) -> Array:
    """Whether the answer of every row is another class."""
    answers = (F[:, 0] > 0).astype(np.int64) if F.shape[1] == 1 else F.argmax(axis=1)
    found: Array = answers != codes
    return found


def packed(layers: Sequence[Layer]) -> Floats:
    """All weights and biases in one array, layer after layer."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def unpacked(widths: Sequence[int], numbers: Floats) -> list[Layer]:
    """The layers again."""
    found, at = [], 0
    for before, after in itertools.pairwise(widths):
        W = numbers[at : at + before * after].reshape(before, after)
        at += before * after
        found.append(Layer(W, numbers[at : at + after]))
        at += after
    return found


def count(widths: Sequence[int]) -> int:
    """How many numbers `packed` gives."""
    return sum((before + 1) * after for before, after in itertools.pairwise(widths))


def seed_of(model: Any) -> int:
    """random_state as compiled loops take it: the lowest 63 bits; None: 0."""
    return int(model.random_state or 0) & ((1 << 63) - 1)


def hidden_sizes(given: Any) -> tuple[int, ...]:
    """The units of the hidden layers; a single number is one layer."""
    return (int(given),) if isinstance(given, Integral) else tuple(int(units) for units in given)


def are_sizes(given: Any) -> bool:
    many = [given] if isinstance(given, Integral) else given
    if not isinstance(many, Sequence | np.ndarray) or len(many) > 60:
        return False
    return all(isinstance(m, Integral) and not isinstance(m, bool) and 1 <= int(m) <= MOST_UNITS for m in many)


@dataclass(frozen=True)
class LayerSizes(Free):
    """Units of layers, in the shell as people write them.

    >>> sizes = LayerSizes("a list of whole numbers")
    >>> sizes.parse("20,10"), sizes.parse("(20,)"), sizes.parse("none")
    ([20, 10], [20], 'none')
    """

    def parse(self, text: str) -> Any:
        words = text.strip().strip("()[]").replace(",", " ").split()
        return (
            [int(word) for word in words] if text and all(word.isdecimal() for word in words) else super().parse(text)
        )


DROPOUT = param("of mini-batches: share of hidden units left out by chance in each", default=0.0, check=Range(low=0, high=1, open_high=True))  # fmt: skip
DTYPE = param("numbers of mini-batches; solver='lbfgs' is always float64", default="float32", check=Choice(("float32", "float64")))  # fmt: skip
OUTPUT_BIAS = param("whether the outputs have biases; the lecture notes' network has none", default=True)
STANDARDIZE = param("bring columns (and a number to predict) to mean 0 and deviation 1 inside", default=True)
MAX_SECONDS = param("the fit ends then with what it has; None: no limit", default=None, check=Range(low=0, open_low=True, high=math.inf, open_high=True, words=(None,)))  # fmt: skip
NEVER = 1 << 60  # epochs
LAYOUT: Layout = {
    "weights_": Tensor(("p",), doc="all weights and biases in one array of p numbers, for standardised columns"),
    "mean_": Tensor(("d",), doc="the mean of each column, taken from it inside; zeros with standardize=False"),
    "scale_": Tensor(("d",), low=0, doc="the deviation of each column, by which it is divided inside; ones with standardize=False"),
    "loss_curve_": Tensor(("e",), low=0, doc="the mean loss in each of the e epochs, as seen before each step"),
    "validation_scores_": Tensor(("e",), optional=True, doc="of early_stopping: the score of the rows held out after each epoch; else None"),
    "n_iter_": Fact(int, low=1, doc="the epochs of the fit (solver='lbfgs': steps); those of fits before are not counted"),
    "earlier_": Fact(int, low=1, optional=True, doc="the epochs of fits before, with whose weights this one began (warm_start)"),
    "best_epoch_": Fact(int, low=1, doc="the epoch of least loss, or of the best score of the rows held out"),
    "kept_best_": Fact(bool, optional=True, doc="True where a fit that was ended has the weights of its best epoch, and not of the last; else None"),
    "best_loss_": Fact(float, low=0, optional=True, doc="the least loss of all epochs"),
    "loss_": Fact(float, low=0, optional=True, doc="the mean loss on the rows of the fit with the final weights; None after partial_fit"),
    "measured_": Tensor((MEASURES,), optional=True, doc="what the certificate states of loss, slopes and gradient, in one array"),
    "batch_": Fact(int, low=1, doc="the number of rows of a mini-batch"),
    "t_": Fact(int, low=0, doc="the rows seen so far, over all epochs"),
    "rows_": Fact(int, low=1, doc="the number of rows of positive weight"),
    "weight_": Fact(float, low=0, doc="the total weight of the rows"),
    "converged_": Fact(bool, doc="whether the fit ended by itself, and not at a limit"),
    "whole_": Fact(bool, doc="whether one fit saw all rows; False after partial_fit"),
    "memory_": Tensor(("q",), optional=True, doc="the optimiser's momentum, from which partial_fit goes on; None with solver='lbfgs'"),
    "batches_": Fact(int, low=0, doc="the number of mini-batches so far"),
}  # fmt: skip


def shape_of(model: Any, given: Any, outputs: int) -> NetworkShape:
    """The shape that hyper-parameters specify."""
    widths = (int(model.n_features_in_), *hidden_sizes(given["hidden_layer_sizes"]), outputs)
    if count(widths) > MOST_WEIGHTS:
        raise ParameterError(
            f"{type(model).__name__}: {widths[0]} columns and hidden_layer_sizes={given['hidden_layer_sizes']!r} make {count(widths):,} weights, and at most "
            f"{MOST_WEIGHTS:,} are possible: take fewer units, or fewer columns."
        )
    return NetworkShape(widths, given["activation"], bool(given["output_bias"]))


@dataclass(frozen=True)
class TrainingPlan:
    """The hyper-parameters of a fit, resolved."""

    solver: str
    alpha: float
    batch: int
    schedule: str
    rate: float
    power: float
    most: int
    shuffle: bool
    tol: float
    momentum: float
    nesterov: bool
    early: bool
    beta1: float
    beta2: float
    small: float
    patience: int
    max_evaluations: int
    dropout: float
    seed: int

    @classmethod
    def of(cls, model: Any, batch: int) -> TrainingPlan:
        """The plan of a model's hyper-parameters."""
        return cls(
            model.solver,
            float(model.alpha),
            batch,
            model.learning_rate if model.solver == "sgd" else "constant",
            float(model.learning_rate_init),
            float(model.power_t),
            int(model.max_iter),
            bool(model.shuffle),
            float(model.tol),
            float(model.momentum),
            bool(model.nesterovs_momentum),
            bool(model.early_stopping),
            float(model.beta_1),
            float(model.beta_2),
            float(model.epsilon),
            int(min(model.n_iter_no_change, NEVER)),
            int(model.max_fun),
            float(model.dropout),
            seed_of(model),
        )

    def once(self) -> TrainingPlan:
        """The plan of a single epoch over some more rows."""
        return replace(self, most=1, early=False)
