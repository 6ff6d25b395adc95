"""Threads that wait for each other end with the first that fails."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from assay.compiled.decorator import jit
from assay.compiled.simd.memory import APART, BROKEN, barrier, break_barrier, data_pointer
from assay.engines.engine import Threads

WAIT = 60  # seconds, far more than a barrier takes


@jit
def walk(flags, rank, ranks, steps, seen):  # type: ignore[no-untyped-def]
    """Come to so many barriers; before each, add one to what is seen of this thread. The least lead of the others is returned."""
    passed, address = 0, data_pointer(flags)
    for step in range(steps):
        seen[rank, 0] += 1
        passed = barrier(address, rank, ranks, passed)
        if passed < 0:
            return passed
        for other in range(ranks):
            if seen[other, 0] <= step:
                raise ValueError("somebody was not waited for")
    return passed


def _together(ranks, run):
    """run(rank) on a thread each; what they returned or raised."""
    found = [None] * ranks

    def one(rank):
        try:
            found[rank] = run(rank)
        except Exception as error:
            found[rank] = error

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in threads)
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_nobody_passes_before_all_have_come(ranks):
    flags, seen = np.zeros(ranks * APART, dtype=np.int64), np.zeros((ranks, APART), dtype=np.int64)
    assert _together(ranks, lambda rank: walk(flags, rank, ranks, 50, seen)) == [50] * ranks


@pytest.mark.parametrize("after", [0, 3])
def test_all_leave_when_one_fails(after):
    ranks, flags = 3, np.zeros(3 * APART, dtype=np.int64)
    seen = np.zeros((ranks, APART), dtype=np.int64)

    def run(rank):
        if rank != 1:
            return walk(flags, rank, ranks, 1000, seen)
        walk(flags, rank, ranks, after, seen)
        break_barrier(flags, rank)
        raise OSError("no more")

    first, failed, last = _together(ranks, run)
    assert first == last == BROKEN
    assert isinstance(failed, OSError)


@pytest.mark.parametrize("fails", [0, 1])
def test_what_a_thread_raises_reaches_the_caller(fails):
    def run(rank):
        if rank == fails:
            raise OSError(f"thread {rank}")
        return rank

    with pytest.raises(OSError, match=f"thread {fails}"):
        Threads(2).together(run, 2)
