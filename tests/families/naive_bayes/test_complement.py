"""Complement naive Bayes: scikit-learn's numbers, more rows later, and what follows where nothing is smoothed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from cases import counts
from sklearn.naive_bayes import ComplementNB as Theirs

import assay


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.01, [1.0, 2.0, 0.5, 4.0, 5.0]])
def test_all_numbers_are_those_of_scikit_learn(norm, alpha):
    X, y = counts(80, 5, 0)
    w = np.random.default_rng(0).random(80)
    ours = assay.ComplementNB(alpha=alpha, norm=norm).fit(X, y, w)
    theirs = Theirs(alpha=alpha, norm=norm).fit(X, y, w)
    for name in ("feature_log_prob_", "feature_count_", "feature_all_", "class_count_", "class_log_prior_"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name)), name
    assert ours.predict_joint_log_proba(X) == pytest.approx(theirs.predict_joint_log_proba(X))
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))
    assert ours.certificate_.verify(X, y, w).holds


def test_more_rows_later_and_sparse_rows_are_the_same_model():
    X, y = counts(60, 5, 1)
    whole = assay.ComplementNB().fit(X, y)
    parts = assay.ComplementNB().partial_fit(X[:20], y[:20], classes=[0, 1, 2]).partial_fit(X[20:], y[20:])
    assert parts.feature_log_prob_ == pytest.approx(whole.feature_log_prob_, rel=1e-14)
    sparse = assay.ComplementNB().fit(scipy.sparse.csr_array(X), y)
    assert sparse.feature_log_prob_ == pytest.approx(whole.feature_log_prob_, rel=1e-14)


@pytest.mark.parametrize("norm", [False, True])
def test_without_smoothing_a_column_of_one_class_decides_and_one_of_none_does_not(norm):
    X = np.array([[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    model = assay.ComplementNB(alpha=0.0, norm=norm).fit(X, [0, 0, 1, 2])
    assert model.predict(X).tolist() == [0, 0, 1, 2]
    more = X + np.array([0, 0, 0, 1])
    assert np.isfinite(model.predict_proba(more)).all()
    assert model.predict(more).tolist() == [0, 0, 1, 2]


def test_it_takes_part_in_comparisons_where_it_is_named():
    assert assay.ComplementNB.search_space("classifier", _traits()).when_named
    assert assay.ComplementNB.search_space("regressor", _traits()) is None


def _traits():
    from assay.estimator.search_space import TableTraits

    return TableTraits(rows=50, classes=3, only_categories=False, never_negative=True, text=False)
