"""How far rows are apart: every metric is a map of the rows, and then a norm of their differences.

    norm 2          d(x, z) = ‖x − z‖₂
    quadratic       d(x, z) = √((x − z)ᵀ W (x − z)) = ‖Lᵀx − Lᵀz‖₂,  W = L Lᵀ           Mahalanobis: W = Σ⁻¹
    cosine          1 − cos(x, z) = ½ ‖x/|x| − z/|z|‖₂²
    norm 1, ∞, p    Σ|x_j − z_j|,  max|x_j − z_j|,  (Σ|x_j − z_j|^p)^{1/p};        Hamming: the share of columns that differ

But for the distances of `named_metrics` and functions of the user's, which are asked for every query and row.

The lecture notes' d_W is the square of the one here, which orders rows alike and is a metric.

Squares of differences overflow where rows are 1e200 apart, and vanish where they are 1e-200 apart: all rows would be equally far. There rows are taken times
a power of two (`Geometry.scaled`), which changes none of their digits, and distances are divided by it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.errors import DataError, ParameterError, warn
from assay.estimator.params import ChoiceOrFunction, Free, Range, param
from assay.families.neighbours.named_metrics import NAMED, WEIGHTED, NamedMetric
from assay.families.neighbours.search import HAMMING, MetricFunction
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.statistics.scatter import ClassScatter, absorb_scatter, merge_scatter

NORMS = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": math.inf, "hamming": HAMMING, "cosine": 2.0}  # fmt: skip
PLAINEST = {
    "l2": "euclidean",
    "cityblock": "manhattan",
    "l1": "manhattan",
    "p": "minkowski",
}  # one name for each metric
SYMMETRIC = 1e-8  # of the greatest entry: more asymmetry than that is no rounding
NEGATIVE = 1e-10  # of the greatest eigenvalue: less than −that is no rounding
MOST_DIGITS = 500  # binary: what a root may add to distances
ROOMY = 256  # powers of differences up to 2^this, and down to 2^−this, are far from where float64 ends
POWERS = ("minkowski", "p")
METRICS = (*POWERS, *NORMS, "mahalanobis", "seuclidean", "quadratic", *NAMED)
MATRICES = {"mahalanobis": ("V", "VI"), "quadratic": ("W",), "seuclidean": ("V",), "minkowski": ("p", "w"), "p": ("p", "w")}  # fmt: skip
FLAT = 1e-12  # of the greatest eigenvalue of a covariance of columns of variance 1: less is no spread but rounding


@dataclass(frozen=True)
class Geometry:
    """`centre` (d,) and `map` (d, r), where rows are mapped; `unit`: rows are brought to length 1; `norm`: of the differences;
    `scale`: a power of two that rows are taken times; `own`: a function in place of the norm, whose reduced distances are the distances."""

    norm: float
    map: Floats | None = None
    centre: Floats | None = None
    unit: bool = False
    scale: float = 1.0
    own: MetricFunction | NamedMetric | None = None

    def among(self, numbers: Array | None) -> MetricFunction | NamedMetric | None:
        """What takes the place of the norm where only these rows are searched."""
        return self.own.only(numbers) if isinstance(self.own, NamedMetric) else self.own

    def scaled(self, low: Floats, high: Floats) -> Geometry:
        """The geometry in which powers of the differences of rows between these values, as `rows` gives them, neither overflow nor all vanish: this one
        almost always.

        >>> Geometry(2.0).scaled(np.array([0.0]), np.array([1e200])).scale == 2.0**-665
        True
        """
        if self.unit or self.norm == HAMMING:
            return self
        if self.norm < 1.0 and math.log2(max(1, len(low))) > MOST_DIGITS * self.norm:
            raise ParameterError(
                f"p={self.norm:g} is too small for {len(low)} columns: distances are the 1/p-th power of a sum, and overflow float64."
            )
        half = float((0.5 * high - 0.5 * low).max(initial=0.0))
        size = math.frexp(half)[1] + 1
        power = 1.0 if math.isinf(self.norm) else self.norm
        if half == 0.0 or (power == 1.0 and size < 1000) or abs(size) * power <= ROOMY:
            return self
        return replace(self, scale=self.scale * math.ldexp(1.0, max(-1000, min(1000, -size))))

    def rows(self, X: Array) -> Floats:
        """The rows in which distances are norms; the same bits for a row alone as among others."""
        Z = np.ascontiguousarray(X, dtype=np.float64)
        if self.map is not None:
            assert self.centre is not None
            Z = mapped_by(Z - self.centre, self.map)
        if self.unit:
            Z = np.ldexp(Z, -np.frexp(np.abs(Z).max(axis=1, initial=0.0))[1][:, None])  # its direction is the same
            length = np.sqrt(_squares(Z))
            if not np.all(length > 0):
                at = int(np.flatnonzero(~(length > 0))[0])
                raise DataError(f"Row {at} is all zeros: it has no direction, and metric='cosine' compares directions.")
            Z = Z / length[:, None]
        return Z if self.scale == 1.0 else Z * self.scale

    def distances(self, r: Any, columns: int) -> Any:
        """What reduced distances are as distances."""
        if self.unit:
            return 0.5 * r
        if self.norm == HAMMING:
            return r / columns
        if self.norm == 2.0:
            return np.sqrt(r) / self.scale
        return (r if self.norm == 1.0 or math.isinf(self.norm) else r ** (1.0 / self.norm)) / self.scale

    def reduced(self, distance: float, columns: int) -> float:
        """The greatest reduced distance whose distance is at most this."""
        if self.unit:
            return 2.0 * distance
        if self.norm == HAMMING:
            return math.floor(distance * columns * (1 + 2.0**-50))
        if self.norm == 1.0 or math.isinf(self.norm):
            return distance * self.scale
        with np.errstate(over="ignore", under="ignore"):
            r = float(np.float64(distance * self.scale) ** self.norm)
        return _greatest(lambda value: bool(self.distances(value, columns) <= distance), r)


def _greatest(holds: Callable[[Any], bool], near: float) -> float:
    """The greatest float ≥ 0 of which something holds that holds of 0, and of all below one of which it holds.

    The bits of floats ≥ 0 are in their order: steps away from `near` are doubled, then what lies between is halved. Of numbers whose roots vanish
    there are too many to go through.
    """

    def of(bits: int) -> bool:
        return holds(np.int64(bits).view(np.float64))

    low, high = 0, int(np.float64(math.inf).view(np.int64)) + 1
    at, step = int(np.float64(near).view(np.int64)), 1
    if of(at):
        low = at
        while low + step < high and of(low + step):
            low, step = low + step, 2 * step
        high = min(high, low + step)
    else:
        high = at
        while high - step > low and not of(high - step):
            high, step = high - step, 2 * step
        low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if of(middle) else (low, middle)
    return float(np.int64(low).view(np.float64))


def reach(X: Floats, norm: float) -> tuple[Floats, Floats]:
    """Least and greatest values of the columns, as far as `Geometry.scaled` needs them: of some rows, where these and the ends of the whole table show
    that no scale is called for (minima by column read a table ten times as slowly as those of all of it)."""
    room = 2.0 ** (0.5 * ROOMY / (1.0 if math.isinf(norm) else max(1.0, norm)))
    some = X[:1024]
    low, high = some.min(axis=0), some.max(axis=0)
    seen, whole = float((0.5 * high - 0.5 * low).max(initial=0.0)), 0.5 * float(X.max()) - 0.5 * float(X.min())
    if 1 / room <= seen and whole <= room:
        return low, high
    return X.min(axis=0), X.max(axis=0)


def _squares(Z: Floats) -> Floats:
    """Σ_j z_j² of each row, in the order of the columns."""
    total = np.zeros(len(Z))
    for j in range(Z.shape[1]):
        total += Z[:, j] * Z[:, j]
    return total


def mapped_by(Z: Floats, L: Floats) -> Floats:
    """Z L, added up in the order of the columns of Z: a product by BLAS would depend on how many rows there are."""
    out = np.zeros((len(Z), L.shape[1]))
    for j in range(Z.shape[1]):
        out += Z[:, j, None] * L[j]
    return out


def root_of(W: Any, d: int, what: str = "W") -> Floats:
    """L (d, r) with W = L Lᵀ; raises where W is not symmetric or not positive semidefinite, and names the eigenvalue.

    >>> root_of([[4.0, 0.0], [0.0, 1.0]], 2)
    array([[0., 2.],
           [1., 0.]])
    """
    W = np.asarray(W, dtype=np.float64)
    if W.shape != (d, d):
        raise ParameterError(f"{what} has the shape {W.shape}: rows of {d} columns need ({d}, {d}).")
    if not np.isfinite(W).all():
        raise ParameterError(f"{what} holds NaN or infinity.")
    size = float(np.abs(W).max(initial=0.0))
    off = float(np.abs(W - W.T).max(initial=0.0))
    if off > SYMMETRIC * size:
        i, j = np.unravel_index(int(np.abs(W - W.T).argmax()), W.shape)
        raise ParameterError(f"{what} is not symmetric: [{i}, {j}] is {W[i, j]:g} and [{j}, {i}] is {W[j, i]:g}.")
    values, vectors = np.linalg.eigh(0.5 * (W + W.T))
    if values[0] < -NEGATIVE * max(abs(values[0]), abs(values[-1])):
        raise ParameterError(
            f"{what} is not positive semidefinite: its least eigenvalue is {values[0]:.6g}. A distance must not be imaginary; use "
            f"{what} + ({-values[0]:.3g})·I, or another matrix."
        )
    kept = values > NEGATIVE * max(values[-1], 0.0)
    if not kept.any():
        raise ParameterError(f"{what} is zero: all rows would be at distance 0 of each other.")
    L: Floats = np.abs(np.sqrt(values[kept])) * signed(vectors[:, kept])
    return L


def signed(V: Floats) -> Floats:
    """Eigenvectors with their largest entry positive, so that the map does not depend on how they were found."""
    top = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    return V * np.where(top < 0, -1.0, 1.0)


class Metric(Protocol):
    """The hyper-parameters that say how far rows are apart."""

    @property
    def metric(self) -> Any: ...
    @property
    def p(self) -> float: ...
    @property
    def metric_params(self) -> Any: ...


def _matrices(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) for k in value)


FUNCTION = "a function d(x, z) of a query and a row"


@dataclass(frozen=True)
class MetricParam(ChoiceOrFunction):
    """A metric by its name, as a function, or as a `DistanceMetric` of scikit-learn's."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) or is_distance_object(value)


METRIC = param("the distance by which rows are near or far", default="minkowski", check=MetricParam(METRICS, FUNCTION))  # fmt: skip
P = param("the power of the Minkowski distance: 1 Manhattan, 2 Euclidean, inf Chebyshev", default=2, check=Range(low=0, open_low=True))  # fmt: skip
METRIC_PARAMS = param("V or VI (its inverse) of metric='mahalanobis', W of 'quadratic', V (variances) of 'seuclidean', w (weights of columns) and p of 'minkowski'; keyword arguments of a function of yours", default=None, check=Free("a dict such as {'W': matrix}", words=(None,), check=_matrices))  # fmt: skip


def is_distance_object(value: Any) -> bool:
    """Whether a metric is an object of scikit-learn's (`DistanceMetric.get_metric(...)`), by its looks."""
    return type(value).__module__ == "sklearn.metrics._dist_metrics" and hasattr(value, "pairwise")


def metric_of(model: Metric) -> Any:
    """The metric as a name or a function, also where it is an object of scikit-learn's."""
    metric = model.metric
    if not is_distance_object(metric):
        return metric
    name = re.sub(r"(Distance|Metric)?(32|64)?$", "", type(metric).__name__).lower()
    if name not in METRICS or name in MATRICES:
        raise ParameterError(
            f"metric={type(metric).__name__} is a metric with parameters: give its name and metric_params, such as metric='minkowski', p=3."
        )
    return name


def check_algorithm(model: Metric) -> None:
    """Raise where a tree is asked for that such a metric cannot have."""
    algorithm, metric = getattr(model, "algorithm", "auto"), metric_of(model)
    if algorithm not in ("kd_tree", "ball_tree"):
        return
    if not callable(metric) and metric in POWERS and power_of(model) < 1:
        raise ParameterError(
            f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve this problem either set p >= 1 or algorithm="brute".'
        )
    own = own_metric(model)
    if algorithm == "kd_tree" and (isinstance(own, NamedMetric) or metric == "hamming"):
        raise ParameterError(
            f"Metric {metric!r}{' with weights' if metric in POWERS else ''} is not valid for algorithm='kd_tree': its boxes tell nothing of such "
            "distances. Use algorithm='auto' or 'brute', which find the same."
        )


def check_metric(model: Metric, d: int) -> None:
    """Raise where the hyper-parameters of the metric do not go together."""
    check_algorithm(model)
    if callable(metric_of(model)):  # which says itself what it takes
        return
    given = dict(model.metric_params or {})
    allowed = MATRICES.get(metric_of(model), ())
    for name in given:
        if name not in allowed:
            wanted = " or ".join(repr(a) for a in allowed) if allowed else "none"
            raise ParameterError(f"metric={metric_of(model)!r} has no metric_params[{name!r}]; it takes {wanted}.")
    if len(given) > 1 and "V" in given:
        raise ParameterError("metric_params holds both V and VI: give one of them, the other is its inverse.")
    if metric_of(model) == "quadratic" and not given:
        raise ParameterError("metric='quadratic' needs metric_params={'W': matrix}, the W of (x − z)ᵀ W (x − z).")
    if "w" in given:
        _weights_of(model, d)
    if "p" in given and not (isinstance(given["p"], int | float | np.number) and given["p"] > 0):
        raise ParameterError(
            f"metric_params['p']={given['p']!r} is not possible: the power of a distance is a number > 0."
        )


def power_of(model: Metric) -> float:
    """The power of a Minkowski distance: metric_params['p'] before p."""
    return float((model.metric_params or {}).get("p", model.p))


def _weights_of(model: Metric, d: int) -> tuple[float, ...]:
    w = np.asarray(model.metric_params["w"], dtype=np.float64)
    if w.shape != (d,) or not (np.isfinite(w).all() and (w >= 0).all() and (w > 0).any()):
        raise ParameterError(
            f"metric_params['w'] must hold a weight ≥ 0 for each of the {d} columns, not all of them 0; its shape is {w.shape}."
        )
    return tuple(w.tolist())


def plain_geometry(model: Metric, d: int, low: Floats, high: Floats) -> Geometry | None:
    """The geometry where nothing of the rows matters but how far their columns reach; None: more does."""
    given = model.metric_params or {}
    own = own_metric(model)
    if own is not None:
        return Geometry(1.0, own=own)
    if metric_of(model) in POWERS:
        if "p" in given:
            warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored.",
                SyntaxWarning,
            )
        if power_of(model) < 1:
            warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution with `algorithm='brute'`.",
                UserWarning,
            )
        return Geometry(power_of(model)).scaled(low, high)
    if metric_of(model) in NORMS:
        return Geometry(NORMS[metric_of(model)], unit=metric_of(model) == "cosine").scaled(low, high)
    for name in ("W", "VI"):
        if name in given:
            return Geometry(2.0, root_of(given[name], d, f"metric_params[{name!r}]"), np.zeros(d))
    if metric_of(model) == "seuclidean":
        return None if "V" not in given else Geometry(2.0, by_deviation(given["V"], d, None), np.zeros(d))
    if "V" in given:
        return Geometry(2.0, whitening(given["V"], d, None), np.zeros(d))
    return None


def own_metric(model: Metric) -> MetricFunction | NamedMetric | None:
    """What takes the place of a norm: a distance of `named_metrics`, or the function of the user's with its keyword arguments."""
    if metric_of(model) in POWERS and "w" in (model.metric_params or {}):
        w, p = np.asarray(model.metric_params["w"], dtype=np.float64), power_of(model)
        return NamedMetric(WEIGHTED, p, tuple(w.tolist()))
    if isinstance(metric_of(model), str) and metric_of(model) in NAMED:
        return NamedMetric(metric_of(model))
    if not callable(metric_of(model)):
        return None
    return partial(metric_of(model), **model.metric_params) if model.metric_params else metric_of(model)


def fitted_geometry(model: Metric, engine: Engine, rows: Rows) -> Geometry:
    """The geometry that the rows decide: W = Σ⁻¹ of them, Σ = 1/N Σ w (x − μ)(x − μ)ᵀ; of "seuclidean" their variances, by N − 1."""
    one = Labels.of(np.zeros(1, dtype=np.int64))
    found = fold(engine, rows.blocks(), partial(_absorb, one, rows.names), merge_scatter)
    assert found is not None
    if metric_of(model) == "seuclidean":
        V = np.diag(found.scatter[0]) / max(found.class_count[0] - 1.0, 1.0)
        return Geometry(2.0, by_deviation(V, rows.n_columns, rows.names), np.zeros(rows.n_columns))
    V = found.scatter[0] / found.class_count[0]
    return Geometry(2.0, whitening(V, rows.n_columns, rows.names), found.mean[0])


def _absorb(labels: Labels, names: Any, block: Block) -> ClassScatter:
    return absorb_scatter(labels, names, False, block._replace(y=np.zeros(len(block.X), dtype=np.int64)))


def by_deviation(V: Any, d: int, names: Any) -> Floats:
    """The diagonal matrix that divides each column by the root of its variance."""
    V = np.asarray(V, dtype=np.float64)
    if V.shape != (d,) or not np.isfinite(V).all():
        raise ParameterError(
            f"metric_params['V'] must hold the variance of each of the {d} columns; its shape is {V.shape}."
        )
    flat = np.flatnonzero(~(V > 0))
    if len(flat):
        raise DataError(
            f"Distances by metric='seuclidean' divide by the variance, and {_columns(flat, names)} has none. Leave it out, or use "
            "metric='euclidean'."
        )
    return np.diag(1.0 / np.sqrt(V))


def whitening(V: Any, d: int, names: Any) -> Floats:
    """L with L Lᵀ = V⁻¹; raises where V has no inverse, and says which columns are the reason."""
    root_of(V, d, "The covariance V")
    V = np.asarray(V, dtype=np.float64)
    deviation = np.sqrt(np.diag(V))
    flat = np.flatnonzero(~(deviation > 0))
    if len(flat):
        raise DataError(
            f"Mahalanobis distances divide by the variance, and {_columns(flat, names)} has none. Leave it out, or use metric='euclidean'."
        )
    values, vectors = np.linalg.eigh(V / deviation / deviation[:, None])
    if not values[0] > FLAT * max(1.0, values[-1]):
        heavy = np.flatnonzero(np.abs(vectors[:, 0]) > 0.1)
        raise DataError(
            f"The covariance has no inverse (least eigenvalue {values[0]:.3g} of columns brought to variance 1): {_columns(heavy, names)} "
            "depend on each other. Leave one out, or give metric_params={'VI': matrix}."
        )
    L: Floats = vectors / np.sqrt(values) / deviation[:, None]
    top = L[np.abs(L).argmax(axis=0), np.arange(d)]
    return L * np.where(top < 0, -1.0, 1.0)


def _columns(which: Any, names: Any) -> str:
    return ", ".join(f"column {names[j]!r}" if names else f"column {j}" for j in which[:5])


def described(metric: Any, p: float) -> str:
    """The metric in words."""
    if callable(metric):
        return f"the distance that the function {getattr(metric, '__name__', type(metric).__name__)} gives"
    if metric not in POWERS:
        return f"{PLAINEST.get(metric, metric).capitalize()} distance"
    known = {1.0: "Manhattan", 2.0: "Euclidean", math.inf: "Chebyshev"}
    return f"{known.get(float(p), f'Minkowski (p = {p:g})')} distance"
