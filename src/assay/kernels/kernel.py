"""What a kernel function is, in NumPy and float64: the definition that everything faster must agree with.

linear        x·z                          rbf           exp(−γ ‖x − z‖₂²)
affine        1 + x·z                      laplacian     exp(−γ ‖x − z‖₁)
poly          (γ x·z + coef0)^degree       sigmoid       tanh(γ x·z + coef0), not positive semidefinite in general
precomputed   the rows *are* the values K(x, x_i) for the rows x_i of the fit
own           a function of yours: f(X, Z) → (n, m)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.numerics import Array, Floats

KERNELS = ("linear", "affine", "poly", "rbf", "laplacian", "sigmoid", "precomputed")
AT_A_TIME = 1 << 22  # numbers of one step of the Laplacian kernel

Own = Callable[[Floats, Floats], Any]


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its numbers. `centre` (d,): rows are counted from there, which rbf and laplacian do not notice but their digits do."""

    name: str
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 0.0
    own: Own | None = None
    centre: Floats | None = None

    @property
    def normed(self) -> bool:
        """Whether K(x, x) = 1 for every row."""
        return self.name in ("rbf", "laplacian")

    def block(self, X: Array, Z: Array) -> Floats:
        """K(x_i, z_j) for all rows x_i and z_j: (n, m). Of "precomputed" X are values already, and Z are row numbers of the fit."""
        with np.errstate(over="ignore", invalid="ignore"):
            K = self._block(X, Z)
        if not np.isfinite(K).all():
            self._refuse(K)
        return K

    def _block(self, X: Array, Z: Array) -> Floats:
        if self.name == "precomputed":
            given: Floats = np.asarray(X, dtype=np.float64)[:, np.asarray(Z, dtype=np.int64)]
            return given
        X, Z = np.asarray(X, dtype=np.float64), np.asarray(Z, dtype=np.float64)
        if self.own is not None:
            return self._of_own(X, Z)
        if self.name == "laplacian":
            return np.exp(-self.gamma * _city_block(X, Z))
        if self.name == "rbf":
            if self.centre is not None:
                X, Z = X - self.centre, Z - self.centre
            far = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Z, Z)[None, :] - 2.0 * (X @ Z.T)
            near: Floats = np.exp(-self.gamma * np.maximum(far, 0.0))
            return near
        return self._of_product(X @ Z.T)

    def _of_product(self, P: Floats) -> Floats:
        if self.name == "affine":
            return 1.0 + P
        if self.name == "poly":
            powers: Floats = np.power(self.gamma * P + self.coef0, self.degree)
            return powers
        if self.name == "sigmoid":
            return np.tanh(self.gamma * P + self.coef0)
        return P

    def _of_own(self, X: Floats, Z: Floats) -> Floats:
        assert self.own is not None
        K = np.asarray(self.own(X, Z), dtype=np.float64)
        if K.shape != (len(X), len(Z)):
            raise DataError(
                f"The kernel function returned an array of shape {K.shape} for {len(X)} and {len(Z)} rows: it must return one value a "
                f"pair, shape ({len(X)}, {len(Z)})."
            )
        return K

    def diagonal(self, X: Array) -> Floats:
        """K(x_i, x_i) of every row; of "precomputed" X is the square matrix of the fit."""
        if self.normed:
            return np.ones(len(X))
        if self.name == "precomputed":
            return np.asarray(X, dtype=np.float64).diagonal().copy()
        X = np.asarray(X, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.own is not None:
                some = [self._of_own(X[i : i + 64], X[i : i + 64]).diagonal() for i in range(0, len(X), 64)]
                found: Floats = np.concatenate([np.empty(0), *some])
            else:
                found = self._of_product(np.einsum("ij,ij->i", X, X))
        if not np.isfinite(found).all():
            self._refuse(found)
        return found

    def _refuse(self, K: Floats) -> None:
        if self.own is not None:
            raise DataError(
                "The kernel function returned NaN or infinity: it must return a finite number for every pair of rows."
            )
        if self.name == "poly" and np.isnan(K).any() and self.degree != int(self.degree):
            raise DataError(
                f"A negative number to the power degree={self.degree:g} is no real number: use a whole degree, or a coef0 large enough."
            )
        if self.name == "precomputed":
            raise DataError("The precomputed kernel holds NaN or infinity: every value must be a finite number.")
        raise DataError(
            f"Values of the {self.name} kernel overflow float64: divide the columns by a constant (or standardise them), or lower gamma."
        )

    def words(self) -> str:
        """The formula with its numbers.

        >>> Kernel("rbf", gamma=0.5).words()
        'exp(-0.5 |x - z|^2)'
        """
        g, c = f"{self.gamma:.6g}", f"{self.coef0:.6g}"
        return {
            "linear": "x.z",
            "affine": "1 + x.z",
            "poly": f"({g} x.z + {c})^{self.degree:g}",
            "rbf": f"exp(-{g} |x - z|^2)",
            "laplacian": f"exp(-{g} |x - z|_1)",
            "sigmoid": f"tanh({g} x.z + {c})",
            "precomputed": "the given matrix",
        }.get(self.name, "a function of the user")


def _city_block(X: Floats, Z: Floats) -> Floats:
    far = np.empty((len(X), len(Z)))
    step = max(1, AT_A_TIME // max(1, Z.size))
    for i in range(0, len(X), step):
        far[i : i + step] = np.abs(X[i : i + step, None, :] - Z[None, :, :]).sum(axis=2)
    return far
