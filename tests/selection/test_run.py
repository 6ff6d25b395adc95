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


def test_models_of_one_family_do_not_begin_together(table):
    names = ["extra-trees", "random-forest", "decision-tree", "knn", "erm", "logistic-regression", "svc"]
    found, _ = candidates(table.schema, 2, only=names)
    families = [e.model.__module__.split(".")[2] for e in compare.in_order(found, at_leisure=True)]
    assert sorted(families[:4]) == ["kernel", "linear", "neighbours", "trees"]
    assert sorted(families[4:6]) == ["linear", "trees"]


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


@pytest.fixture(scope="module")
def few_rows():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(60) % 2)
    return pd.DataFrame({"a": rng.normal(size=60) + 2 * y, "b": rng.normal(size=60), "y": y})


def test_models_that_share_a_process_answer_as_each_in_its_own(few_rows):
    asked = {"models": ["lda", "decision-tree", "perceptron"], "folds": 5}
    shared, apart = (compare.compare(few_rows, "y", workers=1, memory=memory, **asked) for memory in (None, 8 << 30))
    for one, other in zip(shared.entries, apart.entries):
        assert one.state == other.state == "done", one.message
        np.testing.assert_array_equal(one.answers.P, other.answers.P)
        assert one.setting == other.setting


def test_what_the_searches_of_a_model_shared_is_gone_when_it_is_done(few_rows, monkeypatch):
    tables = []
    honest = compare.forget_answers
    monkeypatch.setattr(compare, "forget_answers", lambda *args: (tables.append(args[1]), honest(*args)))
    compare.compare(few_rows, "y", models=["decision-tree", "perceptron"], folds=5, workers=0)
    assert len(tables) == 2
    assert not [key for key in tables[0].memory if "answers" in key[0]]


@pytest.mark.parametrize("name", ["decision-tree", "lda", "linear-svc", "random-forest", "mlp"])
@pytest.mark.parametrize("resampling", ["k-fold", "holdout"])
def test_claims_are_made_for_the_model_that_is_handed_over_alone(few_rows, monkeypatch, name, resampling):
    from assay.families import model_class

    cls, made = model_class(name), []
    honest = cls._make_claims
    monkeypatch.setattr(cls, "_make_claims", lambda self: (made.append(1), honest(self))[1])
    params = {"mlp": {"max_iter": 3}, "random-forest": {"n_estimators": 3}}
    asked = {"models": [name], "params": {name: params.get(name, {})}, "refit": False, "workers": 0}
    found = compare.compare(few_rows, "y", resampling=resampling, folds=5, **asked)
    assert len(made) == 1
    assert len(found[name].model.model_.certificate_.claims) > 0


def test_folds_and_searches_measure_nothing_for_claims_that_nobody_asks_for(few_rows, monkeypatch):
    from assay.families.networks import fit

    measured = []
    honest = fit.measure
    monkeypatch.setattr(fit, "measure", lambda *args: (measured.append(1), honest(*args))[1])
    compare.compare(few_rows, "y", models=["mlp"], params={"mlp": {"max_iter": 3}}, folds=5, workers=0)
    assert len(measured) == 1
