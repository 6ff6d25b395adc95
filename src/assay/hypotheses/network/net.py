"""The fitted network as it answers rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.hypotheses.network.standard import Standard
from assay.networks import Layer
from assay.networks.answering import outputs_of
from assay.numerics import Array, Floats

FAR = 1e6  # deviations from zero at which a column's mean is taken off before the products: it would take so many digits from them


class Net(NamedTuple):
    """Layers for rows as they are and, where columns are far from zero in their own scale, for rows that are standardised first (else `first` is None)."""

    folded: list[Layer]
    first: Standard | None
    layers: list[Layer]
    activation: str

    @classmethod
    def of(cls, standard: Standard, layers: list[Layer], activation: str) -> Net:
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

    def aligned(self) -> Net:
        """The same with arrays that travelled to odd addresses copied: products of such have other bits."""
        return self._replace(
            layers=[Layer(*(np.require(part, None, ["C", "A"]) for part in layer)) for layer in self.layers]
        )
