"""The risk of every group, worst first, with the interval its number of rows allows."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.stats

from assay.assess import risk_by_group
from assay.errors import DataError


def test_groups_add_up_to_the_whole_and_come_worst_first():
    rng = np.random.default_rng(0)
    column = rng.choice(["north", "south", "west"], 500)
    losses = (rng.random(500) < np.where(column == "west", 0.4, 0.1)).astype(float)
    found = risk_by_group(losses, column)
    assert found[0].group == "west"
    assert [g.risk.value for g in found] == sorted((g.risk.value for g in found), reverse=True)
    assert sum(g.risk.value * g.risk.n for g in found) == pytest.approx(losses.sum())
    due = scipy.stats.binomtest(int(losses[column == "west"].sum()), int((column == "west").sum()))
    ends = due.proportion_ci(0.95, "exact")
    assert (found[0].risk.low, found[0].risk.high) == pytest.approx((ends.low, ends.high))
    json.dumps([g.to_data() for g in found])


def test_a_column_of_many_numbers_is_cut_into_equal_counts_and_missing_is_a_group():
    age = np.append(np.linspace(18, 90, 100), [np.nan] * 5)
    found = risk_by_group(np.arange(105) % 2, age, bins=4)
    assert sorted(g.risk.n for g in found) == [5, 25, 25, 25, 25]
    assert {"missing", "≤ 36", "> 72"} <= {g.group for g in found}
    assert [g.small for g in found] == [True] * 5


def test_few_numbers_are_groups_by_value_and_many_values_are_put_together():
    assert sorted(g.group for g in risk_by_group([0, 1, 1], [1, 2, 2])) == ["1", "2"]
    names = np.array([f"s{i % 50}" for i in range(500)] + ["s0"] * 10, dtype=object)
    found = risk_by_group(np.zeros(510), names, most=5)
    assert sum(g.risk.n for g in found) == 510
    assert {g.group: g.risk.n for g in found}["other"] == 450


def test_losses_that_are_no_zeros_and_ones_have_an_interval_of_their_kind():
    losses = np.random.default_rng(1).random(100)
    assert risk_by_group(losses, np.zeros(100))[0].risk.kind == "approximate"
    assert risk_by_group(losses, np.zeros(100), greatest=1.0)[0].risk.kind == "exact"


def test_rows_without_a_loss_are_refused():
    with pytest.raises(DataError, match="row 1 is NaN"):
        risk_by_group([0.0, float("nan")], ["a", "b"])
    with pytest.raises(DataError, match="column has 1"):
        risk_by_group([0.0, 1.0], ["a"])
