"""Scores agree with scikit-learn 1.9, and their intervals with closed forms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics as peer

from assay.assess import classification_scores, per_class, regression_scores
from assay.assess.curves import binary_auc
from assay.errors import DataError, ParameterError


def by_name(scores):
    return {s.name: s for s in scores}


def made(n=400, K=3, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.array(["elm", "fir", "oak"])[:K]
    codes = rng.integers(0, K, n)
    Z = rng.normal(size=(n, K)) + 1.2 * np.eye(K)[codes]
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    return classes[codes], classes[P.argmax(axis=1)], P, classes


@pytest.mark.parametrize("K", [2, 3])
def test_classification_scores_are_those_of_scikit_learn(K):
    y, answers, P, classes = made(K=K)
    found = by_name(classification_scores(y, answers, P, classes))
    assert found["error"].value == pytest.approx(1 - peer.accuracy_score(y, answers))
    assert found["balanced error"].value == pytest.approx(1 - peer.balanced_accuracy_score(y, answers))
    assert found["log loss"].value == pytest.approx(peer.log_loss(y, P, labels=classes))
    sides = P if K > 2 else P[:, 1]
    brier = peer.brier_score_loss(
        y, sides, labels=classes, scale_by_half="auto", pos_label=None if K > 2 else classes[1]
    )
    assert found["Brier score"].value == pytest.approx(brier)
    area = peer.roc_auc_score(y, sides, multi_class="ovr", average="macro")
    name = "AUC" if K == 2 else "AUC (macro, one against rest)"
    assert found[name].value == pytest.approx(area)
    for s in found.values():
        assert s.low <= s.value <= s.high
        assert s.n == len(y)
    assert [s.kind for s in found.values()] == ["exact", "approximate", "approximate", "exact", "approximate"]
    json.dumps([s.to_data() for s in found.values()])


def test_per_class_scores_are_those_of_scikit_learn_and_cover_their_exact_interval():
    y, answers, _, classes = made()
    p, r, f, n = peer.precision_recall_fscore_support(y, answers, labels=classes)
    for k, found in enumerate(per_class(y, answers, classes)):
        values = (found.precision.value, found.recall.value, found.f1.value, found.n)
        assert values == pytest.approx((p[k], r[k], f[k], n[k]))
        right = int(((y == classes[k]) & (answers == classes[k])).sum())
        due = scipy.stats.binomtest(right, found.n).proportion_ci(0.95, "exact")
        assert (found.recall.low, found.recall.high) == pytest.approx((due.low, due.high))
        json.dumps(found.to_data())


def test_the_exact_interval_of_f1_covers_at_least_as_often_as_it_says():
    table = np.array([0.60, 0.05, 0.10, 0.25])  # (truth, answer) = 00, 01, 10, 11
    f1 = 2 * 0.25 / (2 * 0.25 + 0.05 + 0.10)
    rng, covered = np.random.default_rng(4), 0
    for _ in range(500):
        cells = rng.choice(4, 60, p=table)
        found = per_class(cells // 2, cells % 2, np.array([0, 1]))[1].f1
        covered += found.low <= f1 <= found.high
    assert covered >= 0.95 * 500


def test_the_exact_interval_of_the_brier_score_covers_at_least_as_often_as_it_says():
    rng, covered, p = np.random.default_rng(6), 0, 0.2
    truth = p * (1 - p)  # of answering (0.8, 0.2) where class 1 has probability 0.2
    for _ in range(300):
        y = (rng.random(50) < p).astype(int)
        found = by_name(classification_scores(y, np.zeros(50, int), np.tile([0.8, 0.2], (50, 1)), np.array([0, 1])))
        s = found["Brier score"]
        covered += s.low <= truth <= s.high
    assert covered >= 0.95 * 300


def test_about_95_of_100_intervals_cover_the_balanced_error_and_the_auc():
    rng, balanced, area = np.random.default_rng(7), 0, 0
    e0, e1 = scipy.stats.norm.sf(0.5), scipy.stats.norm.cdf(0.5 - 1.0)
    auc = scipy.stats.norm.cdf(1 / math.sqrt(2))
    for _ in range(400):
        y = (rng.random(120) < 0.3).astype(int)
        s = rng.normal(size=120) + y
        found = classification_scores(y, (s > 0.5).astype(int))[1]
        balanced += found.low <= (e0 + e1) / 2 <= found.high
        a = binary_auc(y == 1, s)
        area += a.low <= auc <= a.high
    assert balanced >= 0.93 * 400
    assert area >= 0.93 * 400


def test_costs_weigh_mistakes_and_the_chosen_loss_comes_first():
    y, answers = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    costs = [[0, 1], [5, 0]]
    first = classification_scores(y, answers, costs=costs, loss="cost")[0]
    assert (first.name, first.value, first.kind) == ("cost", 6 / 4, "exact")
    assert by_name(classification_scores(y, answers, costs=[1, 5]))["cost"].value == 6 / 4
    assert classification_scores(y, answers, loss="zero_one")[0].name == "error"
    assert classification_scores(y, answers, loss=lambda p, t: 2.0 * (p != t))[0].value == 1.0
    assert classification_scores(y, answers, np.full((4, 2), 0.5), loss="log")[0].value == pytest.approx(math.log(2))


def test_a_label_that_the_model_never_saw_is_a_mistake_with_probability_zero():
    scores = by_name(
        classification_scores(["a", "b", "new"], ["a", "b", "b"], np.eye(2)[[0, 1, 1]], np.array(["a", "b"]))
    )
    assert scores["error"].value == pytest.approx(1 / 3)
    assert scores["Brier score"].value == pytest.approx(1 / 3)
    assert scores["log loss"].value == pytest.approx(-math.log(np.finfo(float).eps) / 3)


def test_a_perfect_ranking_of_few_rows_is_not_said_to_be_certain():
    found = binary_auc(np.arange(20) >= 10, np.arange(20.0))
    assert found.value == 1
    assert 0.6 < found.low < 0.8


def test_regression_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(8)
    y = rng.normal(size=200)
    guess = y + 0.5 * rng.normal(size=200)
    mse, rmse, mae, r2 = regression_scores(y, guess)
    assert mse.value == pytest.approx(peer.mean_squared_error(y, guess))
    assert rmse.value == pytest.approx(peer.root_mean_squared_error(y, guess))
    assert mae.value == pytest.approx(peer.mean_absolute_error(y, guess))
    assert r2.value == pytest.approx(peer.r2_score(y, guess))
    assert r2.low < 0.75 < r2.high <= 1
    assert rmse.low**2 == pytest.approx(mse.low)


def test_about_95_of_100_intervals_cover_the_true_mse_and_r2():
    rng, mse, r2 = np.random.default_rng(9), 0, 0
    for _ in range(400):
        y = rng.normal(size=150)
        found = regression_scores(y, 0.8 * y + 0.6 * rng.normal(size=150))
        mse += found[0].low <= 0.4 <= found[0].high
        r2 += found[3].low <= 0.6 <= found[3].high
    assert min(mse, r2) >= 0.92 * 400


def test_what_cannot_be_scored_is_refused_with_a_reason():
    with pytest.raises(DataError, match="answers has 2"):
        classification_scores([0, 1, 1], [0, 1])
    with pytest.raises(DataError, match="no rows"):
        classification_scores([], [])
    with pytest.raises(DataError, match="between 0 and 1"):
        classification_scores([0, 1], [0, 1], [[2.0, -1.0], [0.5, 0.5]], [0, 1])
    with pytest.raises(ParameterError, match="zeros where the answer is right"):
        classification_scores([0, 1], [0, 1], costs=[[1, 1], [1, 1]])
    with pytest.raises(ParameterError, match="needs probabilities"):
        classification_scores([0, 1], [0, 1], loss="brier")
    with pytest.raises(ParameterError, match="no loss 'zeroone'"):
        classification_scores([0, 1], [0, 1], loss="zeroone")
    with pytest.raises(DataError, match="row 1 is inf"):
        regression_scores([0.0, 1.0], [0.0, math.inf])
    with pytest.raises(ParameterError, match="confidence=95"):
        classification_scores([0, 1], [0, 1], confidence=95)
