"""Curves go through the points that scikit-learn 1.9 finds; ties are one step."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.special
import scipy.stats
import sklearn.metrics as peer

from assay.assess import precision_recall, reliability, roc, thresholds
from assay.assess.curves import binary_auc
from assay.errors import DataError, ParameterError


def made(n=300, decimals=1, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return y, (rng.normal(size=n) + y).round(decimals)


@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_roc_is_that_of_scikit_learn_with_ties(decimals):
    y, s = made(decimals=decimals)
    curve = roc(y, s)
    fpr, tpr, cuts = peer.roc_curve(y, s, drop_intermediate=False)
    assert np.allclose(curve.x, fpr)
    assert np.allclose(curve.y, tpr)
    assert np.array_equal(curve.thresholds, cuts)
    assert curve.area.value == pytest.approx(peer.roc_auc_score(y, s))
    assert curve.area.value == pytest.approx(np.trapezoid(curve.y, curve.x))


@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_precision_and_recall_are_those_of_scikit_learn_with_ties(decimals):
    y, s = made(decimals=decimals, seed=1)
    curve = precision_recall(y, s)
    precision, recall, cuts = peer.precision_recall_curve(y, s)
    assert np.allclose(curve.y, precision[::-1])
    assert np.allclose(curve.x, recall[::-1])
    assert np.array_equal(curve.thresholds[1:], cuts[::-1])
    assert curve.area.value == pytest.approx(peer.average_precision_score(y, s))
    assert 0 <= curve.area.low < curve.area.value < curve.area.high <= 1


def test_the_variance_of_delong_is_that_of_its_definition():
    y, s = made(60)
    a, b = s[y == 1], s[y == 0]
    wins = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    variance = wins.mean(axis=1).var(ddof=1) / len(a) + wins.mean(axis=0).var(ddof=1) / len(b)
    found = binary_auc(y == 1, s)
    A = wins.mean()
    half = scipy.stats.norm.ppf(0.975) * np.sqrt(variance) / (A * (1 - A))
    centre = scipy.special.logit(A)
    ends = (scipy.special.expit(centre - half), scipy.special.expit(centre + half))
    assert (found.low, found.high) == pytest.approx(ends)


def test_every_threshold_has_its_confusion_and_the_cheapest_is_best():
    y, s = made()
    found = thresholds(y, s, costs=(1.0, 4.0))
    for i in range(0, len(found.thresholds), 7):
        tn, fp, fn, tp = peer.confusion_matrix(y, s >= found.thresholds[i]).ravel()
        assert (found.tn[i], found.fp[i], found.fn[i], found.tp[i]) == (tn, fp, fn, tp)
        assert found.cost[i] == pytest.approx((fp + 4 * fn) / len(y))
        assert found.f1[i] == pytest.approx(peer.f1_score(y, s >= found.thresholds[i]))
    assert found.best_cost.value == pytest.approx(found.cost.min())
    assert found.best_cost.kind == "approximate"
    data = json.loads(json.dumps(found.to_data(50)))
    assert len(data["cost"]) <= 50
    assert data["thresholds"][0] is None


def test_the_two_rates_of_error_are_those_of_the_det_curve_of_scikit_learn():
    y, s = made(seed=5)
    found = thresholds(y, s)
    at = {t: (fp / (y == 0).sum(), fn / (y == 1).sum()) for t, fp, fn in zip(found.thresholds, found.fp, found.fn)}
    for fpr, fnr, cut in zip(*peer.det_curve(y, s, drop_intermediate=False)):
        assert at[cut] == pytest.approx((fpr, fnr))


def test_the_cost_of_a_threshold_is_exact_only_on_rows_held_out_from_its_choice():
    y, s = made(40, 9)
    y_new, s_new = made(5000, 9, seed=2)
    chosen = thresholds(y, s, held_out=(y_new, s_new))
    assert chosen.best_cost.kind == "exact"
    assert chosen.best_cost.n == 5000
    assert chosen.best_cost.value == pytest.approx(((s_new >= chosen.best) != (y_new == 1)).mean())
    assert chosen.best_cost.value > chosen.cost.min()  # the choice looked cheaper than it is


def test_reliability_bins_hold_equal_counts_and_the_error_is_their_mean_gap():
    rng = np.random.default_rng(3)
    p = rng.random(1000)
    y = (rng.random(1000) < p**2).astype(int)
    found = reliability(y, p, bins=5)
    assert [b.observed.n for b in found.bins] == [200] * 5
    gaps = [abs(b.mean - b.observed.value) for b in found.bins]
    assert found.error.value == pytest.approx(np.mean(gaps))
    due = scipy.stats.binomtest(round(found.bins[0].observed.value * 200), 200).proportion_ci(0.95, "exact")
    assert (found.bins[0].observed.low, found.bins[0].observed.high) == pytest.approx((due.low, due.high))
    assert found.error.low > 0.02  # p² is far from p, beyond doubt
    json.dumps(found.to_data())


def test_honest_probabilities_may_have_no_calibration_error():
    rng, zero = np.random.default_rng(4), 0
    for _ in range(100):
        p = rng.random(300)
        zero += reliability(rng.random(300) < p, p).error.low == 0
    assert zero >= 95


def test_equal_probabilities_share_a_bin_and_many_classes_are_judged_by_the_answer():
    found = reliability(np.array([0, 1] * 50), np.full(100, 0.5))
    assert [b.observed.n for b in found.bins] == [100]
    P = np.tile([0.6, 0.3, 0.1], (100, 1))
    many = reliability(np.repeat([0, 1, 2], [60, 30, 10]), P)
    assert many.bins[0].observed.value == pytest.approx(0.6)
    assert many.error.value == pytest.approx(0.0)


def test_curves_refuse_what_has_no_two_sides():
    with pytest.raises(DataError, match="two classes, got 1"):
        roc([1, 1], [0.1, 0.2])
    with pytest.raises(DataError, match="two classes, got 3"):
        roc([1, 2, 3], [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="row 1 is NaN"):
        roc([0, 1], [0.1, float("nan")])
    with pytest.raises(ParameterError, match="costs"):
        thresholds([0, 1], [0.1, 0.2], costs=(-1, 1))
    assert roc([1, 2, 3], [0.1, 0.2, 0.3], positive=3).area.value == 1
