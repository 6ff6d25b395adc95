"""Fits in closed form, without rounding: shares, means and variances of classes, and the counts of naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.exact import dot, exact

Problem = tuple[str, str]
SAME = 1e-6  # relative


def live_rows(case: Case, factor: Any = None, classes: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of positive weight, their targets, and weights (times the factor of their class)."""
    table = case.table
    w = np.ones(len(table.y)) if table.w is None else table.w.astype(float)
    if factor is not None:
        w = w * np.asarray(factor)[np.searchsorted(classes, table.y)]
    return table.dense[w > 0], table.y[w > 0], w[w > 0]


def shares_of(y: np.ndarray, w: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The share of each class of the weight, without rounding until the end."""
    total = sum(exact(w), Fraction(0))
    return np.array([float(sum(exact(w[y == label]), Fraction(0)) / total) for label in classes])


def class_factor(case: Case, model: Any) -> list[float] | None:
    """By what the rows of each class count, from `class_weight`: "balanced" classes weigh the same, and all together as before."""
    given = getattr(model, "class_weight", None)
    if given is None or not case.classifies:
        return None
    if isinstance(given, dict):
        return [float(given.get(label.item(), 1.0)) for label in model.classes_]
    w = np.ones(len(case.table.y)) if case.table.w is None else case.table.w
    shares = shares_of(case.table.y[w > 0], w[w > 0], model.classes_)
    return [1.0 / (share * (shares > 0).sum()) if share else 1.0 for share in shares]


def baseline_shares(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The baseline's probabilities are the shares of the classes."""
    _, y, w = live_rows(case)
    shares = shares_of(y, w, model.classes_)
    stated = model.class_prior_ if hasattr(model, "strategy") else model.predict_proba(case.table.rows[:1])
    if claims["constant_class"].holds and abs(stated - shares).max() > SAME:
        yield "constant_class: probabilities are not the shares of the classes", str(shares)


def weighted_means(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Means and variances of each class, without rounding; where a value is missing the row does not count."""
    claim = claims["naive_bayes_gaussian"]
    if not claim.holds:
        return
    X, y, w = live_rows(case, claim.witness["class_factor"], model.classes_)
    theta, var = (np.asarray(claim.witness[name]) for name in ("theta", "var"))
    added = Fraction(float(claim.witness["epsilon"]))
    cured = "naive_bayes_smoothing" in claims  # a variance of zero was replaced, which another claim tells
    for place, j in enumerate(np.asarray(claim.witness["columns"], dtype=int)):
        for k, label in enumerate(model.classes_):
            here = (y == label) & np.isfinite(X[:, j])
            if here.any():
                yield from _moments(X[here, j], w[here], float(theta[k, place]), float(var[k, place]), added, cured)


def _moments(x: np.ndarray, w: np.ndarray, theta: float, var: float, added: Fraction, cured: bool) -> Iterator[Problem]:
    values, weights = exact(x), exact(w)
    n = sum(weights, Fraction(0))
    mean = dot(values, weights) / n
    square = sum((c * (value - mean) ** 2 for c, value in zip(weights, values)), Fraction(0)) / n + added
    size = max(abs(value) for value in values)
    if not np.isfinite([theta, var]).all():
        yield "naive_bayes_gaussian is not finite", f"mean {theta}, variance {var}"
    elif abs(Fraction(theta) - mean) > Fraction(SAME) * size:
        yield "naive_bayes_gaussian: a mean is another", f"{theta!r}, exactly {float(mean)!r}"
    elif (square or not cured) and abs(Fraction(var) - square) > Fraction(SAME) * square + Fraction(2) ** -1000:
        yield "naive_bayes_gaussian: a variance is another", f"{var!r}, exactly {float(square)!r}"


def priors(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Priors that are the classes' shares."""
    claim = claims["naive_bayes_priors"]
    if claim.holds and claim.witness["rule"] == "frequency":
        _, y, w = live_rows(case, claim.witness["class_factor"], model.classes_)
        shares = shares_of(y, w, model.classes_)
        if abs(shares - claim.witness["priors"]).max() > SAME:
            yield "naive_bayes_priors are not the shares of the classes", f"{claim.witness['priors']} and {shares}"


def counts(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """(sum + alpha) / (rows + m·alpha) of each class and column: m = 2 of bits (above the threshold), 1 of Poisson's counts."""
    for check, name, m in (("naive_bayes_bernoulli", "p", 2), ("naive_bayes_poisson", "rate", 1)):
        claim = claims.get(check)
        if claim is None or not claim.holds:
            continue
        X, y, w = live_rows(case, claim.witness["class_factor"], model.classes_)
        if claim.witness.get("threshold") is not None:
            X = np.where(np.isnan(X), X, claim.witness["threshold"] < X)
        for place, j in enumerate(np.asarray(claim.witness["columns"], dtype=int)):
            alpha = Fraction(float(claim.witness["alpha"][place]))
            for k, label in enumerate(model.classes_):
                here = (y == label) & ~np.isnan(X[:, j])
                rows, total = sum(exact(w[here]), Fraction(0)), dot(exact(w[here]), exact(X[here, j]))
                stated = float(np.asarray(claim.witness[name])[k, place])
                due = (total + alpha) / (rows + m * alpha) if rows + m * alpha else Fraction(stated)
                if abs(Fraction(stated) - due) > Fraction(SAME) * due:  # the claim is one of shares
                    yield (
                        f"{check}: another {name}",
                        f"{stated!r}, exactly {float(due)!r}",
                    )


def discriminant_means(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The means of the classes."""
    claim = claims["discriminant_likelihood"]
    if not claim.holds:
        return
    yield from means(case, model.classes_, model.means_, "discriminant_likelihood")


def means(case: Case, classes: np.ndarray, stated: np.ndarray, check: str) -> Iterator[Problem]:
    """The means of the classes, in whole fractions."""
    X, y, w = live_rows(case)
    for k, label in enumerate(classes):
        mine = y == label
        for j in range(X.shape[1]) if mine.any() else ():
            values, weights = exact(X[mine, j]), exact(w[mine])
            mean = dot(values, weights) / sum(weights, Fraction(0))
            if abs(Fraction(float(stated[k, j])) - mean) > Fraction(SAME) * max(map(abs, values)):
                yield f"{check}: a mean is another", f"{stated[k, j]!r}, exactly {float(mean)!r}"


def centroids(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The means of the classes, where these are the centroids as they are."""
    claim = claims["nearest_centroid"]
    if not claim.holds or model.metric != "euclidean" or model.shrink_threshold is not None:
        return
    yield from means(case, model.classes_, model.centroids_, "nearest_centroid")
