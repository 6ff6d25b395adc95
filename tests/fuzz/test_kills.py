"""A few command lines killed at random moments, and some at moments that were once wrong; `make fuzz` kills many more."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.fuzz.kills import VERBS, KillingGround, run


def test_a_killed_command_ends_without_a_traceback_and_leaves_files_whole() -> None:
    assert run(seed=19, cases=11) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_python_imports_is_answered_too(tmp_path: Path, number: signal.Signals) -> None:
    ground, rng = KillingGround(tmp_path), random.Random(0)
    inspect = next(verb for verb in VERBS if verb.words[0] == "inspect")
    ground.seconds[inspect] = 0.2
    assert [finding for _ in range(4) for finding in ground.case(rng, inspect, number)] == []
