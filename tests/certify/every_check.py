"""Fits whose certificates make a claim of every kind there is, each with the rows that it speaks of."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from cases import CASES, blobs, lines, pairs

import assay
from assay.assess.measure import confusion, residuals
from assay.certify import Claim
from assay.certify.held_out import held_out_error, held_out_loss
from assay.engines import ArrayRows, split_rows
from assay.families.separability.separability import separability

INF = float("inf")
SPLIT = {"fraction": 0.25, "seed": 3}


def apart(n: int = 120, d: int = 3):
    """Two classes with room between them."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    y = (X.sum(axis=1) > 0).astype(int)
    return X + 0.3 * (2 * y - 1)[:, None], y


def flat():
    """Three classes, with a column that is twice another and one that varies in no class but the first."""
    X, y = (a.copy() for a in blobs(120, 4, 0))
    X[:, 3] = 2 * X[:, 0]
    X[y > 0, 2] = 1.0
    return X, y


def touching():
    """A dummy column that occurs in one class alone."""
    X, y = pairs(120, 3, 0)
    marked = np.arange(120) % 20 == 0
    return np.column_stack([X, marked]), np.where(marked, 1, y)


def exponential():
    return assay.surrogate(lambda z, t: np.exp(-t * z), lambda z, t: -t * np.exp(-t * z), name="exponential")


def more_fits():
    """(model, X, y) for kinds of claims that the fits of `cases` do not make."""
    two, three, numbers = pairs(120, 3, 0), blobs(120, 4, 0), lines(120, 4, 0)
    yield assay.LogisticRegression(C=INF), *two
    yield assay.GradientBoostingClassifier(n_estimators=12, min_samples_leaf=5, n_iter_no_change=4), *two
    yield assay.LogisticRegression(C=INF), *three
    yield assay.LogisticRegression(C=INF), *apart()
    yield assay.LogisticRegression(C=INF), *touching()
    yield assay.LogisticRegression(), *two
    yield assay.LogisticRegression(l1_ratio=1.0), *three
    yield assay.LinearSVC(C=INF), *apart()
    yield assay.ERM(loss=exponential()), *two
    yield assay.ERM(loss="perceptron", penalty=None), *apart()
    yield assay.QuadraticDiscriminantAnalysis(), *two
    yield assay.QuadraticDiscriminantAnalysis(), *flat()
    yield assay.LinearDiscriminantAnalysis(), *flat()
    yield assay.GaussianNB(), *flat()
    yield assay.NaiveBayes(columns="poisson"), np.floor(np.abs(three[0]) * 3), three[1]
    yield assay.LinearRegression(), flat()[0], flat()[0] @ [1.0, 2.0, 3.0, 4.0] + np.arange(120) % 7
    yield assay.Perceptron(), *apart()
    yield assay.KernelPerceptron(kernel="linear"), *apart()
    yield assay.SVC(), *two
    yield assay.KNeighborsClassifier(3, metric="mahalanobis"), *three
    yield assay.KNeighborsClassifier(3, metric="learned"), *three
    yield assay.RectangleClassifier(method="exact"), three[0][:, :2], three[1]
    yield assay.RectangleClassifier(), apart()[0], np.abs(apart()[0]).max(axis=1) < 1.5
    yield assay.Ridge(), *numbers
    yield assay.KernelRidge(kernel="sigmoid"), *numbers


def held_out_claims():
    for model, (X, y), measure in (
        (assay.GaussianNB(), blobs(120, 4, 0), "errors"),
        (assay.Ridge(), lines(120, 4, 0), "losses"),
    ):
        seen, rest = split_rows(ArrayRows(X, y), *SPLIT.values())
        fitted = model.fit(seen)
        if measure == "errors":
            counts = confusion(fitted, rest)
            claim = held_out_error(counts.errors, counts.n, **SPLIT)
        else:
            sums = residuals(fitted, rest)
            claim = held_out_loss(sums.loss, sums.standard_error, sums.n, **SPLIT)
        yield claim, rest, fitted.predict


def explained():
    """(model, rows) whose SHAP values add up, of every way in which trees answer; the last against background rows."""
    two, three, numbers = pairs(120, 3, 0), blobs(120, 4, 0), lines(120, 4, 0)
    for model, (X, y) in (
        (assay.DecisionTreeClassifier(max_depth=3), three),
        (assay.RandomForestRegressor(5), numbers),
        (assay.RandomForestClassifier(5, voting="majority"), two),
        (assay.AdaBoostClassifier(n_estimators=5), two),
        (assay.GradientBoostingClassifier(n_estimators=5), three),
        (assay.GradientBoostingRegressor(n_estimators=5), numbers),
    ):
        yield model.fit(X, y).shap_certificate(X[:20]), X[:20]
    yield model.shap_certificate(X[:20], X[50:60]), X[:20]


@cache
def honest_claims() -> dict[str, list[tuple[Claim, ArrayRows, object]]]:
    """By the name of their check: claims, the rows they speak of, and the model's answers."""
    found: dict[str, list[tuple[Claim, ArrayRows, object]]] = {}

    def keep(claims, rows, predict):
        for claim in claims:
            found.setdefault(claim.check, []).append((claim, rows, predict))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, X, y in [*((case.model(), *case.rows()) for case in CASES), *more_fits()]:
            fitted = model.fit(X, y)
            keep(fitted.certificate_, ArrayRows(np.asarray(X), np.asarray(y)), fitted.predict)
    for X, y in (apart(), pairs(120, 3, 0), touching()):
        keep(separability(X, y).certificate, ArrayRows(X, y), None)
    for claim, rows, predict in held_out_claims():
        keep([claim], rows, predict)
    for certificate, X in explained():
        keep(certificate, ArrayRows(np.asarray(X)), None)
    return found
