"""Jobs that cannot hold up each other: each in a process of its own, watched for time and memory; only its answer travels.

RLIMIT_AS would be the kernel's own cap on memory but counts addresses: the table shared with the parent, every mapped file and every
thread's stack, so that a cap low enough to bite would refuse work that needs next to nothing. So the parent measures, about 20 times a
second, what a child has to itself.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from pickle import PicklingError
from typing import Any

from assay.engines.engine import Engine, in_force, thread_limit, worker_count
from assay.errors import ParameterError, warn
from assay.processes.child import (
    Emit,
    Emitter,
    Event,
    Finish,
    attempt,
    is_of_script,
    receive,
    send,
    start,
    start_method,
)

GRACE = 1.0  # seconds from SIGTERM to SIGKILL
TICK = 0.05  # seconds between two measurements of a process
SELDOM = 0.5  # seconds between two counts of a process that may take any memory: one takes 10 ms
SLIGHT = 1 << 20  # bytes that it may grow by unmeasured
TIME_IS_UP = ("out of time", "The time for the whole run was up.")
NOT_SENT = (
    "It cannot be sent to a process of its own ({}): define what it is made of in a module, or ask for workers=0."
)
NOT_BEGUN = "It was not begun, for the time for the whole run was up."

OnEvent = Callable[[str, Any], None]
OnSignal = Callable[[int, Any], None]


@dataclass(frozen=True)
class Job:
    """A piece of work under a name. `work(emit)` may call emit(event) as it goes on; `threads` is how many it may use."""

    key: str
    work: Callable[[Emit], Any]
    threads: int | None = None

    def __call__(self, emit: Emit) -> Any:
        """Do the work; a warning that the filters let through becomes the event ("warning", text)."""
        with thread_limit(self.threads) if self.threads else nullcontext(), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: emit(("warning", str(message)))
            return self.work(emit)


@dataclass(frozen=True)
class Outcome:
    """How a job ended: "done", "failed", "timeout", "memory", "interrupted" or "out of time", and why.

    `peak_bytes` is the most memory measured that the job had to itself; None where it was not measured.
    """

    key: str
    state: str
    value: Any = None
    message: str = ""
    seconds: float = 0.0
    peak_bytes: int | None = None


def run_jobs(
    jobs: Sequence[Job],
    *,
    workers: int,
    timeout: float | None = None,
    memory: int | None = None,
    deadline: float | None = None,
    keep: bool = False,
    on_event: OnEvent = lambda key, event: None,
) -> Iterator[Outcome]:
    """The outcome of every job, as they finish; at most `workers` run at a time.

    A job may take `timeout` seconds and `memory` bytes. At `deadline` (of time.monotonic) running jobs are stopped and no
    more begin: "out of time". Ctrl-C or SIGTERM stops all: what is finished is yielded, the rest as "interrupted", and the
    iterator ends normally; a second Ctrl-C does what it always does. Limits are watched while the iterator is being asked.
    `workers=0` runs the jobs here, one after another: an error is an outcome as well, but nothing is stopped from outside,
    neither for time nor for memory.
    `keep`: a process that has done a job takes the next one, where it was forked and memory has no cap: small jobs would take longer to load
    what they need than to do their work. One that is stopped or crashes is lost to its own job alone, and the next one has a new process.
    """
    if workers < 0:
        raise ParameterError(f"{workers} workers are not possible: give 0 (in this process) or more.")
    if len({job.key for job in jobs}) < len(jobs):
        raise ParameterError("Two jobs have the same key: give each its own, the outcomes go by it.")
    if memory is not None and workers and private_bytes() is None:
        warn("The memory cap is not watched: this system does not tell how much memory a process uses.", UserWarning)
    keep = keep and memory is None and start_method() == "fork"
    supervisor = Supervisor(jobs, timeout, memory, deadline, on_event, keep)
    return supervisor.outcomes(workers) if workers else supervisor.outcomes_here()


class JobProcess:
    """A child at work on a job: what it has sent, what it uses, and how it is stopped. Afterwards it may take one of the `others`."""

    def __init__(self, job: Job, others: Sequence[Job] = ()) -> None:
        self._begins(job)
        self.connection, far_end = Pipe()
        try:
            self.process = (
                start(_do, job, others, far_end)
                if start_method() == "fork"
                else _spawned(job, far_end, self.connection)
            )
        except BaseException:
            self.connection.close()
            raise
        finally:
            far_end.close()
        self.memory, self.before = MemoryGauge(self.process.pid), 0

    def _begins(self, job: Job) -> None:
        self.key, self.began = job.key, time.monotonic()
        self.finish: Finish | None = None
        self.verdict: tuple[str, str] | None = None  # the state and message that it is being stopped for
        self.kill_at = float("inf")

    def take(self, job: Job) -> None:
        """Give it another job."""
        self._begins(job)
        with suppress(OSError):  # it is gone already, which is seen as soon as it is asked
            send(self.connection, job.key)

    def receive(self, on_event: OnEvent) -> None:
        """Take what the child has sent so far."""
        while self.finish is None and (message := self._next()) is not None:
            if isinstance(message, Event):
                on_event(self.key, message.content)
            else:
                self.finish = message

    def _next(self) -> Any:
        try:
            if self.connection.poll():
                return receive(self.connection)
        except (EOFError, OSError):  # the child has closed its end: it has crashed, or was stopped
            self.leave(GRACE)
        return None

    def stop(self, state: str, message: str) -> None:
        """End a child that is still at work."""
        if self.verdict is None:
            self.verdict, self.kill_at = (state, message), time.monotonic() + GRACE
            self.process.terminate()

    def enforce(self, timeout: float | None, memory: int | None) -> None:
        """Hold the child to its limits."""
        now = time.monotonic()
        if now > self.kill_at:
            self.process.kill()
        elif self.verdict is None and not self.ended:
            used = self.memory.used(memory)
            if timeout is not None and now - self.began > timeout:
                self.stop("timeout", f"It took longer than the {timeout:g} s that a fit may take.")
            elif memory is not None and used > memory:
                peak, cap = f"{self.memory.peak / 1e6:.0f} MB", f"{memory / 1e6:.0f} MB"
                self.stop("memory", f"It used {peak} of memory, more than the {cap} that a fit may take.")

    @property
    def ended(self) -> bool:
        return self.finish is not None or self.process.exitcode is not None

    @property
    def can_go_on(self) -> bool:
        """Whether it has done its job and nothing is to stop it."""
        done = self.finish is not None and self.finish.state != "memory"
        return done and self.verdict is None and self.process.exitcode is None

    def outcome(self, on_event: OnEvent, keep: bool = False) -> Outcome:
        """Say how the job ended, and let the child go unless it is kept for another one and can go on."""
        self.receive(on_event)  # a dead child's connection may hold what it wrote last
        if not (keep and self.can_go_on):
            self.leave(GRACE)
        if self.finish is not None:
            state, message, seconds, value, _, held = self.finish
            peak = max(self.memory.peak, held) - self.before
            self.memory, self.before = MemoryGauge(self.process.pid, held), held
            return Outcome(self.key, state, value, message, seconds, max(peak, 0) or None)
        state, message = self.verdict or _crash(self.process.exitcode)
        peak = self.memory.peak - self.before
        return Outcome(self.key, state, None, message, time.monotonic() - self.began, max(peak, 0) or None)

    def leave(self, grace: float) -> None:
        """Close the connection and wait until the child is gone, killed if need be: no zombie stays."""
        with suppress(OSError):  # closing alone is not seen by it as long as a younger child has this end, too
            send(self.connection, None)
        self.connection.close()
        self.process.join(grace)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


@dataclass(frozen=True)
class Surroundings:
    """What work is done under, for a child that does not inherit it: the engine in force, threads at most, and which warnings are told."""

    engine: tuple[type[Engine], int | None] | None
    threads: int
    filters: list[Any]

    @classmethod
    def here(cls) -> Surroundings:
        chosen = in_force()
        engine = None if chosen is None else (type(chosen), chosen.workers)
        return cls(engine, worker_count(), list(warnings.filters))

    @contextmanager
    def around(self) -> Iterator[None]:
        warnings.filters[:] = self.filters  # type: ignore[index]
        with self.engine[0](self.engine[1]) if self.engine else nullcontext(), thread_limit(self.threads):  # type: ignore[call-arg]
            yield


def _spawned(job: Job, home: Connection, child: Connection) -> Any:
    """A child that is sent everything."""
    process = start(_do_what_is_sent, home, script=is_of_script(job))
    try:
        home.close()  # or nobody would notice that it has ended before all was sent
        send(child, (job, Surroundings.here()))
    except BaseException:
        process.kill()
        process.join()
        raise
    return process


def _do_what_is_sent(home: Connection) -> None:
    job, surroundings = receive(home)
    with surroundings.around():
        _do(job, (), home)


def _do(job: Job, others: Sequence[Job], home: Connection) -> None:
    """The life of a child: a job and, where there are others, those of them that it is given, until there is none."""
    _do_one(job, home)
    known = {other.key: other for other in others}
    while known and (key := receive(home)) is not None:
        _do_one(known[key], home)


def _do_one(job: Job, home: Connection) -> None:
    emitter = Emitter(home)
    emitter.finish(attempt(job, emitter)._replace(peak_bytes=private_bytes() or 0))


def _crash(exitcode: int | None) -> tuple[str, str]:
    """The state and message for a child that ended without a word."""
    if exitcode == -getattr(signal, "SIGKILL", 9):  # which Windows does not know
        return "memory", "Its process was killed from outside, most likely because the machine ran out of memory."
    if exitcode is not None and exitcode < 0:
        name = next((known.name for known in signal.Signals if known == -exitcode), f"signal {-exitcode}")
        return "failed", f"Its process crashed ({name})."
    return "failed", f"Its process ended with code {exitcode} before the fit was done."


@dataclass(repr=False)
class Supervisor:
    """All jobs of one run: those that wait, those at work, and what stops them.

    Without a text of its own: Python's `signal` asks for that of a handler that is a method, and all jobs have large arrays.
    """

    jobs: Sequence[Job]
    timeout: float | None
    memory: int | None
    deadline: float | None
    on_event: OnEvent
    keep: bool = False
    stopped_by: str = ""

    def __post_init__(self) -> None:
        self.waiting, self.running, self.spare = deque(self.jobs), list[JobProcess](), list[JobProcess]()

    def outcomes(self, workers: int) -> Iterator[Outcome]:
        """Each job in a process of its own."""
        with _handled(self._on_signal, signal.SIGINT, signal.SIGTERM) as self.before:
            try:
                while self.waiting or self.running:
                    yield from self._turned_away()
                    yield from self._begin(workers)
                    wait([child.connection for child in self.running], TICK)
                    for child in self.running:
                        child.receive(self.on_event)
                        child.enforce(self.timeout, self.memory)
                    for child in [child for child in self.running if child.ended]:
                        outcome = child.outcome(self.on_event, self.keep and bool(self.waiting))
                        self.running.remove(child)
                        if not child.connection.closed:
                            self.spare.append(child)
                        yield outcome
            finally:  # all have ended, unless the caller stopped asking or an error came up
                for child in (*self.running, *self.spare):
                    child.process.kill()
                for child in (*self.running, *self.spare):
                    child.leave(0.0)

    def outcomes_here(self) -> Iterator[Outcome]:
        """One job after another in this process."""
        while self.waiting:
            yield from self._turned_away()
            if self.waiting:
                yield self._done_here(self.waiting.popleft())

    def _done_here(self, job: Job) -> Outcome:
        began = time.monotonic()
        try:
            with _handled(_interrupt, signal.SIGTERM):
                finish = attempt(job, partial(self.on_event, job.key))
            return Outcome(job.key, finish.state, finish.value, finish.message, finish.seconds)
        except KeyboardInterrupt as interrupt:
            self.stopped_by = str(interrupt) or "SIGINT"
            return Outcome(job.key, "interrupted", None, f"Stopped by {self.stopped_by}.", time.monotonic() - began)

    def _on_signal(self, number: int, frame: Any) -> None:
        """Once: remember, so that no outcome is lost half-way. Twice: as if we were not here."""
        if not self.stopped_by:
            self.stopped_by = signal.Signals(number).name
        elif callable(self.before[number]):
            self.before[number](number, frame)
        else:
            raise KeyboardInterrupt

    def _turned_away(self) -> Iterator[Outcome]:
        """Where the run is to end: stop the jobs at work, and begin none of those that wait."""
        if self.stopped_by:
            verdict = "interrupted", f"Stopped by {self.stopped_by}."
        elif self.deadline is not None and time.monotonic() >= self.deadline:
            verdict = TIME_IS_UP
        else:
            return
        for child in self.running:
            child.stop(*verdict)
        why = verdict[1] if self.stopped_by else NOT_BEGUN
        while self.waiting:
            yield Outcome(self.waiting.popleft().key, verdict[0], None, why)

    def _begin(self, workers: int) -> Iterator[Outcome]:
        while self.waiting and len(self.running) < workers:
            job = self.waiting.popleft()
            try:
                self.running.append(self._at_work_on(job))
            except (OSError, AssertionError) as error:  # none to be had
                yield Outcome(job.key, "failed", None, f"No process could be started for it ({error}).")
            except (PicklingError, AttributeError, TypeError) as error:  # of a process that is spawned
                yield Outcome(job.key, "failed", None, NOT_SENT.format(error))

    def _at_work_on(self, job: Job) -> JobProcess:
        """A child that has begun with a job: one that is kept, else a new one."""
        alive = [child for child in self.spare if child.process.exitcode is None]
        self.spare = alive[1:]
        if not alive:
            return JobProcess(job, tuple(self.waiting) if self.keep else ())
        alive[0].take(job)
        return alive[0]


@contextmanager
def _handled(handler: OnSignal, *numbers: int) -> Iterator[dict[int, Any]]:
    """Within, these signals are handled so, unless they are ignored or this is not the main thread; yields those before."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, handler)
    try:
        yield before
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


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
    """The memory of one process, and the most that was measured. The exact count walks its pages, so it is made seldom where it is slow, and
    not again before the cheap upper bound (resident less mapped files) has grown, but at once where that is above the cap."""

    def __init__(self, pid: int, peak: int = 0) -> None:
        self.pid, self.peak = pid, peak
        self._began, self._next_count, self._bound = time.monotonic(), 0.0, 0

    def used(self, cap: int | None) -> int:
        """Bytes in use; the peak where nothing can have changed."""
        now, often = time.monotonic(), SELDOM if cap is None else TICK
        if cap is None and now < max(self._next_count, self._began + often):
            return self.peak
        bound = self._resident()
        if (cap is None or bound <= cap) and (now < self._next_count or bound <= self._bound):
            return self.peak
        used = private_bytes(self.pid) or 0
        self.peak = max(self.peak, used)
        self._next_count = now + max(often, 20 * (time.monotonic() - now))
        self._bound = bound + SLIGHT
        return used

    def _resident(self) -> int:
        try:
            _, resident, shared = map(int, Path(f"/proc/{self.pid}/statm").read_text().split()[:3])
        except OSError:
            return 0
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
