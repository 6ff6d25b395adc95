"""How a long fit tells of itself: a line a second, with the time that is left."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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


# Ending a fit before its tolerance is reached: Ctrl-C, or a budget of seconds. What was found until then is kept.

INTERRUPTED, OUT_OF_TIME = "interrupted", "out of time"  # what the provenance of a model says of its fit
LEAST = 3  # states that every problem passes through, however late it is, unless said otherwise


class Stopping:
    """Whether to go on. Each of several problems gets its share of the seconds that are left when it begins."""

    def __init__(
        self,
        max_seconds: float | None,
        problems: int = 1,
        workers: int = 1,
        clock: Callable[[], float] = time.monotonic,
        least: int = LEAST,
    ) -> None:
        self.clock, self.workers, self.waiting, self.least = clock, workers, problems, least
        self.deadline = None if max_seconds is None else clock() + float(max_seconds)
        self.interrupted = False
        self.lock = threading.Lock()

    def begin(self) -> float | None:
        """A problem begins: the moment when its share of the time is over."""
        with self.lock:
            waiting, self.waiting = max(1, self.waiting), self.waiting - 1
        if self.deadline is None:
            return None
        now = self.clock()
        return now + max(0.0, self.deadline - now) * min(1.0, self.workers / waiting)

    def over(self, until: float | None, states: int) -> bool:
        """Whether a problem that has passed through so many states must end."""
        late = self.interrupted or (until is not None and self.clock() >= until)
        return late and states >= self.least

    @property
    def why(self) -> str | None:
        """What ended a fit that has not converged, if it was not the fit itself."""
        if self.interrupted:
            return INTERRUPTED
        return OUT_OF_TIME if self.deadline is not None and self.clock() >= self.deadline else None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within, the first Ctrl-C ends the fit with what it has, and a second one is raised as ever."""
        if not _ours_to_handle():
            yield
            return
        before = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _note(self, number: int, frame: Any) -> None:
        if self.interrupted:
            signal.default_int_handler(number, frame)
        self.interrupted = True


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Within, Ctrl-C is raised whatever is fitted: half a fit on the way to something else is worth nothing."""
    if not _ours_to_handle():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: signal.default_int_handler(number, frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ours_to_handle() -> bool:
    """Signals reach the main thread alone, and a handler of somebody else's stays in place."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
