"""Kernel functions K(x, z) = ⟨φ(x), φ(z)⟩ in one place: what they are, which γ, and sums Σ β_i K(x_i, z) of many of them.

"Kernel" always means a kernel function here; a compiled hot loop is a *loop*.
"""

from assay.kernels.expansion import Expansion
from assay.kernels.kernel import KERNELS, Kernel
from assay.kernels.resolve import check_own_kernel, check_precomputed, resolve

__all__ = ["KERNELS", "Expansion", "Kernel", "check_own_kernel", "check_precomputed", "resolve"]
