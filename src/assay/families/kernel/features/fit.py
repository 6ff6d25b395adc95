"""A linear model in kernel features: the map and the linear model in one estimator, one file and one certificate.

    f(x) = w·φ(x) + b,      φ(x)·φ(z) ≈ K(x, z)        Shape: that of the linear model, after one fold for the map

The linear model is fitted whole, on rows that are mapped block by block, so it runs wherever they lie. Its claims are made of the mapped rows;
how good the map is is a claim of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.engines import ArrayRows, Block, Engine, MappedRows, Part, Rows
from assay.engines.engine import Threads, one_thread_blas
from assay.errors import ModelFileError
from assay.estimator.estimator import Estimator, fresh_and_rows
from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import attribute
from assay.estimator.steps import Step, answering
from assay.families.kernel.features.maps import (
    KernelMap,
    LandmarkMap,
    LearntMap,
    MapError,
    MapSpec,
    WaveMap,
    centred,
    learn,
    mapped_rows,
)
from assay.families.kernel.functions import Kernel
from assay.families.linear.warm_start import WarmStart
from assay.inputs import refuse_non_finite
from assay.inputs.labels import Labels
from assay.numerics import Array, Floats
from assay.store import Record

OF_FEATURES = "of the features phi(x): "
SAME_OBJECTIVE = 5e-7  # share of an objective that a checker may find otherwise, halved
NEARLY = 1.001  # times the tolerance: gaps are added up in another order
MOST_IN_MEMORY = 1 << 26  # features that are kept; where there are more, rows in memory are mapped again in every pass

MAP_LAYOUT: Layout = {
    "gamma_": Fact(float, low=0, doc="the γ of the kernel that was used"),
    "landmarks_": Tensor(("l", "d"), optional=True, doc="of features='nystroem': the l rows at which kernels are evaluated"),
    "map_": Tensor(("l", "D"), optional=True, doc="of features='nystroem': the matrix that turns the kernels at the landmarks into D features"),
    "frequencies_": Tensor(("d", "D"), optional=True, doc="of features='fourier': the frequency of each of the D waves"),
    "offset_": Tensor(("D",), optional=True, doc="of features='fourier': the phase of each wave"),
    "centre_": Tensor(("d",), optional=True, doc="the point from which rows are counted, which the kernel does not notice but digits do"),
    "features_off_": Tensor(("D",), low=0, optional=True, doc="what rounding may put each of the D features off by, measured on rows"),
    "error_rms_": Fact(float, low=0, doc="the root mean square of φ(x)·φ(z) − K(x, z) over pairs of rows"),
    "error_max_": Fact(float, low=0, doc="the greatest |φ(x)·φ(z) − K(x, z)| over pairs of rows"),
    "error_trace_": Fact(float, doc="the mean of K(x, x) − |φ(x)|² over rows"),
    "error_rows_": Fact(int, low=1, doc="the rows whose pairs the errors of the approximation were measured on"),
}  # fmt: skip
OURS = {"coef_": "feature_coef_"}  # `coef_` would be taken for weights of the columns
THEIRS = {ours: theirs for theirs, ours in OURS.items()}
PARTS = {"nystroem": ("landmarks_", "map_"), "fourier": ("frequencies_", "offset_", "centre_")}


COVERAGE = Coverage(
    proof={"kernel_features": "landmarks_ map_ frequencies_ centre_ feature_coef_ intercept_ sigma2_ rank_ condition_"},
    estimate={"kernel_approximation": "gamma_ error_rms_ error_max_ error_trace_ error_rows_"},
    nothing="offset_ features_off_ objective_ inverse_root_ singular_ cut_ off_by_ multipliers_ weight_ gap_ width_ dual_problem_ dual_rows_ dual_values_ "
    "freedom_ n_iter_ converged_ solver_ separable_ margin_ direction_ away_ step_ covariance_ rows_ state.n state.mean state.scatter "
    "state.cross state.target_mean state.target_scatter",
    but="coefficients are tied up to the stated gap; that other landmarks or frequencies would not do as well",
)


def layout_with(*linear: type[Estimator]) -> Layout:
    """The layout of a map and one of these linear models, whose columns are the D features; their own classes say what must be there."""
    parts: dict[str, Tensor | Fact] = dict(MAP_LAYOUT)
    for cls in linear:
        for name, part in cls.layout.items():
            if isinstance(part, Tensor):
                part = replace(part, dims=tuple("D" if dim == "d" else dim for dim in part.dims))
            parts[OURS.get(name, name)] = replace(part, optional=True)
    return parts


def parts_of(linear: Estimator) -> dict[str, Any]:
    """What a linear model has learnt, by our names."""
    return {OURS.get(name, name): linear._part(name) for name in linear.layout if hasattr(linear, name)}


def parts_at(linear: Estimator, step: Step) -> dict[str, Any] | None:
    """The same at a step of the linear model."""
    at = linear.at(step)
    return None if at is None else parts_of(at)


@dataclass
class SharedMap:
    """What fits of one search share: the map and the mapped rows of a map specification, the classes, and the linear fits' warm starts."""

    map_spec: Any = None
    learnt: LearntMap | None = None
    mapped: Rows | None = None
    classes: Array | None = None
    warm_start_from: WarmStart = field(default_factory=WarmStart)


class KernelFeaturesModel(Estimator):
    """What the classifier and the regressor share. Subclasses give the linear model, `_linear`."""

    coverage = COVERAGE
    features: str = attribute()
    kernel: str = attribute()
    gamma: Any = attribute()
    degree: int = attribute()
    coef0: float = attribute()
    n_components: int = attribute()
    random_state: int = attribute()

    gamma_: float = attribute()
    features_off_: Floats = attribute()
    error_rms_: float = attribute()
    error_max_: float = attribute()
    error_trace_: float = attribute()
    error_rows_: int = attribute()
    feature_coef_: Floats = attribute()
    objective_: Floats = attribute()
    weight_: float = attribute()

    _map: KernelMap = attribute()
    _shared: SharedMap | None = attribute(default=None)

    def _linear(self) -> Estimator:
        """The linear model with this one's hyper-parameters, not fitted."""
        raise NotImplementedError

    def _labels(self, engine: Engine, rows: Rows, classes: Any) -> Labels | None:
        """The labels of the rows; None: the target is a number."""
        return None

    @property
    def approximation_error_(self) -> MapError:
        """How far φ(x)·φ(z) is from K(x, z), on rows of the fit."""
        self._check_fitted()
        return MapError(self.error_rms_, self.error_max_, self.error_trace_, self.error_rows_)

    # --- fitting ----------------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        shared = self._shared if self._shared is not None else SharedMap()
        map_spec = MapSpec.of(self, self.features)
        if shared.map_spec == map_spec and shared.learnt is not None and shared.mapped is not None:
            learnt, mapped = shared.learnt, shared.mapped
            if shared.classes is not None:
                self.classes_ = shared.classes
        else:
            rows = engine.keep(rows)
            learnt = learn(engine, rows, map_spec, self._labels(engine, rows, classes), marked=True)
            mapped = in_memory_if_few(engine, mapped_rows(rows, learnt.map))
            shared.map_spec, shared.learnt, shared.mapped, shared.warm_start_from = (
                map_spec,
                learnt,
                mapped,
                WarmStart(),
            )
            shared.classes = getattr(self, "classes_", None)
        linear = self._linear()
        linear._forget()
        linear._remember_columns(mapped)
        if self._shared is not None and hasattr(linear, "_warm_start_from"):
            linear._warm_start_from = shared.warm_start_from
        linear._learn(engine, mapped, True, getattr(self, "classes_", None))
        self._take(linear, learnt)

    def _take(self, linear: Estimator, learnt: LearntMap) -> None:
        """Set what was learnt."""
        self._take_map(learnt)
        vars(self).update(parts_of(linear))
        self._state = linear._state
        self._provenance = {"fingerprint": learnt.survey.mark.hex()}
        self._state_claims()

    def _take_map(self, learnt: LearntMap) -> None:
        self._map, self.gamma_ = learnt.map, float(learnt.map.kernel.gamma)
        for name, part in learnt.map.parts().items():
            setattr(self, f"{name}_", part)
        if learnt.off is not None:
            self.features_off_ = learnt.off
        if learnt.error is not None:
            self.error_rms_, self.error_max_, self.error_trace_, self.error_rows_ = learnt.error

    def fit_each(self, X: Any, settings: Sequence[Mapping[str, Any]]) -> Iterator[Self]:
        """A model for each of the settings; those of one map share it and the mapped rows."""
        shared = SharedMap()
        for changed in settings:
            model = type(self)(**{**self.get_params(), **changed})
            model._shared = shared
            model._fit(X, None, None)
            del model._shared
            yield model

    def _fitted_linear(self) -> Estimator:
        """The linear model as it was fitted, made of this one's parts."""
        linear = self._linear()
        linear._forget()
        linear.n_features_in_ = self._map.width
        for name in linear.layout:
            if hasattr(self, OURS.get(name, name)):
                setattr(linear, name, getattr(self, OURS.get(name, name)))
        if hasattr(self, "classes_"):
            linear.classes_ = self.classes_
        linear._state, linear._fitted_with = self._state, linear.get_params()
        if hasattr(linear, "_columns_off"):
            linear._columns_off = getattr(self, "features_off_", None)
        return linear

    def _make_claims(self) -> tuple[Claim, ...]:
        error = MapError(self.error_rms_, self.error_max_, self.error_trace_, self.error_rows_)
        of_linear = (on_features(self._allowing(claim), self._map) for claim in self._fitted_linear()._make_claims())
        return (*of_linear, approximation_claim(self._map, error, int(self.random_state)))

    def _allowing(self, claim: Claim) -> Claim:
        """A gap is no proof where the rounding of features leaves the objective open by more than a checker's digits, or than the gap has room for."""
        if claim.check != "duality_gap" or not hasattr(self, "features_off_"):
            return claim
        share = self._objective_off()
        if share <= SAME_OBJECTIVE and float(claim.value or 0.0) + 4.0 * share <= NEARLY * float(claim.bound or 0.0):
            return claim
        return replace(
            claim, holds=False, statement=f"{claim.statement}; rounding of the features leaves {share:.1g} of it open"
        )

    def _objective_off(self) -> float:
        """By what share the rounding of features may change an objective: that of scores times the slope of the loss, over all rows."""
        each = np.atleast_2d(self.feature_coef_)
        off = np.abs(each) @ self.features_off_
        value = np.asarray(self.objective_, dtype=np.float64)
        off = 2.0 * off.max(keepdims=True) if len(value) < len(each) else off
        total = float(self.weight_)
        lost = total * off
        if getattr(self, "loss", None) == "squared_hinge":
            lost = 2.0 * off * np.sqrt(total * value) + total * off**2
        return float(np.divide(lost, value, out=np.where(lost > 0, np.inf, 0.0), where=value > 0).max())

    def complexity(self) -> float:
        """That of the linear model: the free weights of the features."""
        self._check_fitted()
        fitted = copy(self)
        vars(fitted).update(self._fitted_with)  # whatever set_params did since
        return fitted._fitted_linear().complexity()

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """Those of the linear model, on the mapped rows."""
        fresh, rows = fresh_and_rows(self, X, y, sample_weight)
        engine = Threads(1)
        with one_thread_blas():
            learnt = learn(engine, rows, MapSpec.of(fresh, fresh.features), fresh._labels(engine, rows, None))
            mapped = mapped_rows(rows, learnt.map).in_memory()
        fresh._take_map(learnt)
        linear: Any = fresh._linear()
        for step in linear.steps(mapped, every=every):
            values = {OURS.get(name, name): value for name, value in step.values.items()}
            yield replace(step, values=values, state=answering(fresh, partial(parts_at, linear, step)))

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """As many as the linear model's."""
        return self._linear().n_steps(rows, every)

    # --- answering --------------------------------------------------------------------------------------------------

    def _refuse_non_finite(self, block: Block) -> None:
        if not np.isfinite(block.X).all():
            refuse_non_finite(block.X, block.start, self._column_names())

    # --- file -------------------------------------------------------------------------------------------------------

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        MapSpec.of(self, self.features)
        for features, names in PARTS.items():
            if any((name in record.arrays) != (features == self.features) for name in names):
                raise ModelFileError(f"The model file's map is not one of features={self.features!r}.")
        parts = [record.arrays[name] for name in PARTS[self.features]]
        if not all(part.size for part in parts) or not self.gamma_ > 0:
            raise ModelFileError("The model file's map has no features, or a gamma of 0.")
        kernel = Kernel(self.kernel, float(self.gamma_), float(self.degree), float(self.coef0))
        if self.features == "nystroem":
            self._map = LandmarkMap(centred(kernel, parts[0]), *parts)
        else:
            self._map = WaveMap(kernel, *parts)
        linear = type(self._linear()).from_record(self._linear_record(record))
        self._state = linear._state

    def _linear_record(self, record: Record) -> Record:
        """The linear model's share of a record: its own class checks it."""
        linear = self._linear()
        mine = [name for name in record.arrays.keys() | record.facts.keys() if name not in MAP_LAYOUT]
        return Record(
            model=linear.name,
            params={name: value for name, value in linear.get_params().items() if name != "n_jobs"},
            n_features=self._map.width,
            arrays={THEIRS.get(name, name): record.arrays[name] for name in mine if name in record.arrays},
            facts={THEIRS.get(name, name): record.facts[name] for name in mine if name in record.facts},
            classes=record.classes,
            provenance={k: v for k, v in record.provenance.items() if k == "fingerprint"},
        )


def in_memory_if_few(engine: Engine, mapped: MappedRows, most: int | None = MOST_IN_MEMORY) -> Rows:
    """Mapped rows as an array where they are computed in memory and are at most so many numbers; else they are mapped as they are read."""
    source = mapped.source
    if not engine.opens_in_memory or not source.resident:
        return mapped
    n = source.n_rows or 0
    if most is not None and n * mapped.n_columns > most:
        return mapped
    out = np.empty((n, mapped.n_columns))
    for _ in engine.map(partial(_fill, out), mapped.blocks()):
        pass
    return ArrayRows(out, source.y, source.w)


def _fill(out: Floats, part: Part) -> None:
    block = part.load()
    out[block.start : block.start + len(block.X)] = block.X


def on_features(claim: Claim, learnt: KernelMap) -> Claim:
    """A linear model's claim; the witness holds what a checker needs to map the rows before it checks the claim of them."""
    return replace(
        claim,
        statement=OF_FEATURES + claim.statement,
        check="kernel_features",
        witness={**claim.witness, **map_witness(learnt), "of_features": claim.check},
    )


def map_witness(learnt: KernelMap) -> dict[str, Any]:
    """What the map is."""
    kernel = learnt.kernel
    numbers = np.array([kernel.gamma, kernel.degree, kernel.coef0])
    return {**learnt.parts(), "kernel": kernel.name, "kernel_numbers": numbers.tolist()}


def approximation_claim(learnt: KernelMap, error: MapError, seed: int) -> Claim:
    """How far the map's products are from the kernel, on rows drawn by hash."""
    what = f"phi(x).phi(z) differs from K(x, z) = {learnt.kernel.words()} by {error.rms:.3g} (root mean square), {error.largest:.3g} at most"
    where = f"over all pairs of {error.rows} distinct rows, drawn by a hash of their contents"
    more = ""
    if isinstance(learnt, LandmarkMap):
        many = len(learnt.landmarks)
        more = f"; of K(x, x) the {many} landmarks miss {error.trace:.3g} on average"
    return Claim(
        name="kernel approximation",
        statement=f"{where}, {what}{more}",
        holds=True,
        check="kernel_approximation",
        value=error.rms,
        kind="estimate",
        witness={
            **map_witness(learnt),
            "largest": error.largest,
            "trace": error.trace,
            "rows": error.rows,
            "seed": seed,
        },
    )
