"""Outputs of many rows, a few at a time, so that what is computed on the way stays near the processor.

A product of matrices may round otherwise where it has other numbers of rows. Blocks of rows begin at multiples of AT_A_TIME, so rows are cut at the same
places wherever they are answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from assay.certify import Claim
from assay.engines import Block, SparseMatrix, block_rows
from assay.engines.rows import SMALLEST_BLOCK, cut
from assay.errors import ModelFileError
from assay.estimator.docstrings import attribute
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Layout
from assay.families.networks.architecture import Layer, NetworkShape, outputs
from assay.families.networks.hyper_parameters import LAYOUT
from assay.families.networks.initial import shape_of
from assay.families.networks.training_data import Standardisation, count, unpacked
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.numerics import Array, Floats
from assay.store import Record

AT_A_TIME = SMALLEST_BLOCK


def outputs_of(layers: Sequence[Layer], activation: str, X: Array) -> Floats:
    """f(x) of every row: (n, outputs)."""
    n = len(X)
    if n <= AT_A_TIME:
        return outputs(layers, activation, X)
    F = np.empty((n, layers[-1].weights.shape[1]))
    for first in range(0, n, AT_A_TIME):
        F[first : first + AT_A_TIME] = outputs(layers, activation, X[first : first + AT_A_TIME])
    return F


# The fitted network as it answers rows.

FAR = 1e6  # deviations from zero at which a column's mean is taken off before the products: it would take so many digits from them


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


# What a network has learnt: its shape, its weights in the columns' own units, the answers they give, and the file.


class LearntNetwork(Estimator):
    """f(x) = W_Lᵀ φ(… φ(W₁ᵀ x + b₁) …) + b_L."""

    layout: ClassVar[Layout] = LAYOUT
    slow_rows: ClassVar[int | None] = 4096

    solver: str = attribute()

    weights_: Floats = attribute()
    mean_: Floats = attribute()
    scale_: Floats = attribute()
    loss_curve_: Floats = attribute()
    validation_scores_: Floats | None = attribute()
    n_iter_: int = attribute()
    best_epoch_: int = attribute()
    kept_best_: bool | None = attribute()
    best_loss_: float | None = attribute()
    loss_: float | None = attribute()
    measured_: Floats | None = attribute()
    batch_: int = attribute()
    t_: int = attribute()
    rows_: int = attribute()
    weight_: float = attribute()
    converged_: bool = attribute()
    whole_: bool = attribute()
    memory_: Floats | None = attribute()
    batches_: int = attribute()

    _net: FittedNetwork | None = attribute(default=None)

    # --- what subclasses say ----------------------------------------------------------------------------------------

    def _loss_name(self) -> str:
        raise NotImplementedError

    def _outputs_of_fit(self) -> int:
        """How many numbers the last layer gives."""
        raise NotImplementedError

    def _standard(self) -> Standardisation:
        """How the rows of the fit were standardised."""
        return Standardisation(self.mean_, self.scale_)

    # --- answering --------------------------------------------------------------------------------------------------

    def _shape_now(self) -> NetworkShape:
        return shape_of(self, self.get_params(), self._outputs_of_fit())

    def _shape(self) -> NetworkShape:
        """The shape of the fit."""
        return shape_of(self, self._fitted_with, self._outputs_of_fit())

    def _standard_layers(self) -> list[Layer]:
        """The layers that answer standardised rows."""
        return unpacked(self._shape().widths, self.weights_)

    def _layers(self) -> list[Layer]:
        """The layers that answer rows as they are."""
        return self._net_of_fit().folded

    def _net_of_fit(self) -> FittedNetwork:
        if self._net is None:
            self._net = FittedNetwork.of(self._standard(), self._standard_layers(), self._fitted_with["activation"])
        return self._net

    def _f(self, block: Block) -> Floats:
        """f(x) of every row: (n, outputs)."""
        self._check_fitted()
        X = block.X
        if isinstance(X, SparseMatrix):
            return np.concatenate(
                [self._f(piece._replace(X=piece.X.toarray())) for piece in cut(block, block_rows(X.n_columns))]
            )
        if not np.isfinite(X).all():
            refuse_non_finite(X, block.start, self._column_names())
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            F = self._net_of_fit()(X)
        if not np.isfinite(F).all():
            refuse_overflow(X, block.start, self._column_names())
        return F

    @property
    def coefs_(self) -> list[Floats]:
        """Weights (units before, units) of each layer, for columns as they are."""
        self._check_fitted()
        return [layer.weights for layer in self._layers()]

    @property
    def intercepts_(self) -> list[Floats]:
        """Biases (units,) of each layer."""
        self._check_fitted()
        return [layer.biases for layer in self._layers()]

    @property
    def n_layers_(self) -> int:
        """The number of layers of units, inputs and outputs among them."""
        self._check_fitted()
        return len(self._shape().widths)

    @property
    def n_outputs_(self) -> int:
        """The number of units of the last layer."""
        self._check_fitted()
        return self._shape().widths[-1]

    def complexity(self) -> float:
        """The weights and biases that are free."""
        self._check_fitted()
        shape = self._shape()
        return float(count(shape.widths) - (0 if shape.output_bias else shape.widths[-1]))

    # --- claims -----------------------------------------------------------------------------------------------------

    def _make_claims(self) -> tuple[Claim, ...]:
        from assay.families.networks.claims import network_claims

        return network_claims(self)

    # --- file -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_net", "_before", "on_progress")}

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        for name, part in self.layout.items():
            if part.optional and name not in vars(self):
                setattr(self, name, None)
        p = count(self._shape().widths)
        if len(self.weights_) != p:
            raise ModelFileError("The model file's weights are not those of its layers.")
        shape = self._shape()
        if not shape.output_bias and np.any(self._standard_layers()[-1].biases != 0):
            raise ModelFileError("The model file's outputs have biases, against its output_bias=False.")
        if not np.all(self.scale_ > 0):
            raise ModelFileError("The model file's columns have a scale of zero.")
        if not all(np.isfinite(part).all() for layer in self._layers() for part in layer):
            raise ModelFileError("The model file's weights overflow in the units of its columns.")
        e = len(self.loss_curve_)
        if self.n_iter_ != e or not 1 <= self.best_epoch_ <= e:
            raise ModelFileError("The model file's epochs are not those of its losses.")
        if self.whole_ == (self.memory_ is not None) or not (
            self.whole_ == (self.loss_ is not None) == (self.measured_ is not None)
        ):
            raise ModelFileError("The model file's weights are of a whole fit or of pieces, not of both.")
        if self.memory_ is not None and len(self.memory_) != p * (2 if self.solver == "adam" else 1):
            raise ModelFileError("The model file's memory of earlier steps is not that of its weights.")
