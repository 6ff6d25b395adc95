"""A race between settings: who falls behind beyond doubt is fitted no more, and nobody else is lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from odd_models import Guess, register

from assay.selection import trial
from assay.selection.candidates import candidates
from assay.selection.plan import open_table
from assay.selection.trial import RACED, Race, drawn_evenly, inner_splits, search_settings
from assay.tables.schema.schema import infer
from assay.tables.sources.recognise import table_source

RNG = np.random.default_rng(0)
LUCK = RNG.random((3, 400))


def losses(*rates: float) -> np.ndarray:
    return (LUCK[: len(rates)] < np.array(rates)[:, None]).astype(float)


def test_a_setting_that_is_worse_beyond_doubt_leaves_and_close_ones_stay():
    race = Race(3, whole=False)
    race.add(losses(0.2, 0.21, 0.6))
    assert race.left == [0, 1]
    assert not race.over


def test_a_race_of_one_is_over_and_its_winner_is_the_best():
    race = Race(2, whole=False)
    race.add(losses(0.6, 0.1))
    assert race.left == [1]
    assert race.over
    assert race.best == 1


def test_who_left_is_never_chosen_though_what_was_seen_of_it_may_look_better_later():
    race = Race(2, whole=False)
    race.add(losses(0.6, 0.1))
    race.add(np.ones((1, 4000)))
    assert race.risks[0] < race.risks[1]
    assert race.best == 1


def test_equal_settings_all_stay_and_the_simplest_wins():
    race = Race(3, whole=False)
    race.add(np.repeat(losses(0.3), 3, axis=0))
    assert race.left == [0, 1, 2]
    assert race.best == 0


def test_losses_that_are_no_numbers_drop_nobody():
    race = Race(2, whole=False)
    race.add(np.full((2, 9), np.nan))
    assert race.left == [0, 1]
    assert np.isnan(race.risks).all()


def test_a_whole_race_keeps_all():
    race = Race(3, whole=True)
    race.add(losses(0.1, 0.5, 0.9))
    assert race.left == [0, 1, 2]


def test_risks_and_errors_are_those_of_the_rows_seen():
    race = Race(2, whole=False)
    seen = losses(0.6, 0.1)
    race.add(seen)
    race.add(seen[1:])
    assert race.risks == pytest.approx(seen.mean(axis=1))
    assert race.errors[0] == pytest.approx(seen[0].std(ddof=1) / 20)


def opened(n: int):
    y = np.arange(n) % 2
    frame = pd.DataFrame({"a": RNG.normal(size=n) + y, "y": [f"k{v}" for v in y]})
    source = table_source(frame)
    return open_table(source, infer(source, target="y"))


@pytest.fixture(scope="module")
def table():
    return opened(RACED + 500)


def settings_fitted(monkeypatch, data, n: int) -> list[int]:
    counts = []
    honest = Guess.fit_each
    monkeypatch.setattr(
        Guess, "fit_each", lambda self, X, settings: (counts.append(len(settings)), honest(self, X, settings))[1]
    )
    register(monkeypatch, Guess)
    ((one,), _) = candidates(data.schema, 2, only=["guess"])
    search = search_settings(one, data, np.arange(n), "zero-one", 0)
    assert search.risks[search.chosen] == min(search.risks)
    return counts


def test_on_many_rows_later_folds_fit_fewer_settings(monkeypatch, table):
    counts = settings_fitted(monkeypatch, table, RACED + 500)
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0]


def test_on_few_rows_each_setting_goes_the_whole_way(monkeypatch, table):
    assert len(set(settings_fitted(monkeypatch, table, 300))) == 1


def test_a_model_may_compare_settings_on_some_of_the_rows(monkeypatch, table):
    sizes = []
    honest = Guess.fit_each
    monkeypatch.setattr(
        Guess, "fit_each", lambda self, X, settings: (sizes.append(X.n_rows), honest(self, X, settings))[1]
    )
    monkeypatch.setattr(Guess, "enough_rows", 50)
    register(monkeypatch, Guess)
    ((one,), _) = candidates(table.schema, 2, only=["guess"])
    search = search_settings(one, table, np.arange(400), "zero-one", 0)
    assert sizes == [50] * 5
    assert search.errors[0] == pytest.approx(0.5 / np.sqrt(400), rel=0.1)  # all are tested


def test_beyond_many_rows_a_quarter_of_them_is_tested_on_once(monkeypatch, table):
    monkeypatch.setattr(trial, "MANY", 400)
    (split,) = inner_splits(table, np.arange(1000), 0)
    assert len(split.test) == 250
    assert not set(split.train) & set(split.test)
    assert table.codes[split.test].mean() == pytest.approx(0.5, abs=0.01)


def test_rows_drawn_evenly_reach_from_the_first_to_the_last():
    drawn = drawn_evenly(np.arange(10, 1010), 100)
    assert (len(set(drawn)), drawn[0], drawn[-1]) == (100, 10, 1009)
    few = np.arange(7)
    assert drawn_evenly(few, 7) is few
