"""Fits that cannot hold up the rest: each in a process of its own, watched for time and memory.

A child is forked, so that it sees the table that its parent has in memory without a copy; only its answer travels, through
a pipe. The memory cap is on what the child has to itself (`private_bytes`), looked at about 20 times a second.
RLIMIT_AS would be the kernel's own cap but counts addresses, not memory: the shared table, every mapped file and every
thread's stack, so that a cap low enough to bite would refuse work that needs next to nothing.

Forking beside threads is safe as long as these hold no lock: the engines' pools are idle while `run_tasks` is at work, and
what they keep is made anew in the child (`os.register_at_fork` in engines/).
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait
from typing import Any

from assay.errors import ParameterError, warn
from assay.select.child import attempt, private_bytes
from assay.select.running import TICK, OnEvent, Outcome, Running, Task

__all__ = ["Outcome", "Task", "run_tasks"]


def run_tasks(
    tasks: Sequence[Task],
    *,
    workers: int,
    timeout: float | None = None,
    memory: int | None = None,
    deadline: float | None = None,
    on_event: OnEvent | None = None,
) -> Iterator[Outcome]:
    """The outcome of every task, as they finish; at most `workers` run at a time.

    A task may take `timeout` seconds and `memory` bytes. At `deadline` (of time.monotonic) running tasks are stopped and no
    more begin: "out of time". Ctrl-C or SIGTERM stops all: what is finished is yielded, the rest as "interrupted", and the
    iterator ends normally; a second Ctrl-C does what it always does. Warnings arrive as the event ("warning", text).
    Limits are watched while the iterator is being asked. `workers=0` runs the tasks here, one after another: an
    error is an outcome as well, but nothing is stopped from outside, neither for time nor for memory.
    """
    if workers < 0:
        raise ParameterError(f"{workers} workers are not possible: give 0 (in this process) or more.")
    if len({task.key for task in tasks}) < len(tasks):
        raise ParameterError("Two tasks have the same key: give each its own, the outcomes go by it.")
    if memory is not None and workers and private_bytes() is None:
        warn("The memory cap is not watched: this system does not tell how much memory a process uses.", UserWarning)
    if workers == 0:
        return _run_here(tasks, deadline, on_event or _nothing)
    return _Watch(tasks, workers, timeout, memory, deadline, on_event or _nothing).outcomes()


def _nothing(key: str, event: Any) -> None:
    """For a caller who does not listen."""


def _out_of_time(key: str, seconds: float = 0.0) -> Outcome:
    return Outcome(key, "out of time", None, "The time for the whole run was up.", seconds)


def _run_here(tasks: Sequence[Task], deadline: float | None, on_event: OnEvent) -> Iterator[Outcome]:
    stopped = ""
    for task in tasks:
        if stopped:
            yield Outcome(task.key, "interrupted", None, stopped)
            continue
        if deadline is not None and time.monotonic() >= deadline:
            yield _out_of_time(task.key)
            continue
        began = time.monotonic()
        try:
            with _sigterm_as_interrupt():
                finish, value = attempt(task.work, partial(on_event, task.key), task.threads)
            outcome = Outcome(task.key, finish.state, value, finish.message, finish.seconds)
        except KeyboardInterrupt as interrupt:
            stopped = f"Stopped by {interrupt}." if str(interrupt) else "Stopped by SIGINT."
            outcome = Outcome(task.key, "interrupted", None, stopped, time.monotonic() - began)
        yield outcome


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    def handler(number: int, frame: Any) -> None:
        raise KeyboardInterrupt("SIGTERM")

    with _handlers({signal.SIGTERM: handler}):
        yield


@contextmanager
def _handlers(wanted: dict[int, Callable[[int, Any], None]]) -> Iterator[dict[int, Any]]:
    """Within, these signals are handled so, unless they are ignored or this is not the main thread; yields those before."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number, handler in wanted.items():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield before
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Watch:
    """All tasks of one run: those that wait, those at work, and what stops them."""

    def __init__(
        self,
        tasks: Sequence[Task],
        workers: int,
        timeout: float | None,
        memory: int | None,
        deadline: float | None,
        on_event: OnEvent,
    ) -> None:
        self.waiting = deque(tasks)
        self.running: list[Running] = []
        self.workers, self.timeout, self.memory, self.deadline = workers, timeout, memory, deadline
        self.on_event = on_event
        self.stopped_by: int | None = None

    def outcomes(self) -> Iterator[Outcome]:
        with _handlers({signal.SIGINT: self._on_signal, signal.SIGTERM: self._on_signal}) as self.before:
            try:
                while self.waiting or self.running:
                    yield from self._begin()
                    if self.running:
                        wait([child.pipe for child in self.running], TICK)
                    for child in self.running:
                        child.receive(self.on_event)
                        child.look(self.timeout, self.memory)
                    yield from self._take_ended()
            finally:  # all have ended, unless the caller stopped asking or an error came up
                for child in self.running:
                    child.process.kill()
                for child in self.running:
                    child.leave(0.0)

    def _on_signal(self, number: int, frame: Any) -> None:
        """Once: remember, so that no outcome is lost half-way. Twice: as if we were not here."""
        if self.stopped_by is None:
            self.stopped_by = number
        elif callable(self.before[number]):
            self.before[number](number, frame)
        else:
            raise KeyboardInterrupt

    def _begin(self) -> Iterator[Outcome]:
        """Begin waiting tasks, or turn them away and stop those at work where the run is to end."""
        verdict = self._verdict()
        if verdict is not None:
            for child in self.running:
                child.stop(*verdict)
            while self.waiting:
                yield Outcome(self.waiting.popleft().key, verdict[0], None, verdict[1])
        while self.waiting and len(self.running) < self.workers:
            task = self.waiting.popleft()
            try:
                self.running.append(Running(task))
            except (
                OSError,
                AssertionError,
                AttributeError,
                TypeError,
            ) as error:  # none to be had; not picklable (spawn)
                yield Outcome(task.key, "failed", None, f"No process could be started for it ({error}).")

    def _verdict(self) -> tuple[str, str] | None:
        if self.stopped_by is not None:
            return "interrupted", f"Stopped by {signal.Signals(self.stopped_by).name}."
        if self.deadline is not None and time.monotonic() >= self.deadline:
            late = _out_of_time("")
            return late.state, late.message
        return None

    def _take_ended(self) -> Iterator[Outcome]:
        for child in [child for child in self.running if child.ended]:
            outcome = child.outcome(self.on_event)
            self.running.remove(child)
            yield outcome
