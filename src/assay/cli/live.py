"""What a terminal shows while a comparison runs: a line a model with its progress, the time left, and the best so far."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.cli.shell import Shell

OnEvent = Callable[[str, Any], None]
SLOW = 2.0  # seconds between two lines where there is no terminal


@contextmanager
def watching(shell: Shell) -> Iterator[OnEvent]:
    """Within, events of a comparison are shown on standard error: a live table on a terminal, else a line a finished model."""
    if shell.quiet or not sys.stderr.isatty():
        with shell.warnings_noted():
            yield Lines(shell)
        return
    from rich.console import Console
    from rich.live import Live

    board = Board()
    with shell.warnings_noted(), Live(board, console=Console(stderr=True), refresh_per_second=8, transient=True):
        yield board


class Lines:
    """A line for each model as it ends."""

    def __init__(self, shell: Shell) -> None:
        self.shell, self.total, self.ended = shell, 0, 0

    def __call__(self, key: str, event: Any) -> None:
        if event[0] == "plan":
            self.total = len(event[1])
            self.shell.note(f"{event[3]} rows, {self.total} models: {', '.join(event[1])}")
        elif event[0] == "ended":
            self.ended += 1
            risk = "" if event[4] is None else f", risk {event[4]:.4g}"
            why = f" ({event[2]})" if event[2] else ""
            self.shell.note(f"[{self.ended}/{self.total}] {key}: {event[1]}{why} in {event[3]:.1f} s{risk}")


class Board:
    """The live table."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.names: list[str] = []
        self.share: dict[str, float] = {}
        self.splits: dict[str, tuple[int, int]] = {}
        self.state: dict[str, str] = {}
        self.risk: dict[str, float] = {}
        self.started: dict[str, float] = {}

    def __call__(self, key: str, event: Any) -> None:
        kind = event[0]
        if kind == "plan":
            self.names = list(event[1])
        elif kind == "split":
            self.started.setdefault(key, time.monotonic())
            self.splits[key] = (event[1], event[2])
            self.share[key] = event[1] / (event[2] + 1)
        elif kind == "fits":
            at, of = self.splits.get(key, (0, 1))
            self.share[key] = (at + event[1] / (event[2] + 1)) / (of + 1)
        elif kind == "ended":
            self.state[key], self.share[key] = event[1], 1.0
            if event[4] is not None:
                self.risk[key] = event[4]

    def left(self) -> str:
        """How long it may still take, by what is done so far."""
        done = sum(self.share.values()) / max(1, len(self.names))
        spent = time.monotonic() - self.began
        if done <= 0.02 or spent < 1:
            return ""
        return f"about {spent * (1 - done) / done:.0f} s left"

    def __rich__(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        best = min(self.risk, key=lambda name: self.risk[name], default=None)
        table = Table(box=None, pad_edge=False, title_justify="left", title=self._title(best))
        for column in ("model", "", "risk", ""):
            table.add_column(column)
        for name in self.names:
            risk = f"{self.risk[name]:.4g}" if name in self.risk else ""
            state = self.state.get(name, "running" if name in self.share else "waiting")
            bar = ProgressBar(total=1.0, completed=self.share.get(name, 0.0), width=24)
            table.add_row(name, bar, risk, "best so far" if name == best else "" if state == "done" else state)
        return table

    def _title(self, best: str | None) -> str:
        if not self.names:
            return "reading the table"
        ended = len(self.state)
        return f"{ended} of {len(self.names)} models  {self.left()}"
