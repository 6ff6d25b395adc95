"""Densities of counts.

poisson: each column counts on its own, with a rate a class.

    p(x_j | k) = λ_kj^x_j e^(−λ_kj) / x_j!             λ_kj = (S_kj + α) / (N_kj + α)

multinomial: the multinomial columns of a row are draws from one urn a class (words of a text).

    p(x | k) ∝ Π_j θ_kj^x_j                            θ_kj = (S_kj + α_j) / Σ_j (S_kj + α_j)

N counts the values present, S is their sum; α = 0 is maximum likelihood. For poisson, α stands for that many further rows
with a count of one.
"""

from __future__ import annotations

import numpy as np

from assay.hypotheses.densities.linear import Linear
from assay.hypotheses.densities.part import Part
from assay.hypotheses.densities.sums import Sums, absorb_sums
from assay.numerics import Array, Floats, safe_log


def absorb_poisson(part: Part) -> Sums:
    """N and S of a block of whole numbers."""
    found = absorb_sums(part)
    if found.low < 0 or found.rest != 0:
        refuse_fractions(part)
    return found.sums


def absorb_multinomial(part: Part) -> Sums:
    """N and S of a block; counts may be fractions (tf-idf), but not negative."""
    found = absorb_sums(part)
    if found.low < 0 or not np.isfinite(found.rest):
        refuse_negative(part)
    if not np.isfinite(found.sums.total).all():
        part.refuse_overflow()
    return found.sums


def refuse_negative(part: Part) -> None:
    """Raise where a count is infinite or negative."""
    part.refuse_infinite()
    part.refuse_where(
        part.values < 0,
        "Negative values in data passed to a density of counts",
        "Counts cannot be negative: use gaussian for such a column.",
    )


def refuse_fractions(part: Part) -> None:
    """Raise where a count is infinite, negative or not whole."""
    refuse_negative(part)
    part.refuse_where(
        ~np.isnan(part.values) & (np.floor(part.values) != part.values),
        "A poisson column holds something other than whole numbers",
        "Give another density for it (gaussian, or multinomial for weighted counts).",
    )


def estimate_poisson(s: Sums, alpha: Array) -> Floats:
    """λ_kj; a rate without any evidence is 1."""
    n = s.n + alpha
    rate: Floats = np.divide(s.total + alpha, n, out=np.ones_like(n), where=n > 0)
    return rate


def estimate_multinomial(s: Sums, alpha: Array) -> Floats:
    """θ_kj; a class without any count is uniform."""
    smoothed = s.total + alpha
    total = smoothed.sum(axis=1, keepdims=True)
    uniform = np.full_like(smoothed, 1 / max(1, smoothed.shape[1]))
    theta: Floats = np.divide(smoothed, total, out=uniform, where=total > 0)
    return theta


def poisson_density(rate: Floats) -> Linear:
    """log p(x | k) = Σ x log λ − λ, without log x!."""
    return Linear.of(safe_log(rate), -rate, whole=True)


def multinomial_density(theta: Floats) -> Linear:
    """log p(x | k) = Σ x log θ, without the number of orders."""
    return Linear.of(safe_log(theta), np.zeros_like(theta))
