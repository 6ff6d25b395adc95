"""A child at work as its parent sees it: what it has sent, what it uses, and how it is stopped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.select.child import Event, Finish, Value, private_bytes, run_child
from assay.select.messages import Inbox, widen

TICK = 0.05  # seconds between two looks at the children
GRACE = 1.0  # seconds from SIGTERM to SIGKILL
SLIGHT = 1 << 20  # bytes that a child may grow by unlooked at
HOMEWARD = 5.0  # seconds that a finished value has to arrive once everything is to stop

OnEvent = Callable[[str, Any], None]


@dataclass(frozen=True)
class Task:
    """A piece of work under a name. `work(tell)` may call tell(event) as it goes on; `threads` is how many it may use."""

    key: str
    work: Callable[[Callable[[Any], None]], Any]
    threads: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How a task ended: "done", "failed", "timeout", "memory", "interrupted" or "out of time", and why.

    `peak_bytes` is the most memory seen that the task had to itself; None where it was not measured.
    """

    key: str
    state: str
    value: Any = None
    message: str = ""
    seconds: float = 0.0
    peak_bytes: int | None = None


class Running:
    """A child at work."""

    def __init__(self, task: Task) -> None:
        fork = "fork" in multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("fork" if fork else "spawn")
        self.pipe, far_end = context.Pipe(duplex=False)
        widen(self.pipe.fileno())
        self.key, self.began = task.key, time.monotonic()
        self.process = context.Process(
            target=run_child, args=(task.work, far_end, task.threads, os.getpid()), daemon=True
        )
        try:
            with warnings.catch_warnings():  # Python warns of any thread beside a fork; see isolation.py
                warnings.simplefilter("ignore", DeprecationWarning)
                self.process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            far_end.close()
        self.inbox = Inbox(self.pipe.fileno())
        self.finish: Finish | None = None
        self.value: Value | None = None
        self.sentence: tuple[str, str] | None = None  # the state and message that it is being stopped for
        self.kill_at = float("inf")
        self.peak = 0
        self._look_at, self._bound = self.began, 0

    def receive(self, on_event: OnEvent) -> None:
        """Take what the child has sent so far."""
        for message in self.inbox.read():
            if isinstance(message, Event):
                on_event(self.key, message.content)
            elif isinstance(message, Finish):
                self.finish = message
            else:
                self.value = message

    def stop(self, state: str, message: str) -> None:
        """End a child that is still at work; one that is finished gets the time to bring its value home."""
        if self.sentence is None:
            self.sentence = state, message
            self.kill_at = time.monotonic() + (GRACE if self.finish is None else HOMEWARD)
            if self.finish is None:
                self.process.terminate()

    def look(self, timeout: float | None, memory: int | None) -> None:
        """Hold the child to its limits."""
        now = time.monotonic()
        if now > self.kill_at:
            self.process.kill()
        elif self.finish is None and self.sentence is None:
            if timeout is not None and now - self.began > timeout:
                self.stop("timeout", f"It took longer than the {timeout:g} s that a fit may take.")
            elif memory is not None and self._used(now, memory) > memory:
                used = f"{self.peak / 1e6:.0f} MB"
                self.stop(
                    "memory", f"It used {used} of memory, more than the {memory / 1e6:.0f} MB that a fit may take."
                )
            elif memory is None:
                self._used(now, None)

    def _used(self, now: float, memory: int | None) -> int:
        """The memory that the child has to itself. The exact count walks its pages, so it is made seldom where it is slow, and not
        again before the cheap upper bound (resident less mapped files) has grown, but at once where that is above the cap."""
        bound = self._resident()
        if (memory is None or bound <= memory) and (now < self._look_at or bound <= self._bound):
            return self.peak
        used = private_bytes(self.process.pid) or 0
        self.peak = max(self.peak, used)
        self._look_at = now + max(TICK, 20 * (time.monotonic() - now))
        self._bound = bound + SLIGHT
        return used

    def _resident(self) -> int:
        try:
            _, resident, shared = map(int, Path(f"/proc/{self.process.pid}/statm").read_text().split()[:3])
        except OSError:
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    @property
    def ended(self) -> bool:
        """Whether nothing more can come: all is there, or the child is gone."""
        answered = self.value is not None or (self.finish is not None and self.finish.state != "done")
        return answered or self.inbox.closed or self.process.exitcode is not None

    def outcome(self, on_event: OnEvent) -> Outcome:
        """Let the child go and say how it ended."""
        if self.process.exitcode is not None:
            self.receive(on_event)  # a dead child's pipe may hold what it wrote last
        self.leave(GRACE)
        seconds = time.monotonic() - self.began if self.finish is None else self.finish.seconds
        peak = max(self.peak, 0 if self.finish is None else self.finish.peak_bytes) or None
        if self.finish is not None and (self.finish.state != "done" or self.value is not None):
            value = None if self.value is None else self.value.content
            return Outcome(self.key, self.finish.state, value, self.finish.message, seconds, peak)
        state, message = self.sentence or _crash(self.process.exitcode)
        return Outcome(self.key, state, None, message, seconds, peak)

    def leave(self, grace: float) -> None:
        """Close the pipe and wait until the child is gone, killed if need be: no zombie stays."""
        self.pipe.close()
        self.process.join(grace)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


def _crash(exitcode: int | None) -> tuple[str, str]:
    """The state and message for a child that ended without a word."""
    if exitcode == -signal.SIGKILL:
        return "memory", "Its process was killed from outside, most likely because the machine ran out of memory."
    if exitcode is not None and exitcode < 0:
        name = next((known.name for known in signal.Signals if known == -exitcode), f"signal {-exitcode}")
        return "failed", f"Its process crashed ({name})."
    return "failed", f"Its process ended with code {exitcode} before the fit was done."
