"""Maps φ with φ(x)·φ(z) ≈ K(x, z), so that linear models in φ(x) are kernel machines, and how they are learnt from rows.

landmarks   φ(x) = Mᵀ k(x),  k(x)_i = K(x, l_i),  M Mᵀ = (K(L, L) + ridge)⁻¹                 (Williams and Seeger 2001)
waves       φ(x)_j = √(2/m) cos(ω_j·(x − c) + b_j),  ω drawn from the kernel's spectrum      (Rahimi and Recht 2007)

One fold finds the weight and spread of the columns and some distinct rows, drawn by hashes of their contents. The rows of the least hashes
are a draw without repetition in which every distinct row has the same chance. It does not depend on the order of the rows, on how often a
row is repeated or what it weighs, nor on the engine. A row is hashed as float32 first, so that single and double precision draw alike; rows
that agree so far are distinguished by all digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import claims_are_wanted
from assay.engines import Block, Engine, MappedRows, Rows, fingerprint, fold
from assay.engines.fingerprint import content_keys
from assay.engines.rows import settled
from assay.errors import DataError, ParameterError
from assay.estimator.params import Choice, Range, Seed, drawn_seed, param
from assay.families.kernel.expansion import Expansion
from assay.families.kernel.functions import KERNEL_WORDS, Kernel, needs_differences, resolve
from assay.inputs import as_regression_target, refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.inputs.refusals import refuse_heavy
from assay.numerics import Array, Floats, whitener

TILE = 1 << 17  # numbers made at a time: a tile stays near the processor
LEAST = (
    3e-5  # squared, of K(l, l): eigenvalues up to this are lifted to it, since one over their root would be rounding
)
SAMPLE = 500  # rows between all pairs of which map and kernel are compared
MEASURED = 256  # rows on which features in float64 are compared with those of extended precision,
LARGEST_OFF = 1e150  # of what could not be measured
UNSEEN = 8.0  # and what other rows may be off by more
SHIFT_INVARIANT = ("rbf", "laplacian")
KERNEL_NAMES = ("rbf", "laplacian", "poly", "linear", "affine")

GAMMA = param(
    "γ of the kernel; 'scale': 1 / (d · variance of all entries), 'auto': 1 / d, 'median': by the median distance between rows",
    default="scale",
    check=Range(low=0, open_low=True, high=math.inf, open_high=True, words=("scale", "auto", "median")),
)
N_COMPONENTS = param("the number of features; landmarks are at most the distinct rows there are", default=100, says="{} features", check=Range(int, low=1, high=1 << 14))  # fmt: skip
SEED = param("seed of the landmarks or frequencies", default=0, check=Seed(high=1 << 63))
KERNEL = param("the kernel K(x, z): exp(−γ‖x − z‖²), exp(−γ‖x − z‖₁), (γ x·z + coef0)^degree, x·z or 1 + x·z", default="rbf", says=KERNEL_WORDS, check=Choice(KERNEL_NAMES))  # fmt: skip
DEGREE = param("the power of kernel='poly': a whole number, or K were no product of features", default=3, check=Range(int, low=1, high=100))  # fmt: skip
COEF0 = param("the constant of kernel='poly': at least 0, or K were no product of features", default=1.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip


@dataclass(frozen=True)
class LandmarkMap:
    """`landmarks` (l, d), `matrix` (l, m)."""

    kernel: Kernel
    landmarks: Floats
    matrix: Floats

    @classmethod
    def of(cls, kernel: Kernel, landmarks: Floats) -> LandmarkMap:
        """The map that reproduces the kernel on the landmarks; its columns go from the direction of most spread to that of least."""
        K = centred(kernel, landmarks).block(landmarks, landmarks)
        root = whitener(0.5 * (K + K.T), tol=LEAST).whiten
        return cls(centred(kernel, landmarks), landmarks, np.ascontiguousarray(root[::-1].T))

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.matrix.shape[1])

    def features(self, X: Array) -> Floats:
        """φ(x) of each row: (n, m)."""
        landmarks, matrix = settled(self.landmarks), settled(self.matrix)
        return _tiled(X, self.width, len(landmarks), lambda x: self.kernel.block(x, landmarks) @ matrix)

    def scores(self, X: Array, coef: Floats, intercept: Floats) -> Floats:
        """coef·φ(x) + intercept for each row: a sum of kernels, since φ is linear in k(x)."""
        return Expansion(self.kernel, self.landmarks, coef @ self.matrix.T, intercept).values(X)

    def extended(self, X: Floats) -> Floats:
        """`features` of rows in extended precision."""
        found: Floats = self.kernel.extended(X, self.landmarks.astype(X.dtype)) @ self.matrix.astype(X.dtype)
        return found

    def parts(self) -> dict[str, Any]:
        """What the map is, by the names of a model's parts."""
        return {"landmarks": self.landmarks, "map": self.matrix}


@dataclass(frozen=True)
class WaveMap:
    """`frequencies` (d, m), `offset` (m,), `centre` (d,): rows are counted from there, which K does not notice but digits do."""

    kernel: Kernel
    frequencies: Floats
    offset: Floats
    centre: Floats

    @classmethod
    def of(cls, kernel: Kernel, centre: Floats, count: int, seed: int) -> WaveMap:
        """Each frequency twice, as cosine and sine: |φ(x)|² is then 1 = K(x, x). An odd one out has a random phase."""
        rng = np.random.default_rng(seed)
        draws = (len(centre), count - count // 2)
        if kernel.name == "rbf":
            found = np.sqrt(2.0 * kernel.gamma) * rng.standard_normal(draws)
        else:
            found = kernel.gamma * rng.standard_cauchy(draws)
        offset = np.zeros(count)
        offset[1::2] = -0.5 * np.pi
        if count % 2:
            offset[-1] = rng.uniform(0.0, 2.0 * np.pi)
        return cls(kernel, np.ascontiguousarray(np.repeat(found, 2, axis=1)[:, :count]), offset, centre)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.frequencies.shape[1])

    def features(self, X: Array) -> Floats:
        """φ(x) of each row: (n, m)."""
        waves, offset, centre = settled(self.frequencies), settled(self.offset), settled(self.centre)
        height = np.sqrt(2.0 / self.width)
        return _tiled(X, self.width, self.width, lambda x: height * np.cos((x - centre) @ waves + offset))

    def scores(self, X: Array, coef: Floats, intercept: Floats) -> Floats:
        """coef·φ(x) + intercept for each row."""
        found: Floats = self.features(X) @ coef.T + intercept
        return found

    def extended(self, X: Floats) -> Floats:
        """`features` of rows in extended precision."""
        angles = (X - self.centre) @ self.frequencies.astype(X.dtype) + self.offset
        found: Floats = np.sqrt(X.dtype.type(2.0) / self.width) * np.cos(angles)
        return found

    def parts(self) -> dict[str, Any]:
        """What the map is, by the names of a model's parts."""
        return {"frequencies": self.frequencies, "offset": self.offset, "centre": self.centre}


KernelMap = LandmarkMap | WaveMap


def centred(kernel: Kernel, landmarks: Floats) -> Kernel:
    """The kernel, with rows counted from the middle of the landmarks where that saves digits, or their distances by differences."""
    if kernel.name != "rbf":
        return kernel
    about = replace(kernel, centre=landmarks.mean(axis=0))
    return replace(about, by_differences=needs_differences(about, landmarks))


def _tiled(X: Array, width: int, room: int, features: Any) -> Floats:
    """The features of some rows at a time; where tiles begin depends on the sizes alone."""
    out = np.empty((len(X), width))
    step = max(64, TILE // max(1, room))
    for a in range(0, len(X), step):
        out[a : a + step] = features(np.asarray(X[a : a + step], dtype=np.float64))
    return out


@dataclass(frozen=True)
class MapSpec:
    """The map that hyper-parameters specify."""

    features: str  # "nystroem" or "fourier"
    kernel: str
    gamma: Any
    degree: int
    coef0: float
    n_components: int
    random_state: int

    @classmethod
    def of(cls, estimator: Any, features: str) -> MapSpec:
        """The specification by an estimator's hyper-parameters."""
        if features == "fourier" and estimator.kernel not in SHIFT_INVARIANT:
            raise ParameterError(
                f"{type(estimator).__name__}: features='fourier' are the waves of a kernel of x − z, and kernel={estimator.kernel!r} is none: use "
                "kernel='rbf' or 'laplacian', or features='nystroem'."
            )
        degree, coef0 = getattr(estimator, "degree", 3), getattr(estimator, "coef0", 1.0)
        components, seed = (
            int(estimator.n_components),
            int(drawn_seed(estimator.random_state) or 0),
        )  # NumPy's would overflow in products
        kernel = "poly" if estimator.kernel == "polynomial" else estimator.kernel
        gamma = "auto" if estimator.gamma is None else estimator.gamma
        return cls(features, kernel, gamma, degree, coef0, components, seed)

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


class LearntMap(NamedTuple):
    """A map, how good it is, and the survey that it came from; what rounding puts features off by (m,), where that was asked for. How good it
    is nobody asks of a fit without claims."""

    map: KernelMap
    error: MapError | None
    survey: FeatureSurvey
    off: Floats | None = None


def learn(
    engine: Engine, rows: Rows, map_spec: MapSpec, labels: Labels | None = None, *, marked: bool = False
) -> LearntMap:
    """The map for these rows; `marked`: with their fingerprint, of which the target (codes of `labels`, or numbers) is a part."""
    question = MapQuestion(rows.names, map_spec.landmarks + SAMPLE, map_spec.random_state, marked, labels)
    found = survey(engine, rows, question)
    kernel = kernel_for(map_spec, found)
    if map_spec.features == "nystroem":
        learnt: KernelMap = LandmarkMap.of(kernel, found.drawn.rows[: map_spec.n_components])
    else:
        learnt = WaveMap.of(kernel, found.mean, map_spec.n_components, map_spec.random_state)
    sample = sample_of(found.drawn)
    if marked and not claims_are_wanted():
        return LearntMap(learnt, None, found)
    return LearntMap(learnt, error_of(learnt, sample), found, features_off(learnt, sample) if marked else None)


def kernel_for(map_spec: MapSpec, found: FeatureSurvey) -> Kernel:
    """The kernel that is meant for such rows."""
    gamma = map_spec.gamma
    if map_spec.kernel in ("linear", "affine"):
        gamma = 1.0  # they have none
    elif gamma == "scale":
        gamma = _from_spread(found)
    elif not isinstance(gamma, str) or gamma == "auto":
        gamma = resolve(map_spec.kernel, gamma, 1, 0.0, np.zeros((1, len(found.mean)))).gamma
    else:
        gamma = resolve(map_spec.kernel, gamma, 1, 0.0, found.drawn.rows, found.drawn.weight).gamma
    return Kernel(map_spec.kernel, gamma, float(map_spec.degree), float(map_spec.coef0))


def _from_spread(found: FeatureSurvey) -> float:
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


def sample_of(drawn: LandmarkSample) -> Floats:
    """The rows that say how good the map is: the last that were drawn, which are no landmarks where there are others."""
    return drawn.rows[-SAMPLE:]


def error_of(learnt: KernelMap, sample: Floats) -> MapError:
    """Compare map and kernel on all pairs of the sample."""
    F = learnt.features(sample)
    with np.errstate(over="ignore", invalid="ignore"):
        kernel = centred(learnt.kernel, sample) if learnt.kernel.centre is None else learnt.kernel
        off = kernel.block(sample, sample) - F @ F.T
        rms = float(np.sqrt(np.mean(off * off)))
    if not np.isfinite(rms):
        raise DataError(
            "Squares of kernel values overflow float64: divide the columns by a constant (or standardise them)."
        )
    return MapError(rms, float(np.abs(off).max()), float(off.diagonal().mean()), len(sample))


def features_off(learnt: KernelMap, sample: Floats) -> Floats:
    """What float64 puts each feature off by (m,): a map whose numbers are great, as those of nearly equal landmarks are, leaves few digits."""
    rows = sample[-MEASURED:]
    with np.errstate(all="ignore"):
        off = np.abs(learnt.features(rows) - learnt.extended(rows.astype(np.longdouble)))
    most: Floats = UNSEEN * off.max(axis=0).astype(np.float64)
    return np.nan_to_num(most, nan=LARGEST_OFF, posinf=LARGEST_OFF)


def features_of(learnt: KernelMap, names: tuple[str, ...] | None, block: Block) -> Floats:
    """φ of a block's rows; values that are not finite are refused by name."""
    if not np.isfinite(block.X).all():
        refuse_non_finite(block.X, block.start, names)
    return learnt.features(block.X)


def mapped_rows(rows: Rows, learnt: KernelMap, names: tuple[str, ...] | None = None) -> MappedRows:
    """The rows as features, computed where they are read."""
    return MappedRows(rows, partial(features_of, learnt, rows.names), learnt.width, names)


class FeatureSurvey(NamedTuple):
    """Weight n of the rows; mean (d,) and Σ w (x − mean)² (d,) of the columns; the drawn rows; the fingerprint (b"": not taken)."""

    n: float
    mean: Floats
    squares: Floats
    drawn: LandmarkSample
    mark: bytes


class MapQuestion(NamedTuple):
    """What each block is surveyed for: how many rows are drawn and by which seed; with which target (None: none) the rows are marked."""

    names: tuple[str, ...] | None
    most: int
    seed: int
    marked: bool = False
    labels: Labels | None = None


def survey(engine: Engine, rows: Rows, question: MapQuestion) -> FeatureSurvey:
    """One fold over the rows."""
    found: FeatureSurvey | None = fold(engine, rows.blocks(), partial(absorb, question), partial(merge, question.most))
    if found is None:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if not found.n > 0:
        raise DataError("All sample weights are zero: give some rows a positive weight.")
    return found


def absorb(question: MapQuestion, block: Block) -> FeatureSurvey:
    """The survey of one block."""
    X, w = block.X, block.w
    target = _target(question, block)
    n = float(len(X)) if w is None else float(w.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _weighted(X, w) / n if n > 0 else np.zeros(X.shape[1])
        off = X.astype(np.float64) - mean
        squares = _weighted(off * off, w)
    if not (np.isfinite(squares).all() and np.isfinite(mean).all() and np.isfinite(n)):
        refuse_non_finite(X, block.start, question.names)
        refuse_heavy(w)
        refuse_overflow(X, block.start, question.names)
    mark = fingerprint.leaf_of(X, target, w) if question.marked else b""
    return FeatureSurvey(n, mean, squares, draw(X, w, question.most, question.seed), mark)


def _weighted(X: Array, w: Array | None) -> Floats:
    sums: Floats = X.sum(axis=0, dtype=np.float64) if w is None else np.asarray(w, dtype=np.float64) @ X
    return sums


def _target(question: MapQuestion, block: Block) -> Array | None:
    if not question.marked:
        return None
    assert block.y is not None
    return as_regression_target(block.y, block.start) if question.labels is None else question.labels.encode(block.y)


def merge(most: int, a: FeatureSurvey, b: FeatureSurvey) -> FeatureSurvey:
    """The survey of both stretches of rows together."""
    n = a.n + b.n
    share = b.n / n if n > 0 else 0.0
    gap = b.mean - a.mean
    squares = a.squares + b.squares + gap * gap * (a.n * share)
    mark = fingerprint.join(a.mark, b.mark) if a.mark else b""
    return FeatureSurvey(n, a.mean + gap * share, squares, merge_draws(a.drawn, b.drawn, most), mark)


class LandmarkSample(NamedTuple):
    """Rows (k, d) in rising order of (key, fine): the hashes in float32 and float64. `weight` (k,) is that of all equal rows together."""

    rows: Floats
    key: Array
    fine: Array
    weight: Floats


def draw(X: Array, w: Array | None, most: int, seed: int) -> LandmarkSample:
    """The `most` distinct rows of positive weight with the least hashes."""
    X, weight = (X, np.ones(len(X))) if w is None else (X[w > 0], w[w > 0])
    key = content_keys(X, seed, np.float32)
    if len(X) > 2 * most:
        least = np.unique(key)[:most]
        near = key <= least[-1]
        X, weight, key = X[near], weight[near], key[near]
    rows = X.astype(np.float64) + 0.0  # no negative zeros
    return _first(LandmarkSample(rows, key, content_keys(rows, seed, np.float64), weight), most)


def merge_draws(a: LandmarkSample, b: LandmarkSample, most: int) -> LandmarkSample:
    """The draw of both stretches of rows together."""
    both = LandmarkSample(*(np.concatenate(pair) for pair in zip(a, b, strict=True)))
    return _first(both, most)


def _first(all_: LandmarkSample, most: int) -> LandmarkSample:
    """The first `most` in the order of keys, equal rows joined."""
    order = np.lexsort((all_.fine, all_.key))
    rows, key, fine, weight = (a[order] for a in all_)
    new = np.ones(len(key), dtype=bool)
    new[1:] = (key[1:] != key[:-1]) | (fine[1:] != fine[:-1])
    at = np.flatnonzero(new)
    if len(at):
        weight = np.add.reduceat(weight, at)
    at = at[:most]
    return LandmarkSample(rows[at], key[at], fine[at], weight[:most])
