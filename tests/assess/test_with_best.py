"""Each model against the best of the others: the really best one is told to be worse as seldom as promised, the others oftener than by Holm's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from assay.assess import compare_pair, compare_with_best, holm, in_words
from assay.assess.paired import SAME
from assay.assess.with_best import _maxima
from assay.errors import DataError

K, N, DRAWS = 5, 120, 200
TOLERANCE = 3 * math.sqrt(0.05 * 0.95 / DRAWS)  # three standard errors of a share of 5 % over so many draws


def told(tests: dict[int, object]) -> np.ndarray:
    return np.array([i in tests and tests[i].verdict != SAME for i in range(K)])


def told_by_holm(losses: np.ndarray, **given: object) -> np.ndarray:
    best = int(losses.mean(axis=1).argmin())
    p = [1.0 if i == best else compare_pair(losses[best], each, **given).p for i, each in enumerate(losses)]
    return holm(p, K * (K - 1) // 2) < 0.05


@pytest.fixture(scope="module", params=["answers", "losses"])
def draws(request) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each draw who is told to be worse, by ours and by Holm's: model 0 is the best by a hair, the last two are much worse."""
    rng, found = np.random.default_rng(5), []
    rates = np.array([0.2, 0.2001, 0.2001, 0.3, 0.35])
    for _ in range(DRAWS):
        hard = rng.normal(size=N) * math.sqrt(0.7) + rng.normal(size=(K, N)) * math.sqrt(0.3)
        wrong = hard < scipy.stats.norm.ppf(rates)[:, None]
        given = {"y": np.zeros(N, dtype=bool)} if request.param == "answers" else {"n_train": 20 * N}
        columns = wrong if "y" in given else rates[:, None] + 0.8 * hard
        found.append((told(compare_with_best(dict(enumerate(columns)), **given)[1]), told_by_holm(columns, **given)))
    return found


def test_the_really_best_is_told_to_be_worse_as_seldom_as_promised(draws):
    assert np.mean([ours[0] for ours, _ in draws]) <= 0.05 + TOLERANCE


def test_no_less_is_found_than_by_holm_in_any_draw_and_more_in_all(draws):
    assert all((ours >= holms).all() for ours, holms in draws)
    assert np.mean([ours[3:].sum() for ours, _ in draws]) > 1.1 * np.mean([holms[3:].sum() for _, holms in draws])


def test_the_intervals_of_all_differences_hold_together():
    """θ_i = R_i − min of the others, all k of them at once, in 95 % of the draws."""
    rng, true = np.random.default_rng(6), np.array([0.0, 0.02, 0.1, 0.3])
    held = 0
    for _ in range(DRAWS):
        losses = true[:, None] + rng.normal(size=60) + rng.normal(size=(4, 60)) * 0.5
        tests = compare_with_best(dict(enumerate(losses)))[1]
        gaps = {i: true[i] - min(true[j] for j in range(4) if j != i) for i in tests}
        held += all(-test.high <= gaps[i] <= -test.low for i, test in tests.items())
        assert all(test.low <= test.difference <= test.high for test in tests.values())
        assert all((test.high == 0) == (test.verdict != SAME) for test in tests.values() if test.difference)
    assert held / DRAWS >= 0.95 - TOLERANCE


def test_of_two_models_p_is_that_of_the_one_sided_test():
    rng = np.random.default_rng(1)
    a, b = rng.random(50), rng.random(50) + 0.1
    assert compare_with_best({"a": a, "b": b})[1]["b"].p == pytest.approx(compare_pair(a, b).p / 2, rel=1e-3)


def test_the_lattice_agrees_with_the_integral_of_the_joint_normal():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(5, 9))
    variance = ((A[:, None] - A) ** 2).sum(axis=2)
    found = _maxima(variance)
    for i in range(5):
        D = np.array([(A[i] - A[j]) / math.sqrt(variance[i, j]) for j in range(5) if j != i])
        due = scipy.stats.multivariate_normal(cov=D @ D.T, allow_singular=True, seed=0).cdf(np.full(4, 2.1))
        assert np.mean(found[i] <= 2.1) == pytest.approx(due, abs=2e-3)


def test_models_that_never_differ_say_nothing_of_each_other_and_cost_nothing():
    rng = np.random.default_rng(3)
    a, b = rng.random(300), rng.random(300) + 0.08
    once = compare_with_best({"a": a, "b": b})[1]["b"]
    again = compare_with_best({"a": a, "same": a, "b": b})[1]
    assert again["same"].verdict == SAME
    assert again["same"].p == 1.0
    assert again["b"].p == pytest.approx(once.p, rel=0.05)
    assert 0.01 < once.p < 0.2


def test_a_constant_gap_over_many_rows_is_a_difference():
    flat = np.full(40, 0.25)
    assert compare_with_best({"a": flat, "b": flat + 0.25, "c": flat + 0.5})[1]["c"].verdict == "first is better"


def test_the_order_of_the_models_changes_no_verdict():
    rng = np.random.default_rng(4)
    losses = {str(i): rng.random(80) + 0.05 * i for i in range(5)}
    one, other = (compare_with_best(dict(order))[1] for order in (losses.items(), reversed(losses.items())))
    assert {k: t.verdict for k, t in one.items()} == {k: t.verdict for k, t in other.items()}
    assert [t.p for t in one.values()] == pytest.approx([other[k].p for k in one], abs=3e-3)
    assert compare_with_best(losses)[1] == one  # to the last digit


def test_the_best_is_compared_with_all_others_under_one_error_rate():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 500)
    noisy = {f"{share:.2f}": np.where(rng.random(500) < share, 1 - y, y) for share in (0.10, 0.11, 0.30)}
    best, tests = compare_with_best(noisy, y=y)
    assert best in ("0.10", "0.11")
    near, far = tests[{"0.10": "0.11", "0.11": "0.10"}[best]], tests["0.30"]
    assert near.verdict == "cannot tell apart"
    assert far.verdict == "first is better"
    assert "cannot be told apart" in in_words(near, "LDA", "QDA")
    assert in_words(far, "LDA", "stump").startswith(
        "LDA is better than stump (McNemar, exact, with the best (Hsu), p < 0.0001"
    )


def test_nothing_to_compare_is_refused_and_one_model_is_the_best():
    with pytest.raises(DataError, match="nothing to compare"):
        compare_with_best({})
    assert compare_with_best({"a": [0.1, 0.2]}) == ("a", {})
