"""Threads of one loop wait for each other: each raises a flag to the number of the barrier, and goes on when all flags are there.

They look a while without rest, for a batch takes a tenth of a millisecond; then they let others run between looks. A thread that fails breaks the
barrier: whoever waits for it, now or later, leaves, too.
"""

from __future__ import annotations

from assay.compiled.decorator import inner
from assay.compiled.simd.memory import load_acquire, store_release, yield_thread
from assay.numerics import Array

APART = 16  # flags, so that no two share a line of the cache
LOOKS = 20_000  # before others may run
BROKEN = -1


@inner
def barrier(flags, rank, ranks, passed):  # type: ignore[no-untyped-def]
    """Wait until all have come to one barrier more than the `passed` ones; returns how many that are, or BROKEN where a thread has failed.
    flags: the address of APART whole numbers a thread, zero at first."""
    passed += 1
    if ranks > 1:
        store_release(flags, rank * APART, passed)
        for other in range(ranks):
            looks = 0
            seen = load_acquire(flags, other * APART)
            while seen < passed:
                if seen == BROKEN:
                    store_release(flags, rank * APART, BROKEN)
                    return BROKEN
                looks += 1
                if looks > LOOKS:
                    yield_thread()
                seen = load_acquire(flags, other * APART)
    return passed


def break_barrier(flags: Array, rank: int) -> None:
    """A thread will not come any more: to be called where its loop has raised."""
    flags[rank * APART] = BROKEN
