"""One model that hangs, crashes or eats memory is reported as such, and all others are finished."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pandas as pd
import pytest
from odd_models import Crashes, Eats, Guess, Hangs, Raises, Slow, register
from passing_time import PassingTime

import assay
from assay import compare
from assay.report import report_html

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="test models reach a child by a fork alone")


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(90) % 2)
    return pd.DataFrame({"a": rng.normal(size=90) + 2 * y, "b": rng.normal(size=90), "y": y})


def test_a_model_that_hangs_is_timed_out_and_the_others_are_finished(monkeypatch, table, children_left):
    register(monkeypatch, Hangs)
    clock = PassingTime(monkeypatch, "baseline", "lda")
    options = {"folds": 3, "timeout": 600.0, "workers": 2, "on_event": clock.heard}
    found = compare(table, "y", models=["hangs", "baseline", "lda"], **options)
    assert found["hangs"].state == "timeout"
    assert "600 s" in found["hangs"].message
    assert {e.name for e in found.done} == {"baseline", "lda"}
    assert found.recommended == "lda"
    assert "timeout" in str(found)
    assert not found.interrupted
    assert not children_left()


def test_a_model_that_crashes_or_fails_is_reported_and_the_others_are_finished(monkeypatch, table):
    register(monkeypatch, Crashes, Raises)
    found = compare(table, "y", models=["crashes", "raises", "baseline", "lda"], folds=3, workers=2)
    assert found["crashes"].state == "failed"
    assert "SIGSEGV" in found["crashes"].message
    assert found["raises"].state == "failed"
    assert "out of luck" in found["raises"].message
    assert {e.name for e in found.done} == {"baseline", "lda"}
    assert all(len(line) <= 80 for line in str(found).splitlines())
    data = json.loads(found.to_json())
    states = {m["model"]: (m["state"], m["risk"]) for m in data["models"]}
    assert states["crashes"] == ("failed", None)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured through /proc")
def test_a_model_that_eats_memory_is_stopped(monkeypatch, table):
    register(monkeypatch, Eats)
    found = compare(table, "y", models=["eats", "baseline", "lda"], folds=3, memory=200_000_000, workers=2)
    assert found["eats"].state == "memory"
    assert "200 MB" in found["eats"].message
    assert {e.name for e in found.done} == {"baseline", "lda"}


def test_an_error_in_this_process_is_an_outcome_as_well(monkeypatch, table):
    register(monkeypatch, Raises)
    found = compare(table, "y", models=["raises", "lda"], folds=3, workers=0)
    assert found["raises"].state == "failed"
    assert found.recommended == "lda"


def test_where_no_model_is_finished_the_comparison_says_so(monkeypatch, table):
    register(monkeypatch, Raises)
    found = compare(table, "y", models=["raises"], folds=3, workers=1)
    assert found.recommended is None
    assert found.verdict == ["No model was finished. Not finished: raises (failed)."]
    assert "out of luck" in str(found)
    with pytest.raises(assay.errors.ParameterError, match="none can be recommended"):
        _ = found.model


def test_where_nothing_but_the_baseline_is_finished_nothing_is_recommended(monkeypatch, table):
    """That the columns say nothing would be a verdict on models that never answered."""
    register(monkeypatch, Hangs)
    options = {"folds": 3, "timeout": 600.0, "workers": 2, "on_event": PassingTime(monkeypatch, "baseline").heard}
    found = compare(table, "y", models=["hangs", "baseline"], **options)
    assert found["baseline"].done
    assert found.recommended is None
    (verdict,) = found.verdict
    assert verdict.startswith("Nothing but the baseline was finished")
    assert "more time (timeout, budget)" in verdict
    assert "Nothing but the baseline" in " ".join(str(found).split())
    assert "Nothing but the baseline" in report_html(found)
    with pytest.raises(assay.errors.ParameterError, match="more time"):
        _ = found.model
    assert compare(table, "y", models=["baseline"], folds=3, workers=0).recommended == "baseline"  # asked for alone


def numbers(found: assay.Comparison, *names: str) -> list:
    """What was found of some models."""
    entries = [found[name] for name in names]
    return [(e.risk, e.train_risk, e.fold_risks.tolist(), e.setting, e.scores, e.against_best) for e in entries]


def test_models_that_fail_in_any_way_change_no_number_of_the_others(monkeypatch, table):
    register(monkeypatch, Hangs, Crashes, Raises)
    others = ("baseline", "lda", "linear-svc")
    alone = compare(table, "y", models=others, folds=3, workers=2)
    clock = PassingTime(monkeypatch, "crashes", "raises", *others)
    options = {"folds": 3, "timeout": 600.0, "workers": 2, "on_event": clock.heard}
    beside = compare(table, "y", models=["hangs", "crashes", "raises", *others], **options)
    states = {e.name: e.state for e in beside.entries if not e.done}
    assert states == {"hangs": "timeout", "crashes": "failed", "raises": "failed"}
    assert numbers(beside, *others) == numbers(alone, *others)
    assert beside.recommended == alone.recommended
    assert beside.model.certificate_.verify(table).holds
    assert beside.verdict[0] == alone.verdict[0]
    for name in states:
        assert f"{name} ({states[name]})" in beside.verdict[1]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("at", ["plan", "split", "fits", "ended"])
def test_a_listener_that_fails_is_not_told_any_more_and_nothing_is_lost(table, workers, at):
    heard = []

    def listen(key, event):
        heard.append(event[0])
        if event[0] == at:
            raise RuntimeError("the screen is gone")

    options = {"models": ["baseline", "qda"], "folds": 3, "workers": workers}
    found = compare(table, "y", on_event=listen, **options)
    assert heard[-1] == at
    assert heard.count(at) == 1
    assert numbers(found, "baseline", "qda") == numbers(compare(table, "y", **options), "baseline", "qda")


def test_a_model_that_registers_itself_takes_part_and_nothing_else_need_know_it(monkeypatch, table):
    register(monkeypatch, Guess)
    found = compare(table, "y", without=["erm", "logistic-regression"], folds=3, workers=2)
    assert found["guess"].state == "done"
    assert len(found["guess"].search.settings) == 40  # its own search
    assert found["guess"].setting.keys() == {"salt"}
    assert "guess" in str(found)
    assert json.loads(found.to_json())
    assert set(found["guess"].model.predict(table).tolist()) <= {0, 1}


def test_a_budget_turns_the_rest_away_and_keeps_what_is_finished(monkeypatch, table, children_left):
    register(monkeypatch, Hangs, Slow)
    options = {"folds": 3, "budget": 600.0, "workers": 1, "on_event": PassingTime(monkeypatch, "baseline", "lda").heard}
    found = compare(table, "y", models=["baseline", "lda", "hangs", "slow"], **options)
    states = {e.name: e.state for e in found.entries}
    assert states == {"baseline": "done", "lda": "done", "hangs": "out of time", "slow": "out of time"}
    assert found.recommended == "lda"
    assert not children_left()


def test_events_tell_how_far_each_model_is(table):
    events = []
    found = compare(table, "y", models=["baseline", "linear-svc"], folds=3, on_event=lambda k, e: events.append((k, e)))
    assert events[0][1][:2] == ("plan", ["baseline", "linear-svc"])
    assert events[0][1][3] == 90
    splits = [e[1] for k, e in events if k == "linear-svc" and e[0] == "split"]
    assert splits == [0, 1, 2, 3]
    fits = [e for k, e in events if k == "linear-svc" and e[0] == "fits"]
    assert fits
    assert all(0 < e[1] <= e[2] for e in fits)
    ended = {k: e for k, e in events if e[0] == "ended"}
    assert ended["linear-svc"][1] == "done"
    assert ended["linear-svc"][4] == pytest.approx(found["linear-svc"].fold_risks.mean())
