"""Supervised jobs: one that is slow, greedy or crashes holds up nobody, and what is finished is never lost."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.engines.engine import engine_for, worker_count
from assay.engines.rows import ArrayRows
from assay.errors import DataError, ParameterError
from assay.processes.supervisor import Job, Outcome, run_jobs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="jobs here are closures, which only a fork can carry")


def run(jobs: list[Job], workers: int = 2, **options: object) -> dict[str, Outcome]:
    return {outcome.key: outcome for outcome in run_jobs(jobs, workers=workers, **options)}  # type: ignore[arg-type]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_every_job_has_one_outcome_with_its_value(workers):
    outcomes = run([Job(str(i), lambda emit, i=i: i * i) for i in range(7)], workers)
    assert {key: o.value for key, o in outcomes.items()} == {str(i): i * i for i in range(7)}
    assert {o.state for o in outcomes.values()} == {"done"}


class Work:
    """Work that must not be written out as text: it may hold a whole table."""

    def __call__(self, emit):
        return "done"

    def __repr__(self):
        raise AssertionError


def test_to_run_a_job_nobody_writes_out_what_it_holds():
    assert run([Job("large", Work())], 1)["large"].value == "done"


def test_a_job_that_sleeps_is_timed_out_while_the_others_finish(children_left):
    jobs = [Job("slow", lambda emit: time.sleep(60)), *(Job(str(i), lambda emit: "quick") for i in range(4))]
    outcomes = list(
        run_jobs(jobs, workers=2, timeout=5, keep=True)
    )  # the four share a process, and the slow one has its own
    assert [o.state for o in outcomes] == ["done"] * 4 + ["timeout"]
    assert "5 s" in outcomes[-1].message
    assert 5 <= outcomes[-1].seconds < 40
    assert not children_left()


def test_a_job_that_will_not_hear_sigterm_is_killed(children_left):
    def deaf(emit):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)

    assert run([Job("deaf", deaf)], timeout=0.3)["deaf"].state == "timeout"
    assert not children_left()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc")
def test_a_job_over_the_memory_cap_is_stopped():
    def greedy(emit):
        held = [np.ones(5 << 17) for _ in range(60) if time.sleep(0.01) is None]  # 60 × 5 MB
        time.sleep(5)
        return len(held)

    outcomes = run([Job("greedy", greedy), Job("modest", lambda emit: 1)], memory=100 << 20)
    assert outcomes["greedy"].state == "memory"
    assert "105 MB" in outcomes["greedy"].message
    assert outcomes["greedy"].peak_bytes > 100 << 20
    assert outcomes["modest"].state == "done"


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc")
def test_memory_shared_with_the_parent_does_not_count():
    table = np.ones(40 << 20)  # 320 MB

    def reads(emit):
        time.sleep(0.3)
        return float(table.sum())

    outcome = run([Job("reads", reads)], memory=100 << 20)["reads"]
    assert (outcome.state, outcome.value) == ("done", float(40 << 20))
    assert outcome.peak_bytes < 100 << 20


def test_a_memory_error_is_the_state_memory():
    def too_much(emit):
        raise MemoryError

    assert run([Job("m", too_much)])["m"].state == "memory"


def test_a_crash_is_an_outcome_that_names_the_signal():
    jobs = [
        Job("segfault", lambda emit: (faulthandler.disable(), ctypes.string_at(0))),
        Job("exit", lambda emit: os._exit(3)),
        Job("killed", lambda emit: os.kill(os.getpid(), signal.SIGKILL)),
        Job("fine", lambda emit: 1),
    ]
    outcomes = run(jobs)
    assert outcomes["segfault"].state == "failed"
    assert "SIGSEGV" in outcomes["segfault"].message
    assert "code 3" in outcomes["exit"].message
    assert outcomes["killed"].state == "memory"
    assert outcomes["fine"].value == 1


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_is_an_outcome_with_its_text(workers):
    def refuses(emit):
        raise DataError("Column 'a' holds text.")

    outcomes = run([Job("ours", refuses), Job("theirs", lambda emit: 1 / 0)], workers)
    assert (outcomes["ours"].state, outcomes["ours"].message) == ("failed", "Column 'a' holds text.")
    assert outcomes["theirs"].message == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("workers", [0, 2])
def test_progress_and_warnings_arrive_as_events(workers):
    heard: list[tuple[str, object]] = []

    def work(emit):
        emit(("step", 1))
        warnings.warn("be careful", UserWarning, stacklevel=1)
        emit(("step", 2))

    run([Job("a", work)], workers, on_event=lambda key, event: heard.append((key, event)))
    assert heard == [("a", ("step", 1)), ("a", ("warning", "be careful")), ("a", ("step", 2))]


def test_a_value_that_cannot_travel_fails_with_a_reason():
    outcome = run([Job("a", lambda emit: (np.ones(1000), lambda: 1))])["a"]
    assert outcome.state == "failed"
    assert "cannot be brought back" in outcome.message


def test_large_arrays_come_back_with_the_same_bits_and_can_be_written():
    big = np.random.default_rng(0).standard_normal(50 << 17)  # 50 MB
    odd = np.arange(12).reshape(3, 4)[:, ::2]
    outcome = run([Job("a", lambda emit: {"big": big, "odd": odd, "none": np.empty(0)})])["a"]
    np.testing.assert_array_equal(outcome.value["big"], big)
    np.testing.assert_array_equal(outcome.value["odd"], odd)
    assert len(outcome.value["none"]) == 0
    outcome.value["big"][0] = 1.0


def test_after_the_deadline_nothing_begins_and_nothing_goes_on():
    jobs = [Job("quick", lambda emit: 1), Job("slow", lambda emit: time.sleep(60)), Job("never", lambda emit: 2)]
    outcomes = list(run_jobs(jobs, workers=1, deadline=time.monotonic() + 0.5))
    assert {o.key: o.state for o in outcomes} == {"quick": "done", "slow": "out of time", "never": "out of time"}
    messages = {o.key: o.message for o in outcomes}
    assert "not begun" in messages["never"]
    assert "not begun" not in messages["slow"]
    here = list(run_jobs(jobs, workers=0, deadline=time.monotonic()))
    assert {o.state for o in here} == {"out of time"}


def test_no_child_is_left_when_the_caller_stops_asking(children_left):
    before = signal.getsignal(signal.SIGINT)
    outcomes = run_jobs([Job(str(i), lambda emit, i=i: time.sleep(60 * i)) for i in range(3)], workers=3)
    assert next(outcomes).key == "0"
    outcomes.close()
    assert not children_left()
    assert signal.getsignal(signal.SIGINT) is before


SCRIPT = """
    import os, sys, time
    from assay.processes.supervisor import Job, run_jobs
    def say(line):
        os.write(1, (line + "\\n").encode())  # whole lines, whoever writes at the same time
    def slow(emit):
        say(f"child {{os.getpid()}}")
        time.sleep(60)
    jobs = [Job("first", lambda emit: 41), Job("slow", slow), Job("waits", lambda emit: 1)]
    for outcome in run_jobs(jobs, workers={workers}):
        say(f"{{outcome.key}} {{outcome.state}} {{outcome.value}} {{outcome.message}}")
    say("ended")
"""


def start(workers: int) -> tuple[subprocess.Popen[str], list[str], int]:
    """A program that runs jobs, when its first one is done and its slow one at work: the lines so far and the child's number."""
    code = textwrap.dedent(SCRIPT.format(workers=workers))
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert program.stdout is not None
    lines: list[str] = []
    while not {"child", "first"} <= {line.split()[0] for line in lines}:
        lines.append(program.stdout.readline())
        assert lines[-1], f"the program ended early: {lines}"
    return program, lines, int(next(line for line in lines if line.startswith("child")).split()[1])


def is_gone(pid: int, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True  # dead; its new parent has not looked yet
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_finished_and_ends_normally(workers, number):
    program, lines, child = start(workers)
    if workers and number == signal.SIGINT:
        os.killpg(program.pid, number)  # as a terminal does it: to the children too
    else:
        program.send_signal(number)
    assert program.stdout is not None
    text = "".join(lines) + program.stdout.read()  # communicate() would miss what readline() has read ahead
    assert program.wait(20) == 0
    assert "first done 41" in text
    assert f"slow interrupted None Stopped by {number.name}." in text
    assert "waits interrupted" in text or (workers == 2 and "waits done 1" in text)
    assert text.endswith("ended\n")
    assert is_gone(child)


@pytest.mark.skipif(sys.platform != "linux", reason="children die with their parent on Linux")
def test_children_die_with_a_parent_that_is_killed():
    program, _, child = start(2)
    program.kill()
    program.communicate()
    assert is_gone(child)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_model_fitted_in_a_child_has_the_same_bits(threads):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 5))
    y = (X[:, 0] + 0.3 * rng.standard_normal(3000) > 0).astype(int)

    def fit(emit):
        model = assay.LogisticRegression().fit(X, y)
        return model.coef_, model.intercept_

    outside = fit(None)  # its loops, thread pool and BLAS are used before the fork as well
    outcomes = run([Job(str(i), fit, threads) for i in range(3)])
    for outcome in outcomes.values():
        assert outcome.state == "done", outcome.message
        np.testing.assert_array_equal(outcome.value[0], outside[0])
        np.testing.assert_array_equal(outcome.value[1], outside[1])


def test_a_child_uses_no_more_threads_than_its_job_may():
    rows = ArrayRows(np.ones((4, 1)), None, None)

    def count(emit):
        return worker_count(), worker_count(-1), engine_for(rows).workers, engine_for(rows, 7).workers

    assert run([Job("a", count, 1)])["a"].value == (1, 1, 1, 1)
    with assay.engine("threads", workers=5):
        assert run([Job("a", count, 2)])["a"].value[2:] == (2, 2)
        assert run([Job("a", count, 2)], workers=0)["a"].value[2:] == (2, 2)
        assert run([Job("a", count)])["a"].value[2:] == (5, 5)
    assert engine_for(rows, 7).workers == 7


def test_a_fork_while_the_pool_is_at_work_leaves_the_child_able_to_work():
    pool = assay.engine("threads", workers=3)
    X = np.random.default_rng(2).standard_normal((400, 400))

    def product(emit):
        return [float(np.trace(A)) for A in assay.engine("threads", workers=2).map(lambda A: A @ A, [X, X, X])]

    results = pool.map(lambda A: A @ A, iter([X] * 40))
    next(results)  # the others are being worked on now
    value = run([Job("a", product)], timeout=20)["a"].value
    assert value == product(None)
    results.close()


def test_a_process_that_is_kept_does_one_job_after_another(children_left):
    jobs = [Job(str(i), lambda emit: os.getpid()) for i in range(5)]
    assert len({outcome.value for outcome in run(jobs, 1).values()}) == 5
    kept = run(jobs, 2, keep=True)
    assert {outcome.state for outcome in kept.values()} == {"done"}
    assert len({outcome.value for outcome in kept.values()}) <= 2
    assert not children_left()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc")
def test_of_a_process_that_is_kept_each_job_counts_what_came_with_it():
    held = []
    jobs = [Job("large", lambda emit: held.append(np.ones(20 << 17))), Job("small", lambda emit: len(held))]
    outcomes = run(jobs, 1, keep=True)
    assert outcomes["small"].value == 1  # the same process
    assert outcomes["large"].peak_bytes > 20e6
    assert (outcomes["small"].peak_bytes or 0) < 10e6


def test_where_memory_has_a_cap_no_process_is_kept():
    outcomes = run([Job(str(i), lambda emit: os.getpid()) for i in range(3)], 1, keep=True, memory=1 << 30)
    assert len({outcome.value for outcome in outcomes.values()}) == 3


def test_a_kept_process_that_crashes_takes_its_own_job_alone(children_left):
    jobs = [
        Job("first", lambda emit: os.getpid()),
        Job("crash", lambda emit: os._exit(3)),
        Job("fails", lambda emit: 1 / 0),
        Job("last", lambda emit: os.getpid()),
    ]
    outcomes = run(jobs, 1, keep=True)
    assert [outcomes[job.key].state for job in jobs] == ["done", "failed", "failed", "done"]
    assert outcomes["first"].value != outcomes["last"].value
    assert not children_left()


def test_impossible_arguments_are_refused():
    with pytest.raises(ParameterError, match="-1 workers"):
        run_jobs([], workers=-1)
    with pytest.raises(ParameterError, match="same key"):
        run_jobs([Job("a", print), Job("a", print)], workers=1)
    assert list(run_jobs([], workers=2)) == []
