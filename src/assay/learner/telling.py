"""How a long fit tells of itself: a line a second, with the time that is left."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

EVERY = 1.0  # seconds between two lines

Say = Callable[[str], None]


def to_stderr(line: str) -> None:
    """Where lines go unless somebody listens."""
    print(line, file=sys.stderr, flush=True)


def time_left(seconds: float) -> str:
    """In words; NaN: nothing can be said yet, infinity: it will not end.

    >>> time_left(12.3)
    'about 12 s left'
    """
    if math.isnan(seconds):
        return "time left not known yet"
    return "no end in sight" if math.isinf(seconds) else f"about {seconds:.0f} s left"
