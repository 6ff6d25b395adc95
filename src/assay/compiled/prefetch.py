"""Ask memory for what a loop will need soon.

Measured on 500 000×50 doubles, two threads: hash and moments in one pass take 17 ms without and 11.5 ms with it, where
reading alone takes 8.5 ms: the work between two rows keeps the hardware's own prefetcher from running far enough ahead.
"""

from __future__ import annotations

from assay.compiled.decorator import jit
from assay.compiled.simd.memory import prefetch


@jit(inline="always")
def prefetch_rows(flat, first, count, stride):  # type: ignore[no-untyped-def]
    """Start loading `count` numbers of a flat array from `first` on; `stride` numbers fill a cache line."""
    stop = min(first + count, flat.shape[0])
    for i in range(first, stop, stride):
        prefetch(flat, i)
