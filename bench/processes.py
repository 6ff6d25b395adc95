"""A command watched from outside: seconds from start to end, what it printed, and the peak memory of all its processes."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

REST = 0.02  # seconds between two looks at the memory
SHARE = 50  # and so many times what a look takes: watching may cost 2 % of a core


@dataclass
class Watched:
    """How a command went. `stopped`: it was ended, for it printed nothing for too long."""

    seconds: float
    peak: int  # bytes
    lines: list[str] = field(default_factory=list)
    stopped: bool = False


class _Watch(threading.Thread):
    """Looks at a tree of processes until told to end; ends the tree where nothing was printed for `limit` seconds."""

    def __init__(self, pid: int, limit: float | None) -> None:
        super().__init__(daemon=True)
        self.root, self.limit, self.over = psutil.Process(pid), limit, threading.Event()
        self.peak, self.stopped = 0, False
        self.heard = float("inf")  # when the last line came

    def run(self) -> None:
        processes, looked, rest = [self.root], 0.0, 0.0
        while not self.over.wait(REST):
            now = time.perf_counter()
            if now - looked > rest:
                processes = _tree(self.root)
                self.peak = max(self.peak, sum(_shared_fairly(p.pid) for p in processes))
                looked = time.perf_counter()
                rest = SHARE * (looked - now)
            self.peak = max([self.peak, *(_high(p.pid) for p in processes)])
            if self.limit is not None and now - self.heard > self.limit:
                self.stopped = True
                for process in reversed(_tree(self.root)):
                    _end(process)
                return


def watched(arguments: list[str], limit: float | None = None) -> Watched:
    """Run a command to its end, or until no line has followed its last one for `limit` seconds."""
    start = time.perf_counter()
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    watch = _Watch(child.pid, limit)
    watch.start()
    lines = []
    assert child.stdout is not None
    for line in child.stdout:
        watch.heard = time.perf_counter()
        lines.append(line.rstrip("\n"))
    code = child.wait()
    seconds = time.perf_counter() - start
    watch.over.set()
    watch.join()
    if code and not watch.stopped:
        raise subprocess.CalledProcessError(code, arguments, "\n".join(lines))
    return Watched(seconds, watch.peak, lines, watch.stopped)


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _end(process: psutil.Process) -> None:
    with suppress(psutil.Error):  # it may have ended by itself
        process.kill()


def _high(pid: int) -> int:
    """The most that one process has held so far, pages that it shares included: exact, and cheap to ask."""
    return _kilobytes(pid, "status", "VmHWM:")


def _shared_fairly(pid: int) -> int:
    """What a process holds now, where a page of several processes counts a part for each."""
    return _kilobytes(pid, "smaps_rollup", "Pss:")


def _kilobytes(pid: int, file: str, field_name: str) -> int:
    try:
        text = Path(f"/proc/{pid}/{file}").read_text()
    except OSError:  # it has just ended
        return 0
    found = [line.split()[1] for line in text.splitlines() if line.startswith(field_name)]
    return 1024 * int(found[0]) if found else 0
