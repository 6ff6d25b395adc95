"""A clock for tests of time limits: however busy the machine is, it is those that hang that run out of time, and no others."""

from __future__ import annotations

import time
from typing import Any

import pytest

from assay.processes import supervisor

FAST = 2000.0  # seconds that pass in one


class PassingTime:
    """The clock of who supervises: time passes as ever until all jobs of some names have ended, quickly until one of those that hang has
    ended too, and as ever from then on.

    `heard` is the listener of a comparison that it learns from who has ended.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *awaited: str) -> None:
        self.awaited, self.fast_since, self.gained = set(awaited), float("inf"), 0.0
        monkeypatch.setattr(supervisor, "time", self)

    def monotonic(self) -> float:
        now = time.monotonic()
        return now + self.gained + self._gaining(now)

    def _gaining(self, now: float) -> float:
        return FAST * max(0.0, now - self.fast_since)

    def heard(self, key: str, event: Any) -> None:
        if event[0] != "ended":
            return
        now = time.monotonic()
        if self.awaited:
            self.awaited.discard(key)
            self.fast_since = float("inf") if self.awaited else now
        else:
            self.gained, self.fast_since = self.gained + self._gaining(now), float("inf")
