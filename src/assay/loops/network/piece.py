"""A piece of a mini-batch: its rows brought together, through the network and back."""

from __future__ import annotations

from assay.compiled import inner
from assay.compiled.simd.networks import SHORT
from assay.loops.network.gathering import bring
from assay.loops.network.passes import backward, forward, judge


@inner
def there_and_back(net, units, examples, first, stop, share, weights, work, g, dropout):  # type: ignore[no-untyped-def]
    """The gradient of share·Σ c loss of rows rows[first … stop − 1] at G[g …]; returns (Σ c loss, Σ c [wrong]). All tuples hold addresses, see `passes`."""
    many = stop - first
    m = -(-many // SHORT) * SHORT
    bring(examples.X, examples.d, examples.rows, first, many, m, work.A, units[0], net.wide[0])
    forward(net, units, weights.P, work, m, dropout)
    total, wrong = judge(net, units, examples, first, many, share, work, m)
    backward(net, units, weights.turned, work, g, m, dropout)
    return total, wrong
