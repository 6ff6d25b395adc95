"""Successive halving on risks that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError, ParameterError
from assay.select.halving import expected_seconds, halve, kept

NAN = float("nan")


class Clock:
    """A clock that evaluation moves on: `seconds` a candidate and full table, to the power of the share."""

    def __init__(self, seconds: float, power: float = 1.0) -> None:
        self.now, self.seconds, self.power = 0.0, seconds, power

    def __call__(self) -> float:
        return self.now

    def evaluate(self, candidates, share):
        self.now += len(candidates) * self.seconds * share**self.power
        return candidates, np.zeros(len(candidates))


def test_the_best_third_goes_on_and_shares_grow_threefold():
    found = halve([float(i) for i in range(27)], lambda c, share: (c, np.zeros(len(c))), rungs=3)
    assert [rung.share for rung in found.history] == pytest.approx([1 / 9, 1 / 3, 1])
    assert [len(rung.candidates) for rung in found.history] == [27, 9, 3]
    assert found.ranking == list(range(27))
    assert found.stopped == ""


def test_a_candidate_that_needs_many_rows_survives_while_it_cannot_be_told_apart():
    def risk(candidates, share):  # "slow" is the best on all rows, a bit worse on few
        table = {"slow": 0.1 + 0.05 * (1 - share), "a": 0.12, "b": 0.13, "c": 0.14}
        return [table[c] for c in candidates], np.full(len(candidates), 0.05)

    found = halve(["a", "b", "c", "slow"], risk, rungs=3)
    assert found.ranking[0] == 3
    sure = halve(["a", "b", "c", "slow"], lambda c, s: (risk(c, s)[0], np.zeros(len(c))), rungs=3)
    assert sure.ranking[0] == 0


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.3)), min_size=1, max_size=20), st.floats(0.05, 1))
def test_nobody_within_one_standard_error_of_the_last_kept_is_dropped(measured, keep):
    risks, errors = map(np.array, zip(*measured))
    going_on = kept(risks, errors, keep)
    least = int(np.ceil(keep * len(risks)))
    assert len(going_on) >= least
    last = going_on[least - 1]
    for j in set(range(len(risks))) - set(going_on):
        assert risks[j] > risks[last] + errors[last]


def test_failed_candidates_are_dropped_and_ranked_last():
    found = halve([NAN, 0.3, NAN, 0.1], lambda c, share: (c, np.zeros(len(c))), rungs=2, keep=0.5)
    assert found.ranking == [3, 1, 0, 2]
    assert found.history[1].candidates == [3]
    every = halve([NAN, NAN], lambda c, share: (c, c), rungs=3)
    assert every.stopped == "Every candidate failed."
    assert len(every.history) == 1


def test_a_rung_that_would_end_after_the_deadline_does_not_begin():
    clock = Clock(1.0)  # rungs of 3, 3 and 3 seconds
    found = halve([float(i) for i in range(27)], clock.evaluate, rungs=3, deadline=8.0, clock=clock)
    assert len(found.history) == 2
    assert clock.now == pytest.approx(6.0)
    assert "3 candidates on 100% of the rows" in found.stopped
    assert found.ranking == list(range(27))
    assert halve([float(i) for i in range(27)], Clock(1.0).evaluate, deadline=9.5, clock=Clock(0)).stopped == ""


def test_a_cost_that_grows_faster_than_the_rows_is_foreseen():
    clock = Clock(1.0, power=2.0)
    found = halve([float(i) for i in range(27)], clock.evaluate, rungs=3, clock=clock)
    assert expected_seconds(found.history[:2], 3, 1.0) == pytest.approx(found.history[2].seconds)


def test_impossible_searches_are_refused():
    with pytest.raises(DataError, match="no candidate"):
        halve([], lambda c, share: (c, c))
    with pytest.raises(ParameterError, match="0 rungs"):
        halve([1], lambda c, share: (c, c), rungs=0)
    with pytest.raises(DataError, match="2 candidates were measured"):
        halve([1.0, 2.0], lambda c, share: (c[:1], c))
