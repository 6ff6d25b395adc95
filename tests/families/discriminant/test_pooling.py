"""Singular class covariances are pulled towards the common one by the share of least leave-one-out error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cases import file_bytes
from small_blocks import small_blocks

import assay
from assay import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

SHARES = 0.25 ** np.arange(8)


def marked(n=60, seed=0):
    """Three classes; the fourth column varies in the first class alone, the fifth in two of them."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 3)
    X = np.column_stack([rng.normal(size=(n, 3)) * (1 + y[:, None]) + y[:, None], np.zeros((n, 2))])
    X[y == 0, 3] = rng.random((y == 0).sum()) < 0.5
    X[y < 2, 4] = rng.random((y < 2).sum()) < 0.5
    return X, y


def structured(C, covariance):
    if covariance == "diagonal":
        return np.diag(np.diag(C))
    return np.trace(C) / len(C) * np.eye(len(C)) if covariance == "isotropic" else C


def log_densities(X, y, x, share, covariance, multiplier):
    """Of the row x, from the rows X alone, as Friedman (1989) has it."""
    n, means = np.bincount(y) * multiplier, [X[y == k].mean(axis=0) for k in range(3)]
    S = [multiplier[k] * structured((X[y == k] - m).T @ (X[y == k] - m), covariance) for k, m in enumerate(means)]
    scores = []
    for k, mean in enumerate(means):
        C = ((1 - share) * S[k] + share * sum(S)) / ((1 - share) * n[k] + share * n.sum())
        distance = (x - mean) @ np.linalg.solve(C, x - mean)
        scores.append(np.log(n[k]) - 0.5 * (distance + np.linalg.slogdet(C)[1]))
    return scores


@pytest.mark.parametrize("covariance", ["full", "diagonal", "isotropic"])
@pytest.mark.parametrize("multiplier", [(1.0, 1.0, 1.0), (1.0, 2.0, 0.5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_leave_one_out_errors_are_those_of_fits_without_the_row(covariance, multiplier, weighted):
    X, y = marked()
    if covariance == "isotropic":
        X[y == 0] = X[y == 0][0]  # the whole class is one point
    w = 1 + np.arange(len(y)) % 2 if weighted else np.ones(len(y), dtype=int)
    classes = dict(enumerate(multiplier))
    model = QuadraticDiscriminantAnalysis(covariance=covariance, class_weight=classes).fit(X, y, w)
    every, labels, cost = np.repeat(X, w, axis=0), np.repeat(y, w), np.array(multiplier)
    wrong = np.zeros(len(SHARES))
    for i, (x, k) in enumerate(zip(every, labels)):
        others, target = np.delete(every, i, axis=0), np.delete(labels, i)
        for s, share in enumerate(SHARES):
            answer = np.argmax(log_densities(others, target, x, share, covariance, cost))
            wrong[s] += cost[k] * (answer != k)
    assert np.allclose(model.pooled_errors_, wrong / cost[labels].sum(), atol=1e-12)
    assert model.pooled_share_ == SHARES[np.argmin(wrong)]
    assert model.certificate_.verify(X, y, w).holds


def test_a_table_of_many_rare_marks_is_answered_no_worse_than_by_linear_analysis(data_dir):
    frame = pd.read_csv(data_dir / "islr_caravan.csv")
    X, y = frame.drop(columns=frame.columns[-1]).to_numpy(float), frame.iloc[:, -1].to_numpy()
    quadratic, linear = (
        m().fit(X[1000:], y[1000:]) for m in (QuadraticDiscriminantAnalysis, LinearDiscriminantAnalysis)
    )
    assert quadratic.score(X[:1000], y[:1000]) >= linear.score(X[:1000], y[:1000]) - 0.01


def test_digits_are_answered_better_than_by_linear_analysis(data_dir):
    frame = pd.read_csv(data_dir / "optdigits.csv")
    X, y = frame.drop(columns="target").to_numpy(float), frame["target"].to_numpy()
    quadratic, linear = (
        m().fit(X[:1500], y[:1500]) for m in (QuadraticDiscriminantAnalysis, LinearDiscriminantAnalysis)
    )
    assert quadratic.score(X[3823:], y[3823:]) > linear.score(X[3823:], y[3823:]) + 0.02


def test_a_table_without_singular_classes_is_left_alone():
    X, y = marked()
    model = QuadraticDiscriminantAnalysis().fit(X[:, :3], y)
    assert model.pooled_share_ is None
    assert model.pooled_errors_ is None
    assert not {"pooled_share_", "pooled_errors_"} & {*model.to_record().arrays, *model.to_record().facts}


def test_rows_that_are_gone_leave_the_common_covariance():
    X, y = marked()
    parts = QuadraticDiscriminantAnalysis()
    for a in (0, 30):
        parts.partial_fit(X[a : a + 30], y[a : a + 30], classes=[0, 1, 2])
    assert parts.pooled_share_ == 1.0
    assert "as rows learnt from earlier are gone" in parts.certificate_["singular covariance"].statement
    assert np.allclose(parts.predict_proba(X), LinearDiscriminantAnalysis().fit(X, y).predict_proba(X), atol=1e-6)
    assert parts.certificate_.verify(X, y).holds


def test_a_weight_is_a_number_of_repetitions():
    X, y = marked()
    w = np.arange(len(y)) % 3
    weighted = QuadraticDiscriminantAnalysis().fit(X, y, w)
    repeated = QuadraticDiscriminantAnalysis().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.allclose(weighted.pooled_errors_, repeated.pooled_errors_, atol=1e-12)
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_the_same_bytes_come_from_every_engine(client):
    X, y = marked(9000)
    w = 0.5 + np.arange(len(y)) % 3
    files = set()
    with small_blocks(client):
        for name, where in (("threads", 1), ("threads", 2), ("stream", 1), ("cluster", client)):
            with assay.engine(name, where) if name == "cluster" else assay.engine(name, workers=where):
                files.add(file_bytes(QuadraticDiscriminantAnalysis().fit(X, y, w)))
    assert len(files) == 1


def test_a_class_that_counts_for_nothing_may_be_the_singular_one():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [0.0], [0.0], [0.0]]), np.array([1, 0, 1, 0, 0, 0, 1])
    model = assay.QuadraticDiscriminantAnalysis(priors=[0.16, 0.84], class_weight={1: 0.0}).fit(X, y)
    assert "class 1 has rank 0" in model.certificate_["singular covariance"].statement
    assert model.certificate_.verify(X, y).holds, str(model.certificate_.verify(X, y))
