"""What is shown while a comparison runs: on a terminal a line a model with its progress, the time left, and the best so far; else a line a finished
model; and events as JSON, one object a line, for programs that watch it (`--json-lines`; docs/events.md has the fields).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from assay.cli.shell import Shell, show

SCHEMA = "assay.compare.events/1"
OnEvent = Callable[[str, Any], None]


@contextmanager
def watching(shell: Shell) -> Iterator[OnEvent]:
    """Within, events of a comparison are shown on standard error: a live table on a terminal, else a line a finished model; and as lines of
    JSON on standard output where these were asked for."""
    if shell.json_lines:
        with watching(replace(shell, json_lines=False)) as shown:
            yield _both(shown, EventLines())
        return
    if shell.quiet or not sys.stderr.isatty():
        with shell.warnings_noted():
            yield Lines(shell)
        return
    from rich.console import Console
    from rich.live import Live

    board = LiveTable()
    with shell.warnings_noted(), Live(board, console=Console(stderr=True), refresh_per_second=8, transient=True):
        yield board


def _both(first: OnEvent, second: OnEvent) -> OnEvent:
    def on_event(key: str, event: Any) -> None:
        first(key, event)
        second(key, event)

    return on_event


class Lines:
    """A line for each model as it ends."""

    def __init__(self, shell: Shell) -> None:
        self.shell, self.total, self.ended = shell, 0, 0
        self.spoken = InWords()

    def __call__(self, key: str, event: Any) -> None:
        if event[0] == "plan":
            self.total, self.spoken = len(event[1]), InWords.of(event[1], event[2].loss)
            self.shell.note(f"{event[3]} rows, {self.total} models: {'; '.join(self.spoken.titles.values())}")
        elif event[0] == "ended":
            self.ended += 1
            risk = "" if event[4] is None else f", {self.spoken.risk(event[4])}"
            why = f" ({event[2]})" if event[2] else ""
            took = f" in {event[3]:.1f} s" if event[3] else ""  # one that was not begun took none
            self.shell.note(f"[{self.ended}/{self.total}] {self.spoken.title(key)}: {event[1]}{why}{took}{risk}")


@dataclass(frozen=True)
class InWords:
    """How models and risks are called while they run: as in the ranking at the end."""

    titles: Mapping[str, str] = field(default_factory=dict)
    loss: str = "zero-one"

    @classmethod
    def of(cls, names: Sequence[str], loss: str) -> InWords:
        from assay.selection.text import titles_of

        return cls(titles_of(names), loss)

    def title(self, name: str) -> str:
        return self.titles.get(name, name)

    def risk(self, value: float) -> str:
        from assay.selection.text import measured_risk

        return measured_risk(self.loss, value)


class LiveTable:
    """The live table."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.names: list[str] = []
        self.spoken = InWords()
        self.share: dict[str, float] = {}
        self.splits: dict[str, tuple[int, int]] = {}
        self.state: dict[str, str] = {}
        self.risk: dict[str, float] = {}
        self.started: dict[str, float] = {}

    def __call__(self, key: str, event: Any) -> None:
        kind = event[0]
        if kind == "plan":
            self.names, self.spoken = list(event[1]), InWords.of(event[1], event[2].loss)
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
        table = Table(box=None, pad_edge=False, show_header=False, title_justify="left", title=self._title(best))
        for _ in range(4):
            table.add_column()
        for name in self.names:
            risk = self.spoken.risk(self.risk[name]) if name in self.risk else ""
            state = self.state.get(name, "running" if name in self.share else "waiting")
            bar = ProgressBar(total=1.0, completed=self.share.get(name, 0.0), width=24)
            table.add_row(
                self.spoken.title(name), bar, risk, "best so far" if name == best else "" if state == "done" else state
            )
        return table

    def _title(self, best: str | None) -> str:
        if not self.names:
            return "reading the table"
        ended = len(self.state)
        return f"{ended} of {len(self.names)} models  {self.left()}"


class EventLines:
    """Prints what a comparison tells its listeners as it comes; `at` is the time since the start in seconds."""

    def __init__(self) -> None:
        self.began, self.started = time.monotonic(), set[str]()

    def __call__(self, key: str, event: Any) -> None:
        made = EVENTS.get(event[0])
        if made is None:
            return
        if key and key not in self.started and event[0] in ("split", "fold", "fits", "ended"):
            self.started.add(key)
            self.line("model-started", {"model": key})
        for name, fields in made(key, *event[1:]).items():
            self.line(name, fields)

    def line(self, name: str, fields: dict[str, Any]) -> None:
        """One line."""
        from assay.selection.comparison import plain

        at = round(time.monotonic() - self.began, 3)
        show(json.dumps(plain({"event": name, "at": at, **fields}), ensure_ascii=False))


Events = dict[str, dict[str, Any]]


def _plan(_: str, models: list[str], asked: Any, rows: int) -> Events:
    question = {
        "target": asked.target,
        "task": asked.task,
        "loss": asked.loss,
        "resampling": asked.resampling.to_data(),
    }
    return {"plan": {"schema": SCHEMA, "rows": rows, "models": models, **question}}


def _halving(_: str, share: float, models: list[str]) -> Events:
    return {"round": {"share": share, "models": models}}


def _few(_: str, rows: int, models: list[str]) -> Events:
    return {"few-rows": {"rows": rows, "models": models}}


def _split(_: str, number: int, of: int) -> Events:
    return {}


def _fits(key: str, done: int, of: int) -> Events:
    return {"searching": {"model": key, "fits": done, "of": of}}


def _fold(key: str, number: int, of: int, risk: float, train_risk: float) -> Events:
    return {"fold-done": {"model": key, "fold": number, "of": of, "risk": risk, "train_risk": train_risk}}


def _ended(key: str, state: str, message: str, seconds: float, risk: float | None) -> Events:
    return {
        "model-ended": {"model": key, "state": state, "message": message, "seconds": round(seconds, 4), "risk": risk}
    }


def _refit(key: str, rows: int) -> Events:
    return {"refit": {"model": key, "rows": rows}}


def _warning(key: str, message: str) -> Events:
    return {"warning": {"model": key or None, "message": message}}


EVENTS: dict[str, Callable[..., Events]] = {
    "plan": _plan,
    "halving": _halving,
    "few": _few,
    "split": _split,
    "fits": _fits,
    "fold": _fold,
    "ended": _ended,
    "refit": _refit,
    "warning": _warning,
}
