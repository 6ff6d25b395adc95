"""Probabilities of a kernel machine never contradict its labels, and are of use."""

from __future__ import annotations

import numpy as np
import pytest
from cases import blobs, pairs
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.families.kernel.svm.probability import fit_slopes, folds_of, label_first, many_shares, two_shares


@pytest.mark.parametrize("data", [pairs, blobs], ids=["two", "three"])
@pytest.mark.parametrize(
    "more", [{}, {"multi_class": "ovr"}, {"break_ties": True}, {"kernel": "linear", "C": 0.01}], ids=str
)
@settings(max_examples=5)
@given(seed=st.integers(0, 999))
def test_the_greatest_share_is_the_labels(data, more, seed):
    X, y = data(60, 3, seed)
    y = np.where(np.arange(60) % 5 == 0, (y + 1) % (y.max() + 1), y)  # labels that are often wrong
    model = assay.SVC(probability=True, tol=1e-2, **more).fit(X, y)
    Z = np.random.default_rng(seed).normal(scale=3.0, size=(300, 3))
    P = model.predict_proba(Z)
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(Z))
    assert np.allclose(P.sum(axis=1), 1.0)
    assert np.all(P >= 0)
    if len(model.classes_) == 2:
        assert np.array_equal(P[:, 1] > 0.5, model.decision_function(Z) > 0)
    labels, shares = next(model.predict_both_blocks(Z))
    assert np.array_equal(labels, model.predict(Z))
    assert np.array_equal(shares, P)


def test_shares_grow_with_decision_values():
    X, y = pairs(200, 3, 0)
    model = assay.SVC(probability=True).fit(X, y)
    f = model.decision_function(X)
    order = np.argsort(f)
    assert np.all(np.diff(model.predict_proba(X)[order, 1]) >= 0)


@pytest.mark.parametrize("data", [pairs, blobs], ids=["two", "three"])
def test_shares_on_new_rows_are_better_than_the_classes_own_and_near_those_of_libsvm(data):
    from sklearn import svm

    X, y = data(1200, 4, 0)
    model = assay.SVC(probability=True).fit(X[:600], y[:600])
    rows = np.arange(600)

    def loss(P):
        return float(-np.log(P[rows, y[600:]]).mean())

    usual = loss(np.tile(np.bincount(y[:600]) / 600, (600, 1)))
    with pytest.warns(FutureWarning):
        theirs = loss(svm.SVC(probability=True, random_state=0).fit(X[:600], y[:600]).predict_proba(X[600:]))
    assert loss(model.predict_proba(X[600:])) < 0.8 * usual
    assert loss(model.predict_proba(X[600:])) < 1.1 * theirs


def test_without_asking_there_are_none():
    X, y = pairs(60, 3, 0)
    model = assay.SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="probability=True"):
        model.predict_proba(X)
    assert hasattr(assay.SVC(probability=True), "predict_proba")
    model.set_params(probability=True)
    assert not hasattr(model, "predict_proba")  # until the next fit


def test_equal_rows_are_left_out_together_and_each_fold_has_every_class():
    keys = np.repeat(np.arange(30, dtype=np.uint64), 3)
    codes = np.repeat(np.arange(30) % 2, 3)
    fold = folds_of(keys, codes, np.ones(90), 2)
    assert all(len(np.unique(fold[keys == k])) == 1 for k in range(30))
    assert all(set(fold[codes == c]) == set(range(5)) for c in (0, 1))
    once = folds_of(keys[::3], codes[::3], np.full(30, 3.0), 2)
    assert np.array_equal(once, fold[::3])  # a weight is as good as copies


def test_a_class_of_one_row_is_never_left_out():
    X, y = pairs(60, 3, 0)
    labels = np.where(np.arange(60) == 7, 2, y)
    model = assay.SVC(probability=True).fit(X, labels)
    assert model.predict_proba(X).shape == (60, 3)
    again = assay.SVC(probability=True).fit([[0.0], [0.0], [1.0]], [0, 0, 1])
    assert again.predict_proba([[0.0]]).argmax() == 0


def test_slopes_are_positive_whatever_the_rows_say():
    f = np.linspace(-2, 2, 40)
    for greater in (f > 0, f <= 0, np.ones(40, dtype=bool), np.arange(40) % 2 == 0):
        slopes = fit_slopes(f, greater, np.ones(40))
        assert np.all(slopes > 0)
        assert np.all(np.isfinite(slopes))
        P = two_shares(f, slopes)
        assert np.array_equal(P.argmax(axis=1) == 1, f > 0)


def test_slopes_find_the_chances_that_made_the_rows():
    rng = np.random.default_rng(0)
    f = rng.normal(size=200_000)
    truth = np.where(f > 0, 3.0, 0.7)
    greater = rng.random(len(f)) < 1 / (1 + np.exp(-truth * f))
    assert fit_slopes(f, greater, np.ones(len(f))) == pytest.approx([0.7, 3.0], rel=0.05)


def test_a_tie_goes_to_the_label():
    Z = np.array([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 3.0]])
    label = np.array([0, 2, 2])
    P = many_shares(label_first(Z, label), 2.0, label)
    assert np.array_equal(P.argmax(axis=1), label)
    assert np.allclose(P.sum(axis=1), 1.0)
