"""Kernel features once more: rows are mapped by the formula in numbers of 80 bits, and the linear model is asked about these features.

What a linear model claims of its columns it claims here of the features, so that its own optima answer: a linear program, L-BFGS, exact fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import live_rows
from fuzz.kernel_runs import formula
from fuzz.least_squares_optima import least_squares
from fuzz.linear_optima import duality_gap
from fuzz.splitmix import content_key

Problem = tuple[str, str]
LONG = np.longdouble
SAME = LONG(1e-6)
ROUNDS = LONG(1e-9)
DRAWN = 500  # rows between which map and kernel are compared
OF_LINEAR = {"duality_gap": duality_gap, "normal_equations": least_squares}
MOST_FEATURES = 12  # whose normal equations are solved in fractions


def numbers_of(model: Any) -> tuple[float, float, float]:
    """gamma, degree and coef0 of the kernel as it was fitted."""
    return float(model.gamma_), float(model.degree), float(model.coef0)


def features(model: Any, X: np.ndarray) -> np.ndarray:
    """φ(x) by the formula: kernels at the landmarks times the map, or waves."""
    if model.features == "nystroem":
        return formula(model.kernel, numbers_of(model), X, model.landmarks_) @ model.map_.astype(LONG)
    waves = (X.astype(LONG) - model.centre_) @ model.frequencies_.astype(LONG) + model.offset_
    return np.sqrt(LONG(2) / waves.shape[1]) * np.cos(waves)


def coarse(model: Any, X: np.ndarray) -> float:
    """What 64 bits may put a feature off by: cosines of great angles, and products with a map of great numbers, lose digits."""
    if model.features == "nystroem":
        k = np.abs(formula(model.kernel, numbers_of(model), X, model.landmarks_))
        lengths = np.sqrt((X**2).sum(axis=1).max() * (model.landmarks_**2).sum(axis=1).max())
        base = model.gamma_ * lengths + abs(model.coef0) if model.kernel == "poly" else lengths + 1.0
        top = float(base) ** (model.degree if model.kernel == "poly" else 1.0)
        size = np.full_like(k, 1.0 if model.kernel in ("rbf", "laplacian") else top)
        return 1e-14 * float((size @ np.abs(model.map_)).max())
    return 1e-15 * float((np.abs(X - model.centre_) @ np.abs(model.frequencies_)).max() + 8.0)


def on_features(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """The linear model's claims of the mapped rows, and the answers: w·φ(x) + b."""
    X, _, _ = live_rows(case)
    F, off = features(model, case.table.dense), coarse(model, X)
    if not np.isfinite(F).all() or not off < 1e-8:
        return
    told = {claim.witness["of_features"]: claim for claim in model.certificate_ if claim.check == "kernel_features"}
    mapped = case.with_table(replace(case.table, X=F.astype(float), sparse=False))
    linear = _linear(model)
    for check, oracle in OF_LINEAR.items():
        if check in told and (check != "normal_equations" or F.shape[1] <= MOST_FEATURES):
            yield from ((f"kernel_features: {word}", text) for word, text in oracle(mapped, linear, told))
    yield from _answers(case, model, F, off)


def _linear(model: Any) -> Any:
    """The linear model in the features, as far as its optima look at it."""
    parts = {name: getattr(model, name) for name in ("alpha", "classes_", "tol") if hasattr(model, name)}
    return SimpleNamespace(coef_=model.feature_coef_, intercept_=model.intercept_, fit_intercept=True, **parts)


def _answers(case: Case, model: Any, F: np.ndarray, off: float) -> Iterator[Problem]:
    w, b = np.atleast_2d(model.feature_coef_).astype(LONG), np.atleast_1d(model.intercept_).astype(LONG)
    due, size = F @ w.T + b, np.abs(F) @ np.abs(w).T + np.abs(b)
    rows = case.table.dense
    told = model.decision_function(rows) if case.classifies else model.predict(rows)
    slack = ROUNDS * size + 2 * off * np.abs(w).sum(axis=1)
    if (np.abs(told.reshape(due.shape) - due) > slack).any():
        yield "kernel_features: other answers than of the features", f"{told[:3]}, found {due[:3].astype(float)}"


def approximation(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Which rows are landmarks and which are compared is drawn by hashes; there, how far products of features are from the kernel."""
    claim, (X, _, _) = claims["kernel_approximation"], live_rows(case)
    landmarks = model.landmarks_ if model.features == "nystroem" else X[:0]
    seed = int(model.random_state)
    rows = [np.array(row) for row in {tuple((row + 0.0).tolist()) for row in X}]
    rows.sort(key=lambda row: (content_key(row, seed, "f"), content_key(row, seed, "d")))
    drawn = np.array(rows[: len(landmarks) + DRAWN])
    if not np.array_equal(drawn[: len(landmarks)], landmarks):
        yield "kernel_approximation: landmarks are other rows", f"{np.asarray(landmarks)[:2]}"
        return
    sample, off = drawn[-DRAWN:], coarse(model, X)
    K, F = formula(model.kernel, numbers_of(model), sample, sample), features(model, sample)
    apart, top = K - F @ F.T, np.abs(K).max()
    found = np.sqrt((apart**2).mean()), np.abs(apart).max(), np.diag(apart).mean()
    stated = float(claim.value), float(claim.witness["largest"]), float(claim.witness["trace"])
    slack = SAME * top + 4 * LONG(off) * np.abs(F).max() * F.shape[1]
    if claim.holds and (claim.witness["rows"] != len(sample) or any(abs(a - b) > slack for a, b in zip(stated, found))):
        yield "kernel_approximation: other errors of the map", f"{stated}, found {[float(v) for v in found]}"
