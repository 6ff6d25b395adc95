"""The .632 and .632+ bootstrap estimates of a prediction rule's risk (Efron & Tibshirani 1997).

In round b the rule is fitted to n rows drawn with replacement; row i is in the sample N_i^b times and is tested on where
I_i^b = 1{N_i^b = 0}, at loss Q_i^b. With err the risk of the rule fitted to all rows on those rows, and γ its risk if
features and targets had nothing to do with each other:

    E_i = Σ_b I_i^b Q_i^b / Σ_b I_i^b        Err1 = mean_i E_i                       (leave-one-out bootstrap)
    Err.632 = .368 err + .632 Err1           R = (Err1 − err) / (γ − err) in [0, 1]  (overfitting)
    Err.632+ = (1 − w) err + w min(Err1, γ),  w = .632 / (1 − .368 R)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.errors import DataError, ParameterError, nearest
from assay.numerics import Array, Floats
from assay.select.splits import Resampling, bootstrap_split

Predict = Callable[[Array], Any]
KNOWN_LOSSES = ("zero-one", "squared")


class Bootstrapped(NamedTuple):
    """Estimates of the risk on new rows, and what they were made of. `standard_error` is that of `err632plus`."""

    err632plus: float
    err632: float
    standard_error: float
    leave_one_out: float  # Err1
    apparent: float  # err
    no_information: float  # γ
    overfitting: float  # R
    rounds: int


def bootstrap_risk(
    fit: Callable[[Array], Predict], y: Any, *, rounds: int = 50, seed: int = 0, loss: str = "zero-one"
) -> Bootstrapped:
    """Estimate the risk of a rule: `fit(rows)` fits it to those row numbers (repeated as drawn) and returns predict(rows).

    `loss` is "zero-one" for labels or "squared" for numbers.
    """
    y = np.asarray(y)
    if loss not in KNOWN_LOSSES:
        raise ParameterError(f"The bootstrap knows no loss {loss!r}. {nearest(loss, KNOWN_LOSSES)}")
    if rounds < 2:
        raise ParameterError(f"{rounds} bootstrap rounds say nothing about the spread: give at least 2, better 50.")
    if len(y) < 3:
        raise DataError(f"{len(y)} rows are too few for a bootstrap: at least 3 are needed.")
    every = np.arange(len(y))
    answers = np.asarray(fit(every)(every))
    apparent = float(_losses(loss, answers, y).mean())
    left_out = _leave_one_out(fit, y, rounds, seed, loss)
    gamma = no_information_risk(y, answers, loss)
    plus, plain, R = combine(apparent, left_out.risk, gamma)
    scale = plus / left_out.risk if left_out.risk > 0 else 1.0  # a constant factor, as in §5 of the paper
    return Bootstrapped(plus, plain, scale * left_out.error, left_out.risk, apparent, gamma, R, rounds)


def combine(apparent: float, leave_one_out: float, no_information: float) -> tuple[float, float, float]:
    """Err.632+, Err.632 and R from err, Err1 and γ.

    >>> [round(v, 3) for v in combine(0.0, 0.5, 0.5)]
    [0.5, 0.316, 1.0]
    """
    plain = 0.368 * apparent + 0.632 * leave_one_out
    capped = min(leave_one_out, no_information)
    R = (capped - apparent) / (no_information - apparent) if capped > apparent else 0.0
    w = 0.632 / (1 - 0.368 * R)
    return (1 - w) * apparent + w * capped, plain, R


def no_information_risk(y: Array, answers: Array, loss: str) -> float:
    """γ: the mean loss over all pairs of a target and an answer, n² of them, from the margins alone.

        zero-one  1 − Σ_k p_k q_k  (p_k, q_k: the shares of label k among targets and answers)
        squared   mean y² − 2 mean y · mean ŷ + mean ŷ²

    >>> no_information_risk(np.array([0, 1]), np.array([1, 1]), "zero-one")
    0.5
    """
    if loss == "squared":
        centre = y.mean()
        return float(np.mean((y - centre) ** 2) + np.mean((answers - centre) ** 2))
    classes, codes = np.unique(np.concatenate([y, answers]), return_inverse=True)
    p, q = (np.bincount(side, minlength=len(classes)) / len(y) for side in np.split(codes, 2))
    return float(1 - p @ q)


def _losses(loss: str, answers: Array, truth: Array) -> Floats:
    if answers.shape != truth.shape:
        raise DataError(f"Predictions of shape {answers.shape} cannot be compared with targets of shape {truth.shape}.")
    return np.asarray(answers != truth if loss == "zero-one" else (answers - truth) ** 2, dtype=np.float64)


class _LeftOut(NamedTuple):
    risk: float
    error: float


def _leave_one_out(fit: Callable[[Array], Predict], y: Array, rounds: int, seed: int, loss: str) -> _LeftOut:
    """Err1 and its standard error by the infinitesimal jackknife, with sums over the rounds alone (never rounds × rows).

        D_i = (2 + 1/(n − 1)) (E_i − Err1)/n + e_n cov_b(N_i^b, q^b),   q^b = Σ_i I_i^b Q_i^b / n,   e_n = (1 − 1/n)^−n
        SE² = Σ_i D_i² − e_n² (n − 1) var_b(q^b) / B

    The last term is what the second part of D would come to by chance alone from B rounds (Efron 2014); SE² is
    not taken below Σ_i (E_i − Err1)²/n², the plain variance of a mean.
    """
    n = len(y)
    plan = Resampling("bootstrap", repeats=rounds, seed=seed)
    lost, times = np.zeros(n), np.zeros(n)
    drawn, drawn_q = np.zeros(n), np.zeros(n)
    q = np.empty(rounds)
    for b in range(rounds):
        train, test = bootstrap_split(n, plan, b)
        losses = _losses(loss, np.asarray(fit(train)(test)), y[test])
        q[b] = losses.sum() / n
        N = np.bincount(train, minlength=n)
        lost[test] += losses
        times[test] += 1
        drawn += N
        drawn_q += N * q[b]
    seen = times > 0  # with few rounds a row may never have been left out
    risk = float(np.mean(lost[seen] / times[seen]))
    off = np.where(seen, lost / np.maximum(times, 1), risk) - risk
    e_n = (1 - 1 / n) ** -n
    D = (2 + 1 / (n - 1)) * off / n + e_n * (drawn_q / rounds - drawn / rounds * q.mean())
    chance = e_n**2 * (n - 1) * float(q.var()) / rounds
    return _LeftOut(risk, float(np.sqrt(max(float(D @ D) - chance, float(off @ off) / n**2))))
