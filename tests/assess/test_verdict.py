"""The sentences say what the numbers say."""

from __future__ import annotations

import numpy as np

from assay.assess import bias_variance, compare_with_best
from assay.assess.bayes_error import BayesBracket
from assay.assess.score import Score, proportion
from assay.assess.verdict import amount, best_possible, percent, ranking, shown, span, train_and_test, where_it_errs


def bracket(low, high):
    return BayesBracket(low, high, low / 2, high * 1.5, 2, proportion("1-NN", round(high * 1000), 1000))


def test_the_best_possible_is_stated_with_its_uncertainty_and_what_may_be_left_to_gain():
    far = best_possible(bracket(0.03, 0.06), proportion("error", 128, 2000))
    assert far.startswith("Best possible is between 1.5 % and 7.6 % (estimate")  # least, and the error's own upper end
    assert far.endswith("at 6.4 % you may have up to 4.9 points to gain.")
    assert "cannot be told" in best_possible(bracket(0.03, 0.06), proportion("error", 10, 2000))
    assert "do not seem to overlap" in best_possible(bracket(0.0, 0.0), proportion("error", 0, 200))


def test_a_bracket_from_next_to_nothing_is_not_stated():
    """Between 0 % and the error itself every best possible error lies: "0 % to 62.9 %" said nothing."""
    wide = BayesBracket(0.12, 0.5, 0.0, 0.63, 6, proportion("1-NN", 20, 40))
    said = best_possible(wide, proportion("error", 18, 40))
    assert said.startswith("How far below 45.0 % any model could come cannot be told from these rows")
    assert "0 %" not in said.replace("45.0 %", "").replace("50.0 %", "")


def test_little_is_left_to_gain_only_where_the_whole_bracket_says_so():
    """Adult: 13.7 % with a bracket from 13.1 % was said to have little to gain, and others reach 12.4 %."""
    adult = BayesBracket(0.131, 0.227, 0.122, 0.241, 2, proportion("1-NN", 908, 4000))
    assert "up to 1.5 points" in best_possible(adult, proportion("error", 1673, 12211))
    tight = BayesBracket(0.4, 0.48, 0.39, 0.49, 2, proportion("1-NN", 48_000, 100_000))
    assert "little left to gain" in best_possible(tight, proportion("error", 40_500, 100_000))


def test_overfitting_is_said_in_plain_words():
    heart = train_and_test(proportion("error", 12, 1000), proportion("error", 98, 1000))
    assert heart == "Training 1.2 %, held out 9.8 %: it knows the rows of its fit by heart; what counts is the second."
    assert train_and_test(proportion("error", 90, 1000), proportion("error", 98, 1000)).endswith(
        "no sign of overfitting."
    )
    some = train_and_test(proportion("error", 1500, 20000), proportion("error", 1960, 20000))
    assert some.endswith("somewhat better; what counts is the second.")
    odd = train_and_test(proportion("error", 300, 1000), proportion("error", 100, 1000))
    assert odd.endswith("are the two parts alike?")
    r2 = [Score("R²", v, v - 0.02, v + 0.02, "approximate", "high", 100) for v in (0.99, 0.4)]
    assert (
        train_and_test(*r2)
        == "Training 0.9900, held out 0.4000: it knows the rows of its fit by heart; what counts is the second."
    )


def test_a_ranking_says_what_cannot_be_told_apart():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    columns = {f"m{share}": np.where(rng.random(400) < share / 100, 1 - y, y) for share in (10, 11, 40)}
    best, tests = compare_with_best(columns, y=y)
    wrong = int((columns[best] != y).sum())
    sentence = ranking(proportion("error", wrong, 400), tests)
    assert sentence.startswith("it does best, with error ")
    assert "cannot tell it apart from: m1" in sentence
    assert "m40" not in sentence
    only = ranking(proportion("error", wrong, 400), {"m40": tests["m40"]})
    assert only.endswith("It is better than the other.")


def test_stiff_and_nervous_fits_are_told_apart():
    class Mean:
        def __init__(self, X, y):
            self.m = y.mean()

        def predict(self, X):
            return np.full(len(X), self.m)

    X, y = np.zeros((30, 1)), np.random.default_rng(1).normal(size=30)
    assert "would not help" in where_it_errs(bias_variance(Mean, X, y, X, y, rounds=10))
    assert "would help" in where_it_errs(bias_variance(Mean, X, y, X, np.full(30, y.mean()), rounds=200))


def test_numbers_are_said_in_the_targets_unit_and_without_exponents():
    mse = Score("MSE", 2.51e9, 1.6e9, 3.6e9, "approximate", "low", 500)
    assert shown(mse) == "50 100 (40 000 to 60 000)"
    assert [amount(v, 3) for v in (0.0, 4.2, 10.0, 999.6, 1234.5, 0.00123)] == [
        "0",
        "4.20",
        "10.0",
        "1 000",
        "1 234",
        "0.00123",
    ]


def test_shares_have_a_decimal_and_small_ones_two_digits_that_matter():
    assert [percent(p) for p in (1.0, 0.0995, 0.0994, 0.01, 0.0099, 0.0)] == ["100 %", "10.0 %", "9.9 %", "1.0 %", "0.99 %", "0 %"]  # fmt: skip
    assert span(0.06, 0.06) == "6.0 %"
