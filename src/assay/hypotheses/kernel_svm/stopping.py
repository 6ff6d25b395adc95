"""Ending a fit before its tolerance is reached: Ctrl-C, or a budget of seconds. What was found until then is kept."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.errors import ConvergenceWarning, as_seen_by_sklearn, tell

LEAST = 3  # states that every problem passes through, however late it is


class Stopping:
    """Whether to go on. Each of several problems gets its share of the seconds that are left when it begins."""

    def __init__(
        self,
        max_seconds: float | None,
        problems: int = 1,
        workers: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock, self.workers, self.waiting = clock, workers, problems
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
        return late and states >= LEAST

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


def _ours_to_handle() -> bool:
    """Signals reach the main thread alone, and a handler of somebody else's stays in place."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def warn_unfinished(model: Any, stopping: Stopping) -> None:
    """Say why the gap of a fit is above its tolerance, and what to do."""
    late = model.gap_ > model.tol
    many = f" in {int(late.sum())} of {len(late)} problems" if len(late) > 1 else ""
    if stopping.interrupted:
        why, what = "was interrupted", "Fit again, or allow a larger tol."
    elif model.max_iter != -1 and bool(np.any(model.n_iter_[late] >= model.max_iter)):
        why, what = f"stopped at max_iter={model.max_iter}", "Raise max_iter, or allow a larger tol."
    elif stopping.deadline is not None:
        why, what = f"ran out of its max_seconds={model.max_seconds:g}", "Raise max_seconds, or allow a larger tol."
    else:
        why, what = "can no longer improve", "Allow a larger tol, or standardise the columns."
    tell(
        f"{type(model).__name__}: the fit {why} at a relative gap of {model.gap_.max():.3g} (tol={model.tol:g}){many}; the best found is "
        f"kept. {what}",
        as_seen_by_sklearn(ConvergenceWarning),
    )
