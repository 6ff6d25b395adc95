"""Events of a comparison as JSON, one object a line, for programs that watch it (`assay compare --json-lines`; docs/events.md has the fields)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from assay.cli.shell import show

SCHEMA = "assay.compare.events/1"


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
