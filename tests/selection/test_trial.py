"""One model on one split: the search sees the training rows alone, and takes the setting of least risk, of equals that of least log loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from odd_models import Guess, register

import assay
from assay.selection.candidates import Candidate, candidates
from assay.selection.data import Answers, row_losses
from assay.selection.plan import open_table
from assay.selection.splits import Split
from assay.selection.trial import OF_FOLDS, drawn_evenly, inner_splits, run_trial, search_settings
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source


def opened(frame: pd.DataFrame):
    source = table_source(frame)
    return open_table(source, infer(source, target="y"))


def frame(n: int = 120, classes: int = 2, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    X = rng.normal(size=(n, 3)) + y[:, None]
    return pd.DataFrame(X, columns=list("abc")).assign(y=[f"k{v}" for v in y])


def candidate(data, name: str, **fixed: object) -> Candidate:
    return candidates(data.schema, len(data.classes), only=[name], fixed={name: fixed} if fixed else None)[0][0]


def test_a_trial_is_a_search_a_fit_and_answers():
    data = opened(frame())
    split = Split(np.arange(90), np.arange(90, 120))
    trial = run_trial(candidate(data, "lda"), data, split, "zero-one", 0)
    X, y = frame()[list("abc")].to_numpy(), frame().y.to_numpy()
    model = assay.LinearDiscriminantAnalysis().fit(X[:90], y[:90])
    assert trial.search is None
    assert trial.test_risk == np.mean(model.predict(X[90:]) != y[90:])
    assert trial.train_risk == np.mean(model.predict(X[:90]) != y[:90])
    codes, scores = model.label_scores(X[90:])
    assert np.allclose(trial.answers.P, trial.calibration.proba(scores, codes), atol=1e-6)
    assert trial.calibration.rows == 90
    assert (trial.train_rows, trial.columns) == (90, 3)


def test_the_training_risk_of_many_folds_is_asked_of_rows_drawn_evenly():
    data = opened(frame())
    split = Split(np.arange(90), np.arange(90, 120))
    trial = run_trial(candidate(data, "lda"), data, split, "zero-one", 0, splits=OF_FOLDS // 10)
    X, y = frame()[list("abc")].to_numpy(), frame().y.to_numpy()
    model = assay.LinearDiscriminantAnalysis().fit(X[:90], y[:90])
    some = drawn_evenly(np.arange(90), 10)
    assert len(some) == 10
    assert trial.train_risk == np.mean(model.predict(X[some]) != y[some])
    assert trial.test_risk == np.mean(model.predict(X[90:]) != y[90:])


def test_what_is_rough_about_a_search_overrides_its_settings_and_what_the_user_fixed_overrides_that():
    data = opened(frame())
    one = candidate(data, "mlp")
    assert {setting["max_iter"] for setting in one.settings()} == {100}
    assert {setting["max_iter"] for setting in one.roughly(one.settings())} == {30}
    fixed = candidate(data, "mlp", max_iter=7)
    assert {setting["max_iter"] for setting in fixed.roughly(fixed.settings())} == {7}


def test_the_search_takes_the_setting_of_least_risk_and_of_equals_the_simplest_where_log_losses_do_not_count():
    data = opened(frame())
    one = candidate(data, "linear-svc")
    search = search_settings(one, data, np.arange(100), "zero-one", 0, ties=False)
    assert search.settings == one.settings()
    assert search.chosen == search.best
    assert search.risks[search.chosen] == search.risks.min()
    assert all(search.risks[k] > search.risks[search.chosen] for k in range(search.chosen))
    assert (search.errors > 0).all()


def test_each_risk_of_the_search_is_that_of_fits_on_inner_folds(monkeypatch):
    register(monkeypatch, Guess)
    data = opened(frame())
    train = np.arange(0, 120, 2)
    search = search_settings(candidate(data, "guess"), data, train, "zero-one", 3)
    X = frame()[list("abc")].to_numpy()
    for salt in (0, 17):
        wrong = []
        for split in inner_splits(data, train, 3):
            assert set(split.train) | set(split.test) == set(train)
            model = Guess(salt=salt).fit(X[split.train], data.codes[split.train])
            wrong.append(model.predict(X[split.test]) != data.codes[split.test])
        assert search.risks[salt] == pytest.approx(np.concatenate(wrong).mean())


def test_inner_splits_stay_within_the_training_rows_and_hold_every_class():
    data = opened(frame(150, classes=3))
    train = np.arange(20, 140)
    inner = inner_splits(data, train, 0)
    assert len(inner) == 5
    assert np.array_equal(np.sort(np.concatenate([s.test for s in inner])), train)
    for split in inner:
        assert not set(split.train) & set(split.test)
        assert len(set(data.codes[split.test])) == 3


def test_rows_drawn_twice_by_a_bootstrap_are_never_on_both_inner_sides():
    data = opened(frame())
    drawn = np.sort(np.random.default_rng(0).integers(0, 120, 120))
    for split in inner_splits(data, drawn, 0):
        assert not set(split.train) & set(split.test)


def test_inner_splits_keep_groups_together_and_time_in_order():
    data = opened(frame())
    groups = np.arange(120) // 40
    inner = inner_splits(replace(data, groups=groups), np.arange(120), 0)
    assert len(inner) == 3
    assert all(not set(groups[s.train]) & set(groups[s.test]) for s in inner)
    times = np.arange(120)[::-1].astype(float)
    inner = inner_splits(replace(data, times=times), np.arange(120), 0)
    assert len(inner) == 5
    assert all(times[s.train].max() < times[s.test].min() for s in inner)


@pytest.mark.parametrize(
    ("groups", "times", "splits"),
    [
        (np.zeros(120, dtype=int), None, 0),  # one group: nothing to keep apart
        (np.arange(120) % 2, None, 2),
        (None, np.zeros(120), 0),  # one moment
        (None, np.arange(120) // 60, 1),
    ],
)
def test_where_groups_or_moments_are_few_so_are_the_inner_splits(groups, times, splits):
    data = replace(opened(frame()), groups=groups, times=times)
    assert len(inner_splits(data, np.arange(120), 0)) == splits
    one = candidate(data, "linear-svc")
    search = search_settings(one, data, np.arange(120), "zero-one", 0)
    assert (search is None) == (splits == 0)


def test_an_inner_split_that_would_learn_from_one_class_alone_is_left_out():
    data = opened(frame().sort_values("y"))
    times = np.arange(120.0)
    inner = inner_splits(replace(data, times=times), np.arange(120), 0)
    assert inner
    assert all(len(set(data.codes[s.train])) == 2 for s in inner)


def test_rare_classes_do_not_stop_the_search():
    table = frame()
    table.loc[0, "y"] = "once"
    data = opened(table)
    assert search_settings(candidate(data, "linear-svc"), data, np.arange(120), "zero-one", 0) is not None


@pytest.mark.parametrize("loss", ["zero-one", "log", "brier"])
def test_row_losses_are_their_formulas(loss):
    data = opened(frame(60, classes=3))
    P = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    answers = Answers(P.argmax(axis=1), P)
    found = row_losses(loss, data, np.arange(60), answers)
    truth = data.codes
    p = P[np.arange(60), truth]
    expected = {
        "zero-one": P.argmax(axis=1) != truth,
        "log": -np.log(p),
        "brier": ((P - np.eye(3)[truth]) ** 2).sum(axis=1),
    }[loss]
    assert np.allclose(found, expected)
    assert np.isnan(row_losses("log", data, np.arange(60), Answers(P.argmax(axis=1)))).all()


def test_warnings_of_fits_are_notes_of_the_trial():
    data = opened(frame())
    one = candidate(data, "logistic-regression", max_iter=1, C=1e4)
    trial = run_trial(one, data, Split(np.arange(90), np.arange(90, 120)), "zero-one", 0)
    assert trial.notes
    assert not trial.converged
