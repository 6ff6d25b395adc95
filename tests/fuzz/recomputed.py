"""What can simply be computed again: leaves and the first split of a tree, nearest neighbours, rectangles."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import SAME, class_factor, live_rows, shares_of
from fuzz.exact import dot, exact

Problem = tuple[str, str]
LONG = np.longdouble

# --- trees -----------------------------------------------------------------------------------------------------------


def tree(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Each leaf answers with what its rows have, and no threshold at the root gains more than the one taken."""
    factor = class_factor(case, model)
    _, y, w = live_rows(case, factor, getattr(model, "classes_", None))
    if (factor is not None and (np.asarray(factor) <= 0).any()) or model.monotonic_cst is not None:
        return
    live = case.table.taking(np.ones(len(case.table.y)) > 0 if case.table.w is None else case.table.w > 0)
    leaf = model.apply(live.rows)
    answers = model.predict_proba(live.rows) if case.classifies else model.predict(live.rows)
    for number in np.unique(leaf):
        mine = leaf == number
        yield from _leaf(model, answers[mine], y[mine], w[mine], 0 if case.classifies else np.abs(y).max())


def root_split(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """No threshold of any column gains more at the root than the split taken; of plain trees on columns without gaps."""
    asked = {"criterion", "max_depth", "random_state", "class_weight", "bins", "folds", "n_jobs"}
    criterion = model.criterion
    if not claims["tree_best_splits"].holds or set(case.params) - asked or criterion not in ("gini", "squared_error"):
        return
    X, y, w = live_rows(case, class_factor(case, model), getattr(model, "classes_", None))
    if isinstance(model.bins, int) or np.isnan(X).any() or not len(model.gain_):
        return
    T = (
        (y[:, None] == model.classes_).astype(LONG)
        if criterion == "gini"
        else y.astype(LONG)[:, None] - y.astype(LONG).mean()
    )
    best = max(_greatest_gain(column, T, w.astype(LONG)) for column in X.T)
    whole = _purity(T, w.astype(LONG)) if criterion == "gini" else (w @ T**2).sum()
    if float(model.gain_[0]) * w.astype(LONG).sum() < best * (1 - LONG(SAME)) - LONG(1e-12) * whole:
        yield (
            "tree_best_splits: the root has a better one",
            f"{model.gain_[0]!r}, another gains {float(best / w.sum())!r}",
        )


def _purity(T: np.ndarray, w: np.ndarray) -> Any:
    """Σ (Σ w t)² / Σ w: weight times Gini impurity, or variance, is less by this than before the split."""
    return ((w @ T) ** 2).sum() / w.sum()


def _greatest_gain(column: np.ndarray, T: np.ndarray, w: np.ndarray) -> Any:
    gains = [
        _purity(T[left], w[left]) + _purity(T[~left], w[~left])
        for cut in np.unique(column)[:-1]
        for left in [column <= cut]
    ]
    return max(gains, default=LONG(0)) - _purity(T, w) if gains else LONG(0)


def _leaf(model: Any, answers: np.ndarray, y: np.ndarray, w: np.ndarray, size: float) -> Iterator[Problem]:
    """Numbers as near the mean as the claim says: a share of the greatest target (`size`), as sums are of whole units of it."""
    if hasattr(model, "classes_"):
        shares = shares_of(y, w, model.classes_)
        if abs(answers - shares).max() > SAME:
            yield "tree_leaves: a leaf has other shares than its rows", f"{answers[0]} and {shares}"
    elif model.criterion != "absolute_error":
        mean = dot(exact(w), exact(y.astype(float))) / sum(exact(w), Fraction(0))
        if abs(Fraction(float(answers[0])) - mean) > Fraction(SAME) * Fraction(float(size)):
            yield "tree_leaves: a leaf has another mean than its rows", f"{answers[0]!r} and {float(mean)!r}"


# --- neighbours ------------------------------------------------------------------------------------------------------

POWERS = {"euclidean": 2.0, "manhattan": 1.0}


def neighbours(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The distances from the drawn rows to their nearest others, by comparing all in 80 bits."""
    claim = claims["neighbours_exact"]
    if not claim.holds or claim.witness["metric"] not in POWERS or "map" in claim.witness:
        return
    X, _, _ = live_rows(case)
    stated, power = np.asarray(claim.witness["distances"], dtype=float), POWERS[claim.witness["metric"]]
    first = int("each left out in turn" in claim.statement)
    for query, listed in zip(np.asarray(claim.witness["queries"], dtype=float), stated):
        apart = np.abs(X.astype(LONG) - query.astype(LONG))
        far = np.sort((apart**power).sum(axis=1) ** (1 / LONG(power)))[first : len(listed) + first]
        if not (np.abs(far - listed) <= LONG(SAME) * far + LONG(1e-320)).all():
            yield "neighbours_exact: other distances than by comparing all", f"{listed} and {far.astype(float)}"
            return


def within(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """How many others are within the radius of the drawn rows, by comparing all in 80 bits."""
    claim = claims["neighbours_within"]
    if not claim.holds or claim.witness["metric"] not in POWERS or "map" in claim.witness:
        return
    X, _, _w = live_rows(case)
    power, radius = POWERS[claim.witness["metric"]], LONG(claim.witness["radius"])
    drawn = (np.asarray(claim.witness[name], dtype=float) for name in ("queries", "weights", "counts"))
    for query, weight, stated in zip(*drawn):
        far = (np.abs(X.astype(LONG) - query.astype(LONG)) ** power).sum(axis=1) ** (1 / LONG(power))
        own = int(weight <= 1)  # a row of more weight stays with what is left of it
        low, high = (int((far <= radius * (1 + LONG(side * SAME))).sum()) - own for side in (-1, 1))
        if not low <= stated <= high:
            yield "neighbours_within: another number of rows is within the radius", f"{stated:g} is not {low} to {high}"
            return


def soft_neighbours(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The mean chance that a soft neighbour under the model's map names a left-out row rightly, in 80 bits."""
    claim = claims["neighbours_learned"]
    X, y, w = live_rows(case)
    Z, c = (X.astype(LONG) - X.mean(axis=0)) @ np.asarray(model.map_, dtype=LONG), w.astype(LONG)
    far = ((Z[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(far, np.inf)
    e = c * np.exp(far.min(axis=1, keepdims=True) - far)
    chance = float(c @ (np.where(y[:, None] == y, e, 0).sum(axis=1) / e.sum(axis=1)) / c.sum())
    if claim.holds and abs(chance - claim.value) > SAME:
        yield "neighbours_learned: another chance is reached", f"{claim.value!r} is {chance!r}"


# --- rectangles ------------------------------------------------------------------------------------------------------


def tightest(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The sides of each rectangle are the least and greatest of the class in each column."""
    claim = claims["rectangle_tightest"]
    if not claim.holds:
        return
    X, y, _ = live_rows(case, claim.witness["factor"], model.classes_)
    claimed = np.atleast_1d(claim.witness["of"]).tolist()
    for place, of in enumerate(np.atleast_1d(claim.witness["owner"]).tolist()):
        mine = X[y == model.classes_[of]] if of in claimed else X[:0]
        lower, upper = (np.asarray(claim.witness[name], dtype=float)[place] for name in ("lower", "upper"))
        if len(mine) and not (np.array_equal(lower, mine.min(axis=0)) and np.array_equal(upper, mine.max(axis=0))):
            yield "rectangle_tightest: another rectangle is the tightest", f"{lower} to {upper}"


FEW = 16  # rows of which all rectangles are tried


def least_error(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The greatest of the classes' least errors, by trying all rectangles of few rows in one or two columns."""
    claim = claims["rectangle_least_error"]
    X, y, w = live_rows(case, claim.witness["factor"], model.classes_)
    if not claim.holds or model.n_rectangles != 1 or len(X) > FEW or X.shape[1] > 2 or claim.value is None:
        return
    w = w / w.sum()
    found = max(_least_error(X, np.where(y == model.classes_[k], w, -w)) for k in np.atleast_1d(claim.witness["of"]))
    if abs(found - claim.value) > SAME:
        yield "rectangle_least_error: another error is the least", f"{claim.value!r}, by trying all {found!r}"


def _least_error(X: np.ndarray, gain: np.ndarray) -> float:
    """The weight of the class less the greatest gain of a rectangle, or of none."""
    sides = [_intervals(column) for column in X.T]
    inside = sides[0] if len(sides) == 1 else (sides[0][:, None, :] & sides[1][None, :, :]).reshape(-1, len(X))
    return float(gain[gain > 0].sum() - max(0.0, (inside @ gain).max()))


def _intervals(column: np.ndarray) -> np.ndarray:
    """For each pair of values, which rows lie between (m, n)."""
    values = np.unique(column)
    low, high = (values[i] for i in np.triu_indices(len(values)))
    return (column >= low[:, None]) & (column <= high[:, None])
