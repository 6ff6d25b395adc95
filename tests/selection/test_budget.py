"""Under a budget, settings and models that are behind on few rows drop out; baselines stay; what is left is compared in full."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from budget_tables import two_classes
from odd_models import Hangs, Slow, register
from passing_time import PassingTime

from assay import compare
from assay.selection.few_rows import SHARES, common_rows, some_of
from assay.selection.splits import Resampling, Split, make_splits

AMPLE = 1e5  # seconds of a budget that no machine is too busy for


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    found = two_classes()
    return found.assign(b=found.b * (1 + 3 * found.y))  # QDA and naive Bayes see this


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


def test_a_share_keeps_groups_whole_and_tests_later_rows():
    train = np.arange(0, 6000, 2)
    groups, times = np.arange(6000) // 100, 6000 - np.arange(6000) // 7
    for share in SHARES:
        by_group = some_of(train, share, 0, groups)
        assert not set(groups[by_group.train]) & set(groups[by_group.test])
        assert len(by_group.train) + len(by_group.test) == pytest.approx(share * len(train), rel=0.3)
        by_time = some_of(train, share, 0, None, times)
        assert times[by_time.train].max() < times[by_time.test].min()
        assert len(by_time.train) == pytest.approx(2 * len(by_time.test), rel=0.05)
        assert np.ptp(by_time.train) > 3000  # a sample of the whole time, not its beginning


def test_a_share_of_rows_drawn_repeatedly_has_each_once():
    drawn = make_splits(Resampling("bootstrap", repeats=1), 3000)[0].train
    split = some_of(drawn, 1 / 3, 2**64 - 1)
    both = np.concatenate([split.train, split.test])
    assert len(np.unique(both)) == len(both)


def test_rows_that_some_split_tests_do_not_choose():
    n, way = 4000, {"k-fold": {}, "repeated": {"repeats": 2}, "bootstrap": {"repeats": 25}}
    for kind, options in way.items():
        assert len(common_rows(make_splits(Resampling(kind, **options), n))) < 0.01 * n
    (held_out,) = make_splits(Resampling("holdout"), n)
    assert np.array_equal(common_rows([held_out]), held_out.train)
    stretches = make_splits(Resampling("time", folds=3), n)
    assert np.array_equal(common_rows(stretches), stretches[0].train)
    given = [Split(np.array([0, 1, 1, 2]), np.array([5])), Split(np.array([1, 2, 5]), np.array([0]))]
    assert common_rows(given).tolist() == [1, 2]


def test_with_folds_nothing_drops_out(table):
    events = []
    options = {"models": ["lda", "linear-svc", "baseline"], "folds": 3, "budget": AMPLE}
    found = compare(table, "y", **options, on_event=lambda key, event: events.append(event))
    assert not [event for event in events if event[0] == "halving"]
    free = compare(table, "y", models=options["models"], folds=3)
    assert [len(t.search.settings) for t in found["linear-svc"].trials] == [
        len(t.search.settings) for t in free["linear-svc"].trials
    ]


def test_rounds_hold_models_to_their_time(monkeypatch, table):
    from assay.selection import few_rows
    from assay.selection.candidates import candidates
    from assay.selection.compare import CandidateWork
    from assay.selection.plan import Limits, Question

    register(monkeypatch, Hangs)
    clock, run_jobs = PassingTime(monkeypatch, "baseline", "lda"), few_rows.run_jobs

    def told(jobs, **options):
        for outcome in run_jobs(jobs, **options):
            clock.heard(outcome.key, ("ended",))
            yield outcome

    monkeypatch.setattr(few_rows, "run_jobs", told)
    found = compare(table, "y", models=["baseline"], workers=0)
    asked = Question("y", found.task, found.loss, found.resampling)
    work = CandidateWork(found.data, found.splits, asked)
    who = candidates(found.schema, 2, only=["hangs", "baseline", "lda"])[0]
    limits = Limits(timeout=600.0, workers=3, deadline=time.monotonic() + AMPLE)  # side by side, whatever there is
    stay, gone = few_rows.worth_the_time(who, work, limits, lambda key, event: None)
    assert [e.name for e in stay] == [e.name for e in who if e.name != "hangs"]
    ((name, why),) = gone
    assert name == "hangs"
    assert "600 s" in why


def test_those_behind_drop_out_with_a_reason_and_the_rest_is_compared_in_full(table):
    events, models = [], ["lda", "qda", "gaussian-nb", "perceptron", "decision-tree", "linear-svc", "baseline"]
    found = compare(table, "y", models=models, budget=AMPLE, on_event=lambda key, event: events.append(event))
    rounds = [event for event in events if event[0] == "halving"]
    assert [event[1] for event in rounds] == list(SHARES)
    assert len(rounds[1][2]) <= len(rounds[0][2])
    assert {e.state for e in found.entries} == {"done"}
    assert "baseline" in [e.name for e in found.entries]  # always
    dropped = {name: why for name, why in found.left_out if why.startswith("dropped")}
    assert all("of the training rows" in why for why in dropped.values())
    free = compare(table, "y", models=models)
    best = free[free.best].risk
    assert found[found.best].risk.value <= best.high  # what dropped out was not the best by far
    assert {e.name for e in found.entries} | set(dropped) == {e.name for e in free.entries}


def test_few_rows_are_compared_without_rounds(table):
    events = []
    compare(
        table[:300], "y", models=["lda", "baseline"], budget=AMPLE, on_event=lambda key, event: events.append(event)
    )
    assert not [event for event in events if event[0] == "halving"]


def test_a_budget_is_kept(monkeypatch, table):
    register(monkeypatch, Slow)
    options = {
        "folds": 40,
        "budget": 600.0,
        "workers": 2,
        "on_event": PassingTime(monkeypatch, "baseline", "lda").heard,
    }
    found = compare(table, "y", models=["slow", "baseline", "lda"], **options)
    assert found["slow"].state == "out of time"
    assert found["lda"].state == "done"


def test_an_interrupt_during_the_rounds_ends_the_comparison(monkeypatch, table):
    """Nothing is finished then that could be kept."""
    from assay.processes.supervisor import Outcome
    from assay.selection import few_rows

    def interrupted(tasks, **_):
        yield from (Outcome(task.key, "interrupted", None, "Stopped by SIGTERM.") for task in tasks)

    monkeypatch.setattr(few_rows, "run_jobs", interrupted)
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        compare(table, "y", models=["baseline", "lda"], budget=AMPLE)


def test_past_the_deadline_nothing_is_scored_that_the_ranking_can_do_without(monkeypatch, table):
    from assay.selection.comparison import Comparison

    monkeypatch.setattr(Comparison, "time_is_up", True)
    found = compare(table[:300], "y", models=["lda", "baseline"], folds=3, workers=0)
    assert found.best == found.recommended == "lda"
    assert [score.name for score in found["lda"].scores] == ["error", "balanced error"]
    assert "lda" in str(found)


def test_losses_of_rows_that_were_tested_once_in_their_order_stay_as_they_are():
    from assay.selection.judge import _of_rows

    losses = np.array([0.5, 0.25, 1.0])
    assert _of_rows(losses, np.array([2, 5, 9])) is losses
    assert _of_rows(losses, np.array([5, 2, 9])).tolist() == [0.25, 0.5, 1.0]
    assert _of_rows(losses, np.array([2, 2, 9])).tolist() == [0.5, 2 / 3]


@pytest.mark.parametrize(("seconds", "there"), [(20.0, False), (80.0, True)])
def test_scores_of_probabilities_are_of_all_models_or_of_none(monkeypatch, table, seconds, there):
    """Three models at 10 s each: what the first one took tells whether the time left will do for all."""
    from assay.selection import judge
    from assay.selection.comparison import Comparison

    clock = [0.0]
    scored = judge.classification_scores

    def slowly(*args, **options):
        clock[0] += 10.0 if args[2] is not None else 0.1
        return scored(*args, **options)

    found = compare(table, "y", features=list("abc"), models=["lda", "gaussian-nb", "baseline"], workers=0, refit=False)
    monkeypatch.setattr(judge, "classification_scores", slowly)
    monkeypatch.setattr(judge.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(Comparison, "time_is_up", property(lambda self: clock[0] >= self.deadline))
    found.deadline = seconds
    judge.judged(found, 0.0)
    assert [entry.log_loss is not None for entry in found.done] == [there] * 3
