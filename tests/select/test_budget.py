"""Under a budget, settings and models that are behind on few rows drop out; baselines stay; what is left is compared in full."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from odd_models import Slow, register

from assay import compare
from assay.select.budget import SHARES, some_of


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(2400) % 2)
    X = rng.normal(size=(2400, 3))
    X[:, 0] += 2.5 * y
    X[:, 1] *= 1 + 3 * y  # QDA and naive Bayes see this
    return pd.DataFrame(X, columns=list("abc")).assign(y=y)


def test_a_share_of_the_rows_is_two_thirds_to_fit_and_one_to_test():
    train = np.arange(100, 1000)
    for share in SHARES:
        split = some_of(train, share, 0)
        assert len(split.train) + len(split.test) == int(share * 900)
        assert len(split.train) == pytest.approx(2 * len(split.test), abs=2)
        assert not set(split.train) & set(split.test)
        assert set(split.train) | set(split.test) <= set(train)
    again = some_of(train, SHARES[0], 0)
    assert np.array_equal(again.train, some_of(train, SHARES[0], 0).train)
    assert not np.array_equal(again.train, some_of(train, SHARES[0], 1).train)


def test_those_behind_drop_out_with_a_reason_and_the_rest_is_compared_in_full(table):
    events = []
    found = compare(table, "y", budget=60.0, on_event=lambda key, event: events.append(event))
    rungs = [event for event in events if event[0] == "rung"]
    assert [event[1] for event in rungs] == list(SHARES)
    assert len(rungs[1][2]) <= len(rungs[0][2])
    assert {e.state for e in found.entries} == {"done"}
    assert "baseline" in [e.name for e in found.entries]  # always
    dropped = {name: why for name, why in found.left_out if why.startswith("dropped")}
    assert all("of the training rows" in why for why in dropped.values())
    free = compare(table, "y")
    best = free[free.best].risk
    assert found[found.best].risk.value <= best.high  # what dropped out was not the best by far
    assert {e.name for e in found.entries} | set(dropped) == {e.name for e in free.entries}


def test_few_rows_are_compared_without_rungs(table):
    events = []
    compare(table[:300], "y", models=["lda", "baseline"], budget=30.0, on_event=lambda key, event: events.append(event))
    assert not [event for event in events if event[0] == "rung"]


def test_a_budget_is_kept(monkeypatch, table):
    register(monkeypatch, Slow)
    began = time.monotonic()
    found = compare(table, "y", models=["slow", "baseline", "lda"], folds=40, budget=3.0, workers=2)
    assert time.monotonic() - began < 12
    assert found["slow"].state == "out of time"
    assert found["lda"].state == "done"


def test_an_interrupt_during_the_rungs_ends_the_comparison(monkeypatch, table):
    """Nothing is finished then that could be kept."""
    from assay.select import budget
    from assay.select.running import Outcome

    def interrupted(tasks, **_):
        yield from (Outcome(task.key, "interrupted", None, "Stopped by SIGTERM.") for task in tasks)

    monkeypatch.setattr(budget, "run_tasks", interrupted)
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        compare(table, "y", models=["baseline", "lda"], budget=30.0)
