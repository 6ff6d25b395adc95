"""Whether threads should share the batches of a network: what the clock says of both ways, now and then asked again.

Threads that share a batch wait for each other, which is dear where other work keeps one of them from running.
"""

from __future__ import annotations

import math
from functools import lru_cache

ANEW = 32  # uses of one way after which the other is tried again
SLOWER = 1.1  # at most, by one look: the clock may have caught a moment that was not like the others


def sharing_of(work: int) -> Sharing:
    """What this process knows of batches of about so many weights times rows."""
    return _known(work.bit_length())


@lru_cache(maxsize=64)
def _known(size: int) -> Sharing:
    return Sharing()


class Sharing:
    """Seconds that a batch took alone and shared.

    >>> sharing = Sharing()
    >>> sharing.best(2)
    1
    >>> sharing.took(1, 0.5)
    >>> sharing.best(2)
    2
    >>> sharing.took(2, 0.7)
    >>> sharing.best(2)
    1
    """

    def __init__(self) -> None:
        self.seconds: dict[bool, float] = {}
        self.uses = 0

    @property
    def least(self) -> float:
        """Seconds of a batch by the better way; infinite where nothing is known yet."""
        return min(self.seconds.values(), default=math.inf)

    def best(self, most: int) -> int:
        """Threads to use of at most so many; a way not tried yet comes first, one thread before all."""
        alone, shared = self.seconds.get(False), self.seconds.get(True)
        if most == 1 or alone is None:
            return 1
        return most if shared is None or shared < alone else 1

    def took(self, threads: int, seconds: float) -> None:
        """A batch took so long."""
        way = threads > 1
        self.seconds[way] = min(seconds, SLOWER * self.seconds.get(way, math.inf))
        self.uses += 1
        if self.uses % ANEW == 0:
            self.seconds.pop(not way, None)
