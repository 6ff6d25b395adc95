"""How much memory a process has to itself.

RLIMIT_AS would be the kernel's own cap but counts addresses, not memory: the table shared with the parent, every mapped file and every
thread's stack, so that a cap low enough to bite would refuse work that needs next to nothing. So the parent looks, about 20 times a second.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

TICK = 0.05  # seconds between two looks at a process
SLIGHT = 1 << 20  # bytes that it may grow by unlooked at


def private_bytes(pid: int | str = "self") -> int | None:
    """Memory that a process has to itself, swapped out or not; None where the system does not tell.

    Pages shared with the parent since the fork, and mapped files, do not count: they cost nothing more.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return None
    own = ("Private_Clean:", "Private_Dirty:", "Swap:")
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(own))


class MemoryGauge:
    """The memory of one process, and the most that was seen. The exact count walks its pages, so it is made seldom where it is slow, and
    not again before the cheap upper bound (resident less mapped files) has grown, but at once where that is above the cap."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak = pid, 0
        self._look_at, self._bound = 0.0, 0

    def used(self, cap: int | None) -> int:
        """Bytes in use; the peak where nothing can have changed."""
        now, bound = time.monotonic(), self._resident()
        if (cap is None or bound <= cap) and (now < self._look_at or bound <= self._bound):
            return self.peak
        used = private_bytes(self.pid) or 0
        self.peak = max(self.peak, used)
        self._look_at = now + max(TICK, 20 * (time.monotonic() - now))
        self._bound = bound + SLIGHT
        return used

    def _resident(self) -> int:
        try:
            _, resident, shared = map(int, Path(f"/proc/{self.pid}/statm").read_text().split()[:3])
        except OSError:
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
