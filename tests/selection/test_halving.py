"""Successive halving: who goes on to more rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.selection.few_rows import kept


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.3)), min_size=1, max_size=20), st.floats(0.05, 1))
def test_nobody_within_one_standard_error_of_the_last_kept_is_dropped(measured, keep):
    risks, errors = map(np.array, zip(*measured))
    going_on = kept(risks, errors, keep)
    least = int(np.ceil(keep * len(risks)))
    assert len(going_on) >= least
    last = going_on[least - 1]
    for j in set(range(len(risks))) - set(going_on):
        assert risks[j] > risks[last] + errors[last]


def test_a_candidate_that_needs_many_rows_survives_while_it_cannot_be_told_apart():
    risks = np.array([0.12, 0.13, 0.14, 0.145])
    assert kept(risks, np.full(4, 0.05), 1 / 3) == [0, 1, 2, 3]
    assert kept(risks, np.zeros(4), 1 / 3) == [0, 1]


def test_failed_candidates_are_dropped_and_do_not_count():
    assert kept(np.array([np.nan, 0.3, np.nan, 0.1]), np.zeros(4), 0.5) == [3]
    assert kept(np.array([np.nan, np.nan]), np.zeros(2), 0.5) == []
    assert kept(np.array([0.1, 0.3]), np.array([np.nan, 0.1]), 0.5) == [0]  # an error that is unknown widens nothing
