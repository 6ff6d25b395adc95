"""Progress of a long fit: iteration, gap, support rows, and how long it may still take.

The gap of a working-set method falls about exponentially: log gap is extrapolated along its later half, on its lower envelope.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np

from assay.estimator.progress import EVERY, Say, time_left, to_stderr
from assay.families.kernel.svm.dual import DualState

FEW = 3  # states from which on anything is foretold


def seconds_left(times: list[float], gaps: list[float], tol: float) -> float:
    """How long until the gap is ≤ tol; infinity where it does not fall, NaN where nothing can be said yet.

    >>> round(seconds_left([0.0, 1.0, 2.0, 3.0], [1.0, 0.1, 0.01, 0.001], 1e-5), 6)
    2.0
    """
    usable = [(t, g) for t, g in zip(times, gaps) if 0 < g < math.inf]
    if len(usable) < FEW:
        return math.nan
    t = np.array([u[0] for u in usable])
    lowest = np.minimum.accumulate(np.log([u[1] for u in usable]))
    if lowest[-1] <= math.log(tol):
        return 0.0
    half = int(np.searchsorted(t, 0.5 * (t[0] + t[-1])))
    half = min(half, len(t) - 2)
    fall, spent = lowest[half] - lowest[-1], t[-1] - t[half]
    return float((lowest[-1] - math.log(tol)) * spent / fall) if fall > 0 else math.inf


class SolverProgress:
    """Records every state of every problem, and emits a line a second."""

    def __init__(self, problems: int, tol: float, say: Say | None = None, clock: Callable[[], float] = time.monotonic):
        self.problems, self.tol, self.clock = problems, tol, clock
        self.emit: Say = say or to_stderr
        self.done = 0
        self.began = self.last = clock()
        self.gaps: dict[int, tuple[list[float], list[float]]] = {}
        self.lock = threading.Lock()

    def record(self, problem: int, state: DualState) -> None:
        """A solver passed through a state."""
        with self.lock:
            now = self.clock()
            times, gaps = self.gaps.setdefault(problem, ([], []))
            times.append(now)
            gaps.append(state.gap)
            if now - self.last >= EVERY:
                self.last = now
                self.emit(self._line(problem, state))

    def ended(self, problem: int) -> None:
        """A problem is solved, or given up."""
        with self.lock:
            self.done += 1
            self.gaps.pop(problem, None)

    def _line(self, problem: int, state: DualState) -> str:
        which = f"problem {problem + 1} of {self.problems}, " if self.problems > 1 else ""
        support = int(np.count_nonzero(state.alpha))
        return f"{which}iteration {state.number}: gap {state.gap:.2e} (tol {self.tol:g}), {support} support rows, {self._left(problem)}"

    def _left(self, problem: int) -> str:
        """Of one problem by its gap, of many by those that are done."""
        if self.problems > 1:
            spent = self.clock() - self.began
            left = spent * (self.problems - self.done) / self.done if self.done else math.nan
        else:
            left = seconds_left(*self.gaps[problem], self.tol)
        return time_left(left)
