"""Nothing needs what Linux alone has: without fork, process groups, file locks of POSIX, and signals and pipes in the event loop, and where
what is open can be neither moved nor removed, comparisons, service and studio do the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from studio_client import Client, ask, two_classes

import assay
from assay.errors import ParameterError
from assay.processes.child import start_method

POORER = """
import asyncio, builtins, os, signal, _signal

LACKING = {
    os: "fork forkpty register_at_fork killpg setpgid setsid sched_getaffinity nice geteuid getuid mkfifo".split(),
    signal: "pthread_sigmask setitimer SIGALRM SIGUSR1 SIGHUP SIGQUIT SIGPIPE".split(),
    _signal: "pthread_sigmask setitimer SIGALRM".split(),
}
for module, names in LACKING.items():
    for name in names:
        delattr(module, name)

def not_here(*_):
    raise NotImplementedError

for name in ("add_reader", "remove_reader", "add_signal_handler", "remove_signal_handler"):
    setattr(asyncio.SelectorEventLoop, name, not_here)

plain = builtins.__import__

def imported(name, globals=None, *rest, **named):
    asking = (globals or {}).get("__name__", "")
    if name in ("fcntl", "resource", "uvloop") and asking.startswith("assay."):
        raise ImportError(f"No module named {name!r}", name=name)
    return plain(name, globals, *rest, **named)

builtins.__import__ = imported

def is_open(path):
    real = os.path.realpath(path)
    return any(os.path.realpath(f"/proc/self/fd/{each}") == real for each in os.listdir("/proc/self/fd"))

def refusing(change):
    def changed(path, *rest, **named):
        if isinstance(path, (str, os.PathLike)) and is_open(path):
            raise PermissionError(13, "The process cannot access the file because it is being used", str(path))
        return change(path, *rest, **named)
    return changed

for name in ("replace", "rename", "unlink", "remove"):
    setattr(os, name, refusing(getattr(os, name)))
"""
ASSAY = [sys.executable, "-m", "assay.cli"]
COMPARE = ["compare", "papayas", "--models", "lda,baseline", "--jobs", "2", "--json"]


@pytest.fixture(scope="module")
def poorer(tmp_path_factory):
    """The environment of a system that lacks all that."""
    folder = tmp_path_factory.mktemp("poorer")
    (folder / "sitecustomize.py").write_text(POORER)
    paths = [str(folder), *filter(None, [str(Path(assay.__file__).parents[1]), os.environ.get("PYTHONPATH")])]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(folder)}  # where nobody looks for locks
    code = (
        "import os; print(hasattr(os, 'fork')); from assay.processes.child import start_method; print(start_method())"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=found, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "spawn"]
    return found


@pytest.fixture(scope="module")
def compared(tmp_path_factory, poorer):
    """(folder, verdict) of the same comparison on both."""
    found = []
    for environment in (None, poorer):
        folder = tmp_path_factory.mktemp("compared")
        words = [*ASSAY, *COMPARE, "--out", "m.assay"]
        ran = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        assert "Traceback" not in ran.stderr
        found.append((folder, json.loads(ran.stdout)))
    return found


@contextmanager
def running(environment, *words):
    """(process, address) of a server, which is no more afterwards."""
    process = subprocess.Popen(
        [*ASSAY, *words, "--json"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.kill()
        process.communicate()


def without_times(found):
    if isinstance(found, dict):
        return {key: without_times(value) for key, value in found.items() if key not in ("seconds", "peak_bytes")}
    return [without_times(each) for each in found] if isinstance(found, list) else found


def test_a_comparison_comes_to_the_same_verdict_and_the_same_bytes(compared):
    (here, verdict), (there, same) = compared
    assert without_times(same) == without_times(verdict)
    assert (there / "m.assay").read_bytes() == (here / "m.assay").read_bytes()


def test_a_script_that_does_not_guard_itself_is_not_run_again(poorer, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import assay\nprint(len(assay.compare('papayas', models=['lda', 'baseline'], workers=2).entries))\n"
    )
    ran = subprocess.run(
        [sys.executable, script], env=poorer, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert (ran.returncode, ran.stdout) == (0, "2\n"), ran.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_service_answers_and_ends(compared, poorer, workers):
    model = compared[1][0] / "m.assay"
    with running(poorer, "serve", str(model), "--port", "0", "--workers", workers) as (process, url):
        rows = [{"softness": 0.5, "colour": 0.5}, {"softness": 0.0, "colour": 0.9}]
        expected = assay.load(model).predict({"softness": [0.5, 0.0], "colour": [0.5, 0.9]})
        _, found, _ = Client(f"{url}/#token=").send("POST", "/predict", rows, content_type="application/json")
        assert [each["prediction"] for each in found] == list(expected)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "Traceback" not in said


def test_the_studio_fits_shows_steps_and_ends_with_its_processes(poorer):
    with running(poorer, "studio", "--no-browser") as (process, url):
        client = Client(url)
        assert {"begin", "frame", "end"} == {*client.post("/api/fit", ask(two_classes(), "lda"))}
        shown = [line["kind"] for line in client.stream("/api/play", ask(two_classes(), "perceptron"))]
        assert (shown[0], shown[-1]) == ("begin", "end")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)  # which waits until no process has standard error open
    assert process.returncode == 130, said
    assert "Traceback" not in said


def test_a_child_ends_with_a_parent_that_is_killed_on_any_system(poorer, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time\nsys.platform = 'other'\n"  # which has no signal for it
        "from assay.processes.child import start\nprint(start(time.sleep, 600).pid, flush=True)\ntime.sleep(600)\n"
    )
    other = tmp_path / "sitecustomize.py"
    other.write_text(POORER + "import sys\nsys.platform = 'other'\n")
    environment = {**poorer, "PYTHONPATH": os.pathsep.join([str(tmp_path), poorer["PYTHONPATH"]])}
    with subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline()
        time.sleep(1.0)  # it has to be there before it can notice
        parent.kill()
        parent.communicate(timeout=60)  # which waits until the child has let go of standard output


def test_the_way_to_start_processes_can_be_chosen(monkeypatch):
    for method in ("fork", "spawn"):
        monkeypatch.setenv("ASSAY_START_METHOD", method)
        assert start_method() == method
    monkeypatch.setenv("ASSAY_START_METHOD", "forkserver")
    with pytest.raises(ParameterError, match="fork or spawn"):
        start_method()
