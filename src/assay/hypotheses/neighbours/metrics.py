"""Which geometry the hyper-parameters and the rows ask for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.errors import DataError, ParameterError
from assay.hypotheses.scatter import ClassScatter, absorb_scatter, merge_scatter
from assay.labels import Labels
from assay.neighbours.geometry import NORMS, Geometry, root_of
from assay.numerics import Floats
from assay.params import Choice, Free, Range, param

METRICS = ("minkowski", *NORMS, "mahalanobis", "quadratic")
MATRICES = {"mahalanobis": ("V", "VI"), "quadratic": ("W",)}
FLAT = 1e-12  # of the greatest eigenvalue of a covariance of columns of variance 1: less is no spread but rounding


class Metric(Protocol):
    """The hyper-parameters that say how far rows are apart."""

    @property
    def metric(self) -> str: ...
    @property
    def p(self) -> float: ...
    @property
    def metric_params(self) -> Any: ...


def _matrices(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) for k in value)


METRIC = param("the distance by which rows are near or far", default="minkowski", check=Choice(METRICS))
P = param("the power of the Minkowski distance: 1 Manhattan, 2 Euclidean, inf Chebyshev", default=2, check=Range(low=0, open_low=True))  # fmt: skip
METRIC_PARAMS = param("V or VI (its inverse) of metric='mahalanobis', W of metric='quadratic'", default=None, check=Free("a dict such as {'W': matrix}", words=(None,), check=_matrices))  # fmt: skip


def check_metric(model: Metric, d: int) -> None:
    """Raise where the hyper-parameters of the metric do not go together."""
    given = dict(model.metric_params or {})
    allowed = MATRICES.get(model.metric, ())
    for name in given:
        if name not in allowed:
            wanted = " or ".join(repr(a) for a in allowed) if allowed else "none"
            raise ParameterError(f"metric={model.metric!r} has no metric_params[{name!r}]; it takes {wanted}.")
    if len(given) > 1:
        raise ParameterError("metric_params holds both V and VI: give one of them, the other is its inverse.")
    if model.metric == "quadratic" and not given:
        raise ParameterError("metric='quadratic' needs metric_params={'W': matrix}, the W of (x − z)ᵀ W (x − z).")


def plain_geometry(model: Metric, d: int, low: Floats, high: Floats) -> Geometry | None:
    """The geometry where nothing of the rows matters but how far their columns reach; None: more does."""
    given = model.metric_params or {}
    if model.metric == "minkowski":
        return Geometry(float(model.p)).scaled(low, high)
    if model.metric in NORMS:
        return Geometry(NORMS[model.metric], unit=model.metric == "cosine").scaled(low, high)
    for name in ("W", "VI"):
        if name in given:
            return Geometry(2.0, root_of(given[name], d, f"metric_params[{name!r}]"), np.zeros(d))
    if "V" in given:
        return Geometry(2.0, whitening(given["V"], d, None), np.zeros(d))
    return None


def mahalanobis(engine: Engine, rows: Rows) -> Geometry:
    """W = Σ⁻¹ of the rows, Σ = 1/N Σ w (x − μ)(x − μ)ᵀ."""
    one = Labels.of(np.zeros(1, dtype=np.int64))
    found = fold(engine, rows.blocks(), partial(_absorb, one, rows.names), merge_scatter)
    assert found is not None
    V = found.scatter[0] / found.class_count[0]
    return Geometry(2.0, whitening(V, rows.n_columns, rows.names), found.mean[0])


def _absorb(labels: Labels, names: Any, block: Block) -> ClassScatter:
    return absorb_scatter(labels, names, False, block._replace(y=np.zeros(len(block.X), dtype=np.int64)))


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


def described(metric: str, p: float) -> str:
    """The metric in words."""
    if metric != "minkowski":
        return f"{metric.capitalize()} distance"
    known = {1.0: "Manhattan", 2.0: "Euclidean", math.inf: "Chebyshev"}
    return f"{known.get(float(p), f'Minkowski (p = {p:g})')} distance"
