"""Maps φ with φ(x)·φ(z) ≈ K(x, z), so that linear models in φ(x) are kernel machines.

landmarks   φ(x) = Mᵀ k(x),  k(x)_i = K(x, l_i),  M Mᵀ = (K(L, L) + ridge)⁻¹                 (Williams and Seeger 2001)
waves       φ(x)_j = √(2/m) cos(ω_j·(x − c) + b_j),  ω drawn from the kernel's spectrum      (Rahimi and Recht 2007)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.engines.rows import settled
from assay.kernels import Expansion, Kernel
from assay.numerics import Array, Floats, whitener

TILE = 1 << 17  # numbers made at a time: a tile stays near the processor
LEAST = (
    3e-5  # squared, of K(l, l): eigenvalues up to this are lifted to it, since one over their root would be rounding
)


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

    def parts(self) -> dict[str, Any]:
        """What the map is, by the names of a model's parts."""
        return {"frequencies": self.frequencies, "offset": self.offset, "centre": self.centre}


KernelMap = LandmarkMap | WaveMap


def centred(kernel: Kernel, landmarks: Floats) -> Kernel:
    """The kernel, with rows counted from the middle of the landmarks where that saves digits."""
    return replace(kernel, centre=landmarks.mean(axis=0)) if kernel.name == "rbf" else kernel


def _tiled(X: Array, width: int, room: int, features: Any) -> Floats:
    """The features of some rows at a time; where tiles begin depends on the sizes alone."""
    out = np.empty((len(X), width))
    step = max(64, TILE // max(1, room))
    for a in range(0, len(X), step):
        out[a : a + step] = features(np.asarray(X[a : a + step], dtype=np.float64))
    return out
