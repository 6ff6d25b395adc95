"""From rows to a kernel map: which γ, which landmarks or frequencies, and how far the map is from its kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.engines import Block, Engine, MappedRows, Rows
from assay.errors import DataError, ParameterError
from assay.hypotheses.kernel_features.draw import Draw
from assay.hypotheses.kernel_features.maps import KernelMap, LandmarkMap, WaveMap
from assay.hypotheses.kernel_features.survey import Question, Survey, survey
from assay.inputs import refuse_non_finite
from assay.kernels import Kernel, resolve
from assay.labels import Labels
from assay.numerics import Floats
from assay.params import Choice, Range, param

SAMPLE = 500  # rows between all pairs of which map and kernel are compared
SHIFT_INVARIANT = ("rbf", "laplacian")
KERNEL_NAMES = ("rbf", "laplacian", "poly", "linear", "affine")

GAMMA = param(
    "γ of the kernel; 'scale': 1 / (d · variance of all entries), 'auto': 1 / d, 'median': by the median distance between rows",
    default="scale",
    check=Range(low=0, open_low=True, high=math.inf, open_high=True, words=("scale", "auto", "median")),
)
N_COMPONENTS = param("the number of features; landmarks are at most the distinct rows there are", default=100, check=Range(int, low=1, high=1 << 14))  # fmt: skip
SEED = param("seed of the landmarks or frequencies", default=0, check=Range(int, low=0, high=2**63))
KERNEL = param("the kernel K(x, z): exp(−γ‖x − z‖²), exp(−γ‖x − z‖₁), (γ x·z + coef0)^degree, x·z or 1 + x·z", default="rbf", check=Choice(KERNEL_NAMES))  # fmt: skip
DEGREE = param("the power of kernel='poly': a whole number, or K were no product of features", default=3, check=Range(int, low=1, high=100))  # fmt: skip
COEF0 = param("the constant of kernel='poly': at least 0, or K were no product of features", default=1.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """Which map a user asks for."""

    features: str  # "nystroem" or "fourier"
    kernel: str
    gamma: Any
    degree: int
    coef0: float
    n_components: int
    random_state: int

    @classmethod
    def of(cls, estimator: Any, features: str) -> Wish:
        """The wish of an estimator's hyper-parameters."""
        if features == "fourier" and estimator.kernel not in SHIFT_INVARIANT:
            raise ParameterError(
                f"{type(estimator).__name__}: features='fourier' are the waves of a kernel of x − z, and kernel={estimator.kernel!r} is none: use "
                "kernel='rbf' or 'laplacian', or features='nystroem'."
            )
        degree, coef0 = getattr(estimator, "degree", 3), getattr(estimator, "coef0", 1.0)
        return cls(
            features, estimator.kernel, estimator.gamma, degree, coef0, estimator.n_components, estimator.random_state
        )

    @property
    def landmarks(self) -> int:
        """How many landmarks are wanted."""
        return self.n_components if self.features == "nystroem" else 0


class MapError(NamedTuple):
    """How far φ(x)·φ(z) is from K(x, z) over all pairs of the `rows` rows drawn: root mean square, greatest; `trace`: mean of K(x, x) − |φ(x)|²."""

    rms: float
    largest: float
    trace: float
    rows: int


class Learnt(NamedTuple):
    """A map, how good it is, and the survey that it came from."""

    map: KernelMap
    error: MapError
    survey: Survey


def learn(engine: Engine, rows: Rows, wish: Wish, labels: Labels | None = None, *, marked: bool = False) -> Learnt:
    """The map for these rows; `marked`: with their fingerprint, of which the target (codes of `labels`, or numbers) is a part."""
    question = Question(rows.names, wish.landmarks + SAMPLE, wish.random_state, marked, labels)
    found = survey(engine, rows, question)
    kernel = kernel_for(wish, found)
    if wish.features == "nystroem":
        learnt: KernelMap = LandmarkMap.of(kernel, found.drawn.rows[: wish.n_components])
    else:
        learnt = WaveMap.of(kernel, found.mean, wish.n_components, wish.random_state)
    return Learnt(learnt, error_of(learnt, sample_of(found.drawn)), found)


def kernel_for(wish: Wish, found: Survey) -> Kernel:
    """The kernel that is meant for such rows."""
    gamma = wish.gamma
    if wish.kernel in ("linear", "affine"):
        gamma = 1.0  # they have none
    elif gamma == "scale":
        gamma = _from_spread(found)
    elif not isinstance(gamma, str) or gamma == "auto":
        gamma = resolve(wish.kernel, gamma, 1, 0.0, np.zeros((1, len(found.mean)))).gamma
    else:
        gamma = resolve(wish.kernel, gamma, 1, 0.0, found.drawn.rows, found.drawn.weight).gamma
    return Kernel(wish.kernel, gamma, float(wish.degree), float(wish.coef0))


def _from_spread(found: Survey) -> float:
    """1 / (d · variance of all entries) from the moments of the columns; 1 where nothing varies."""
    d = len(found.mean)
    with np.errstate(over="ignore"):
        variance = float((found.squares / found.n + (found.mean - found.mean.mean()) ** 2).mean())
    if not math.isfinite(variance):
        raise DataError(
            "The variance of the columns overflows float64: divide the columns by a constant (or standardise them)."
        )
    gamma = 1.0 / (d * variance) if variance > 0 else 1.0
    return gamma if math.isfinite(gamma) else 1.0


def sample_of(drawn: Draw) -> Floats:
    """The rows that say how good the map is: the last that were drawn, which are no landmarks where there are others."""
    return drawn.rows[-SAMPLE:]


def error_of(learnt: KernelMap, sample: Floats) -> MapError:
    """Compare map and kernel on all pairs of the sample."""
    F = learnt.features(sample)
    off = learnt.kernel.block(sample, sample) - F @ F.T
    rms = float(np.sqrt(np.mean(off * off)))
    return MapError(rms, float(np.abs(off).max()), float(off.diagonal().mean()), len(sample))


def features_of(learnt: KernelMap, names: tuple[str, ...] | None, block: Block) -> Floats:
    """φ of a block's rows; values that are not finite are refused by name."""
    if not np.isfinite(block.X).all():
        refuse_non_finite(block.X, block.start, names)
    return learnt.features(block.X)


def mapped_rows(rows: Rows, learnt: KernelMap, names: tuple[str, ...] | None = None) -> MappedRows:
    """The rows as features, computed where they are read."""
    return MappedRows(rows, partial(features_of, learnt, rows.names), learnt.width, names)
