"""A piece of a mini-batch: its rows brought together, through the network and back."""

from __future__ import annotations

from assay.compiled import inner
from assay.compiled.simd.networks import SHORT
from assay.loops.network.gathering import bring
from assay.loops.network.passes import backward, forward, judge


@inner
def there_and_back(  # type: ignore[no-untyped-def]
    X, d, rows, first, stop, codes, targets, c, share, real, wide, used, weights, biases, units, what, loss, bias, outputs,
    P, turned, Z, A, D, S, G, g, dropout, times, seed, batch, piece,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """The gradient of share·Σ c loss of rows rows[first … stop − 1] at G[g …]; returns (Σ c loss, Σ c [wrong]). Bare addresses; X has rows of d numbers."""
    many = stop - first
    m = -(-many // SHORT) * SHORT
    bring(X, d, rows, first, many, m, A, units[0], wide[0])
    forward(real, wide, used, weights, biases, units, what, P, Z, A, m, dropout, times, seed, batch, piece)
    total, wrong = judge(loss, outputs, wide, units, codes, targets, c, rows, first, many, share, A, D, m)
    backward(
        real, wide, used, weights, biases, units, what, turned, Z, A, D, S, G, g, m, bias, dropout, times, seed, batch, piece
    )  # fmt: skip
    return total, wrong
