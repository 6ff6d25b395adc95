"""What tests of splits, searches and comparisons share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


def _children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.fixture
def children_left() -> Callable[[], set[str]]:
    """A function that tells which processes this one has started since the test began and not seen end; browsers of other tests do not count."""
    before = _children()
    return lambda: _children() - before
