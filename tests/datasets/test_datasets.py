"""The bundled tables are what they say, and can be made again."""

from __future__ import annotations

import numpy as np
import pytest

import assay
from assay.datasets import CATALOGUE, generate
from assay.errors import DataError, ParameterError


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("coins", generate.coins),
        ("papayas", generate.papayas),
        ("digits", generate.digits),
        ("spam", generate.spam),
    ],
)
def test_made_tables_are_made_again_bit_for_bit(name, maker):
    assert assay.dataset(name).path.read_text(encoding="utf-8") == maker()


def test_the_oaks_are_those_of_the_notes():
    oaks = assay.dataset("oaks")
    assert oaks.X[:, 0].tolist() == [97, 93, 88, 81, 75, 57, 52, 45, 28, 15, 12, 11]
    assert oaks.y.tolist() == [12.5, 12.5, 8.0, 9.5, 16.5, 11.0, 10.5, 9.0, 6.0, 1.5, 1.0, 1.0]


def test_the_three_points_are_those_of_the_notes():
    points = assay.dataset("three-points")
    assert points.X.tolist() == [[2, -1], [2, 1], [1, 3]]
    assert points.y.tolist() == [1, 1, 0]


def test_coins_are_confused_only_where_their_specifications_are_close():
    data = assay.dataset("coins")
    answers = assay.GaussianNB().fit(data.X, data.y).predict(data.X)
    wrong = answers != data.y
    assert 0.02 < wrong.mean() < 0.08
    assert set(data.y[wrong]) == {"5c", "25c"}


def test_coins_lie_about_their_specifications():
    data = assay.dataset("coins")
    for coin, (size, mass) in generate.SPECIFICATIONS.items():
        mine = data.X[data.y == coin]
        n = len(mine)
        assert abs(mine[:, 0].mean() - size * (1 - 0.005 / 3)) < 4 * generate.SIZE_ERROR / np.sqrt(n)
        assert abs(mine[:, 1].mean() - mass * (1 - 0.03 / 3)) < 4 * generate.MASS_ERROR / np.sqrt(n)


def test_tasty_papayas_fill_a_rectangle_and_no_other_papaya_is_in_it():
    data = assay.dataset("papayas")
    tasty = data.X[data.y == "tasty"]
    low, high = tasty.min(axis=0), tasty.max(axis=0)
    inside = np.all((low <= data.X) & (high >= data.X), axis=1)
    assert np.array_equal(inside, data.y == "tasty")


def test_digits_and_spam_can_be_learnt_but_not_without_a_mistake():
    digits = assay.dataset("digits")
    model = assay.KNeighborsClassifier(3).fit(digits.X[:400], digits.y[:400])
    assert 0.0 < (model.predict(digits.X[400:]) != digits.y[400:]).mean() < 0.2
    spam = assay.dataset("spam")
    assert 0.3 < (spam.y == "spam").mean() < 0.5
    with pytest.raises(DataError, match="'message' of 'spam' is text"):
        _ = spam.X


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "spam"])
def test_a_dataset_and_its_file_hold_the_same_rows(name):
    data = assay.dataset(name)
    rows = assay.rows(data.path, target=data.target).in_memory()
    assert rows.names == data.names
    assert np.array_equal(rows.X, data.X)
    assert rows.y.tolist() == data.y.tolist()


def test_a_name_that_is_not_there_comes_with_the_nearest():
    with pytest.raises(ParameterError, match=r"no bundled dataset 'coin'. Did you mean 'coins'"):
        assay.dataset("coin")
