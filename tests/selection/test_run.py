"""What every model of a comparison is put through: in which order, how often it emits, and what is kept meanwhile."""

import weakref

import numpy as np
import pandas as pd
import pytest

from assay.selection import compare, trial
from assay.selection.candidates import candidates
from assay.selection.compare import Throttle
from assay.selection.plan import open_table
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=list("abc"))
    source = table_source(frame.assign(y=rng.integers(0, 2, 90)))
    return open_table(source, infer(source, target="y"))


def test_of_many_events_those_are_emitted_that_somebody_can_see(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(compare, "monotonic", lambda: now[0])
    emitted = []
    throttled = Throttle(emitted.append)
    for number in range(1000):
        throttled(number)
        now[0] += compare.BETWEEN_EVENTS / 10
    assert emitted[0] == 0
    assert 90 <= len(emitted) <= 101


def test_models_learnt_by_one_fold_are_quick_however_many_settings_they_have(table):
    found, _ = candidates(table.schema, 2, only=["naive-bayes", "perceptron", "erm", "baseline"])
    ordered = [e.name for e in sorted(found, key=compare._length)]
    assert ordered[:2] == ["baseline", "naive-bayes"]
    assert set(ordered[2:]) == {"perceptron", "erm"}


def test_side_by_side_those_of_one_fold_begin_and_the_longest_follow(table):
    names = ["naive-bayes", "decision-tree", "perceptron", "knn", "baseline", "random-forest", "lda"]
    found, _ = candidates(table.schema, 2, only=names)
    ordered = [e.name for e in compare.in_order(found, at_leisure=True)]
    assert ordered == ["baseline", "lda", "naive-bayes", "knn", "random-forest", "perceptron", "decision-tree"]
    assert {e.name for e in compare.in_order(found, at_leisure=False)[:3]} == {"baseline", "lda", "naive-bayes"}


def test_encoded_rows_of_an_inner_split_are_gone_before_the_next_are_made(table, monkeypatch):
    made: list[weakref.ref] = []
    there = []
    honest = trial.learnt

    def watched(candidate, data, which):
        there.append(sum(seen() is not None for seen in made))
        encoding, rows = honest(candidate, data, which)
        made.append(weakref.ref(rows))
        return encoding, rows

    monkeypatch.setattr(trial, "learnt", watched)
    (candidate,), _ = candidates(table.schema, 2, only=["logistic-regression"])
    trial.search_settings(candidate, table, table.everything, "zero-one", 0)
    assert there == [0] * 5


def test_what_the_opened_table_has_counted_is_not_counted_again(table):
    assert any(key[0] == "statistics" for key in table.memory)
    began = dict(table.memory)
    table.statistics(table.everything)
    assert table.memory == began


def test_statistics_of_all_rows_are_those_of_rows_picked_one_by_one(table):
    whole = table.statistics(table.everything)
    picked = table._statistics(np.arange(len(table)))
    assert whole.n == picked.n
    assert np.array_equal(whole.mean, picked.mean)
    assert np.array_equal(whole.m2, picked.m2)


def test_memory_is_given_back_without_harm():
    from assay.selection.compare import give_back

    held = np.ones(1 << 20)
    give_back()
    assert held.sum() == 1 << 20
