"""Certificates of rectangles: what holds is established from the rows, what does not is refused by the checkers alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from assay import RectangleClassifier
from assay.families.rectangles.check import gain_bound, gain_of_one_column

rng = np.random.default_rng(11)
X = np.round(rng.random((150, 2)), 2)
INSIDE = ((X > 0.2) & (X < 0.7)).all(axis=1).astype(int)
NOISY = INSIDE ^ (rng.random(150) < 0.12)


def forged(certificate, name, value=None, **witness):
    """The certificate with a claim altered, for the checkers alone: nothing compares it with the model."""
    claims = tuple(
        dataclasses.replace(c, value=c.value if value is None else value, witness={**c.witness, **witness})
        if c.name == name
        else c
        for c in certificate.claims
    )
    return dataclasses.replace(certificate, claims=claims, own=None)


def verdict(certificate, name, y):
    return next(v for v in certificate.verify(X, y) if v.claim == name)


def moved(array, by):
    out = array.copy()
    out[0, 0] += by
    return out


def test_a_rectangle_that_is_not_the_tightest_is_refused():
    certificate = RectangleClassifier("tightest").fit(X, INSIDE).certificate_
    tight = certificate["tightest"].witness
    assert verdict(dataclasses.replace(certificate, own=None), "tightest", INSIDE).holds
    for lower in (
        moved(tight["lower"], -0.001),
        moved(tight["lower"], 0.05),
    ):  # a smaller one holds the rows; a row is left out
        for name in ("tightest", "PAC bound"):
            assert not verdict(forged(certificate, name, lower=lower), name, INSIDE).holds


def test_other_rows_inside_are_counted_and_rule_out_the_bound():
    model = RectangleClassifier("tightest").fit(X, NOISY)
    certificate = model.certificate_
    assert certificate["tightest"].value == model.lost_rows_.item() > 0
    assert "the bound for the realisable case is not claimed" in certificate["tightest"].statement
    assert "PAC bound" not in {c.name for c in certificate}
    hidden = forged(certificate, "tightest", value=0.0, lost_rows=np.zeros(1, dtype=np.int64))
    assert not verdict(hidden, "tightest", NOISY).holds
    bound = RectangleClassifier("tightest").fit(X, INSIDE).certificate_["PAC bound"]
    lie = dataclasses.replace(bound, witness={**bound.witness, "lower": model.lower_, "upper": model.upper_})
    lying = dataclasses.replace(certificate, claims=(*certificate.claims, lie), own=None)
    found = verdict(lying, "PAC bound", NOISY)
    assert not found.holds
    assert "not right on all rows" in found.reason
    with_model = dataclasses.replace(certificate, claims=(*certificate.claims, lie))
    assert not verdict(with_model, "PAC bound", NOISY).holds


def test_a_wrong_bound_is_refused():
    certificate = RectangleClassifier("tightest").fit(X, INSIDE).certificate_
    true = certificate["PAC bound"].value
    assert true == pytest.approx(4 * np.log(80) / 150)
    for change in ({"value": true / 2}, {"delta": 0.1}, {"delta": 0.5}, {"rows": 151}):
        assert not verdict(forged(certificate, "PAC bound", **change), "PAC bound", INSIDE).holds


def test_a_bound_that_says_nothing_yet_says_so():
    model = RectangleClassifier("tightest").fit([[0.0, 1], [1, 1], [2, 5]], [1, 1, 0])
    assert model.certificate_["PAC bound"].value > 1
    assert "3 rows say nothing yet" in model.certificate_["PAC bound"].statement


@pytest.mark.parametrize("columns", [1, 2])
def test_a_rectangle_that_is_not_of_least_error_is_refused(columns):
    A = X[:, :columns]
    exact = RectangleClassifier("exact").fit(A, NOISY)
    assert exact.certificate_.verify(A, NOISY).holds
    worse = RectangleClassifier("tightest").fit(A, NOISY)  # an honest rectangle with honest sums, but not the best
    claim = exact.certificate_["least error"]
    own = worse.cells_.sum(axis=0)[1] - (worse.won_ - worse.lost_).sum()
    lie = {name: getattr(worse, f"{name}_") for name in ("lower", "upper", "won", "lost")}
    certificate = forged(exact.certificate_, "least error", value=float(own) / 150, **lie)
    found = next(v for v in certificate.verify(A, NOISY) if v.claim == "least error")
    assert not found.holds
    assert "gains more than claimed" in found.reason
    for change in (
        {"value": claim.value / 2},
        {"won": exact.won_ + 1},
        {"lost": exact.lost_ + 1},
        {"lower": moved(exact.lower_, -1e-9)},
    ):
        refused = forged(exact.certificate_, "least error", **change).verify(A, NOISY)
        assert not refused.holds


def test_none_at_all_is_refused_where_some_rectangle_gains():
    exact = RectangleClassifier("exact").fit(X, NOISY)
    none = {"lower": np.empty((0, 2)), "upper": np.empty((0, 2)), "owner": np.empty(0, dtype=np.int64)}
    nothing = np.empty(0, dtype=np.int64)
    share = float(NOISY.mean())
    certificate = forged(exact.certificate_, "least error", value=share, won=nothing, lost=nothing, **none)
    assert "gains more" in verdict(certificate, "least error", NOISY).reason


def test_unions_are_checked_turn_by_turn():
    model = RectangleClassifier("exact", n_rectangles=3).fit(X, NOISY)
    assert len(model.owner_) == 3
    certificate = model.certificate_
    assert certificate.verify(X, NOISY).holds
    turned = np.array([1, 0, 2])
    swapped = {name: getattr(model, f"{name}_")[turned] for name in ("lower", "upper", "won", "lost")}
    assert not verdict(forged(certificate, "greatest gains", **swapped), "greatest gains", NOISY).holds
    two = {name: getattr(model, f"{name}_")[:2] for name in ("lower", "upper", "won", "lost", "owner")}
    assert not verdict(forged(certificate, "greatest gains", **two), "greatest gains", NOISY).holds
    assert not verdict(forged(certificate, "greatest gains", most=2), "greatest gains", NOISY).holds


def test_a_local_optimum_that_one_column_improves_is_refused():
    model = RectangleClassifier("search").fit(X, NOISY)
    certificate = model.certificate_
    assert certificate.verify(X, NOISY).holds
    worse = RectangleClassifier("tightest").fit(X, NOISY)
    lie = {name: getattr(worse, f"{name}_") for name in ("lower", "upper", "won", "lost")}
    found = verdict(forged(certificate, "local optimum", **lie), "local optimum", NOISY)
    assert not found.holds
    assert "raise the gain" in found.reason
    loose = forged(certificate, "local optimum", lower=moved(model.lower_, -1e-9))
    assert "a side on which no row of the class lies" in verdict(loose, "local optimum", NOISY).reason


def test_answers_are_recounted():
    model = RectangleClassifier().fit(X, NOISY)
    cells = model.cells_.copy()
    cells[0, 0] += 1
    for change in ({"cells": cells}, {"unit": model.unit_ * 2}, {"rows": 149}, {"rounded": True}, {"value": 0.0}):
        assert not verdict(forged(model.certificate_, "answers", **change), "answers", NOISY).holds


@pytest.mark.parametrize(
    "witness",
    [
        {"places": [0, 1]},
        {"places": [0]},
        {"of": [2]},
        {"owner": np.array([0])},
        {"upper": np.array([[-1.0, -1.0]])},
        {"factor": np.array([1.0, np.inf])},
        {"factor": np.array([1.0])},
        {"lower": np.zeros((1, 3))},
        {"shift": 4000},
        {"classes": [0, 2]},
    ],
    ids=lambda witness: next(iter(witness)),
)
def test_witnesses_that_make_no_sense_prove_nothing(witness):
    certificate = RectangleClassifier("exact").fit(X, NOISY).certificate_
    for name in ("least error", "answers"):
        assert not verdict(forged(certificate, name, **witness), name, NOISY).holds


def test_rounded_weights_are_told_and_certified():
    w = rng.random(150)
    model = RectangleClassifier("exact", class_weight={1: 1 / 3}).fit(X, NOISY, w)
    assert "weights are rounded to multiples of 2^-" in model.certificate_["least error"].statement
    assert model.certificate_.verify(X, NOISY, w).holds
    whole = RectangleClassifier("exact").fit(X, NOISY, 1.0 + np.arange(150) % 3)
    assert "rounded" not in whole.certificate_["least error"].statement


def test_the_bound_of_the_checker_is_the_greatest_gain():
    for seed in range(30):
        r = np.random.default_rng(seed)
        n = int(r.integers(1, 25))
        A, g = r.integers(0, 6, (n, 2)).astype(float), r.integers(-3, 4, n)
        best = 0
        for a, b, c, d in np.ndindex(6, 6, 6, 6):
            best = max(best, int(g[(A[:, 0] >= a) & (A[:, 0] <= b) & (A[:, 1] >= c) & (A[:, 1] <= d)].sum()))
        assert gain_bound(A, g, best)[0] == best
        if best:
            assert best - 1 < gain_bound(A, g, best - 1)[0] <= best
        line = max(0, *(int(g[(A[:, 0] >= a) & (A[:, 0] <= b)].sum()) for a, b in np.ndindex(6, 6)))
        assert gain_of_one_column(A[:, 0], g) == line == gain_bound(A[:, :1], g, 0)[0]
