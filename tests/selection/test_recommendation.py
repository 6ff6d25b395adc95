"""Who is recommended: the best, or a simpler model that costs next to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError
from assay.selection.recommendation import LITTLE, recommend

NAN = float("nan")


def test_a_simpler_model_within_one_standard_error_is_named_but_not_taken_where_it_costs_much():
    """Few rows: kNN at 37 % is within one standard error of a forest at 22 %, and would cost the user 15 points."""
    choice = recommend([0.22, 0.37, 0.221], [0.0, 0.16, 0.01], [900, 10, 400])
    assert (choice.best, choice.simplest, choice.within) == (0, 1, [0, 1, 2])
    assert choice.chosen == 2


def test_what_is_more_than_one_standard_error_of_the_difference_above_the_best_is_not_within():
    assert recommend([0.100, 0.101], [0.0, 0.0005], [9, 1]).within == [0]
    assert recommend([0.100, 0.101], [0.0, 0.002], [9, 1]).chosen == 1


def test_of_equal_risks_the_lower_log_loss_is_the_best_then_the_simpler():
    assert recommend([0.3, 0.3, 0.3], [0.0] * 3, [2, 2, 2], log_losses=[0.9, 0.5, NAN]).best == 1
    assert recommend([0.3, 0.3], [0.0] * 2, [2, 1])[:3] == (1, 1, 1)
    assert recommend([0.3] * 4, [0.0] * 4, [2] * 4) == (0, 0, 0, [0, 1, 2, 3])


def test_a_simpler_model_of_much_worse_probabilities_or_of_none_is_not_taken():
    choice = recommend([0.20, 0.201], [0.0, 0.05], [9, 1], log_losses=[0.5, 2.5])
    assert (choice.simplest, choice.chosen) == (1, 0)
    assert recommend([0.20, 0.201], [0.0, 0.05], [9, 1], log_losses=[0.5, NAN]).chosen == 0
    assert recommend([0.20, 0.201], [0.0, 0.05], [9, 1], log_losses=[NAN, 2.5]).chosen == 1


def test_a_baseline_within_one_standard_error_is_taken_whatever_it_costs():
    risks, errors, sizes = [0.45, 0.50], [0.0, 0.06], [9, 1]
    assert recommend(risks, errors, sizes).chosen == 0
    assert recommend(risks, errors, sizes, baselines=[1]).chosen == 1


def test_a_single_model_is_chosen():
    assert recommend([0.3], [NAN], [NAN]) == (0, 0, 0, [0])


def test_failed_fits_take_no_part_and_unknown_complexity_is_the_greatest():
    choice = recommend([NAN, 0.1, 0.101], [0.1, 0.1, 0.1], [0, NAN, 7])
    assert (choice.best, choice.chosen, choice.within) == (1, 2, [1, 2])


def test_nothing_to_choose_from_is_an_error():
    for risks in ([], [NAN, NAN]):
        with pytest.raises(DataError, match="No model has a risk"):
            recommend(risks, [0.1] * len(risks), [1] * len(risks))
    with pytest.raises(DataError, match="as many"):
        recommend([0.1], [0.1, 0.2], [1])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.integers(0, 5)), min_size=1, max_size=12))
def test_the_chosen_is_never_much_worse_nor_more_complex_than_the_best(models):
    risks, errors, sizes = map(np.array, zip(*models))
    choice = recommend(risks, errors, sizes)
    assert risks[choice.chosen] <= risks.min() * (1 + LITTLE)
    assert sizes[choice.simplest] <= sizes[choice.chosen] <= sizes[choice.best]
    assert {choice.best, choice.simplest, choice.chosen} <= set(choice.within)
    assert risks[choice.best] == risks.min()
