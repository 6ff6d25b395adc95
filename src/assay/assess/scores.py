"""How good answers are on rows the model never saw: each score with its interval.

error          share of wrong answers                     exact (Clopper–Pearson)
cost           mean of C[truth, answer]                   exact (bounded: hedged capital)
balanced error mean over classes of the class's error     approximate
log loss       −mean log p(y | x), p ≥ 2.2e-16            approximate (unbounded: Student's t)
Brier score    mean Σ_k (p_k − 1{y = k})², within [0, 2]; exact (bounded: hedged capital)
               of two classes half of that
AUC            see curves.py                              approximate (DeLong)

Of every class, exact, for each is (a function of) a share of a counted number of rows:

recall         TP/(TP + FN)    given how many rows are truly of the class
precision      TP/(TP + FP)    given how many rows were answered with it
F1             2J/(1 + J), J = TP/(TP + FP + FN)    given how many rows are one or the other; 2J/(1 + J) grows with J
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.assess.curves import macro_auc
from assay.assess.measure import class_codes, count_answers
from assay.assess.score import (
    Score,
    around,
    bounded_mean,
    check_confidence,
    mean_interval,
    plain,
    proportion,
    same_length,
    score,
)
from assay.certify.held_out import Interval, clopper_pearson
from assay.errors import DataError, ParameterError, nearest
from assay.inputs import as_regression_target
from assay.inputs.labels import distinct, plain_labels
from assay.numerics import Array, Floats
from assay.risk import SQUARED, Loss
from assay.risk.losses import LABEL, loss_of

ENDS = ("value", "low", "high")
EPS = float(np.finfo(np.float64).eps)  # the least probability the log loss takes, as in scikit-learn
FIRST = {"zero-one": "error", "balanced": "balanced error", "log": "log loss", "brier": "Brier score", "cost": "cost"}


def classification_scores(
    y: Any,
    answers: Any,
    P: Any = None,
    classes: Any = None,
    *,
    loss: str | Loss | Callable[[Any, Any], Any] = "zero-one",
    costs: Any = None,
    confidence: float = 0.95,
) -> list[Score]:
    """All scores of labels `answers` and, if given, probabilities `P` (n, K) of the sorted `classes`. The chosen loss comes first.

    `costs` is (K, K), cost of answering l where the truth is k, or (K,), cost of any mistake on class k. A true label that is
    no class is a mistake whatever the answer.

    >>> [str(s) for s in classification_scores([0, 0, 1, 1], [0, 1, 1, 1])][0]
    'error 0.25 [0.006309, 0.8059]'
    """
    confidence = check_confidence(confidence)
    y, answers = np.asarray(y), np.asarray(answers)
    n = same_length(y=y, answers=answers, P=P)
    known = distinct(np.concatenate([y, answers])) if classes is None else np.asarray(classes)
    C = count_answers(y, answers, known)
    scores = [proportion("error", n - int(np.trace(C)), n, confidence), balanced_error(C, confidence)]
    if costs is not None or loss == "cost":
        scores.append(mean_cost(C, costs, confidence))
    if P is not None:
        scores += probability_scores(class_codes(y, known), np.asarray(P, dtype=np.float64), confidence)
    return _first(loss, scores, y, answers, confidence)


def _first(loss: Any, scores: list[Score], y: Array, answers: Array, confidence: float) -> list[Score]:
    """The scores with that of the chosen loss in front."""
    if isinstance(loss, str):
        name = FIRST.get(loss.replace("_", "-"))
        if name is None:
            raise ParameterError(f"There is no loss {loss!r} for classes. {nearest(loss, FIRST)}")
        if all(s.name != name for s in scores):
            raise ParameterError(f"loss={loss!r} needs probabilities, and this model gives none: choose 'zero-one'.")
        return sorted(scores, key=lambda s: s.name != name)
    own = loss_of(loss)
    if own.needs != LABEL:
        raise ParameterError(f"The loss {own.name!r} looks at scores, not at labels: name 'log' or 'brier' instead.")
    each = own.value(answers, y)
    return [score(own.name, each.mean(), mean_interval(each, confidence, 0.0), "approximate", "low", len(y)), *scores]


def balanced_error(C: Array, confidence: float = 0.95) -> Score:
    """1/K Σ_k e_k over the classes that occur, of counts C; the ends add up the exact ones of the classes in squares.

    low = ē − 1/K √Σ(e_k − low_k)²,   high likewise          (Zou and Donner's MOVER, 2008)
    """
    sizes = C.sum(axis=1)
    wrong = sizes - np.append(np.diag(C), np.zeros(len(C) - len(np.diag(C)), dtype=C.dtype))
    ends = [(int(w) / int(m), *clopper_pearson(int(w), int(m), confidence)) for w, m in zip(wrong, sizes) if m]
    e, low, high = np.array(ends).T
    mean, K = float(e.mean()), len(e)
    within = Interval(mean - math.sqrt(((e - low) ** 2).sum()) / K, mean + math.sqrt(((high - e) ** 2).sum()) / K)
    return score("balanced error", mean, within, "approximate", "low", int(C.sum()))


def cost_matrix(costs: Any, K: int) -> Floats:
    """(K, K) with zeros on the diagonal, from itself or from the cost (K,) of a mistake on each class."""
    C = np.asarray(1.0 if costs is None else costs, dtype=np.float64)
    if C.ndim < 2 and C.shape in ((), (K,)):
        C = np.broadcast_to(C, (K,))[:, None] * (1 - np.eye(K))
    if C.shape != (K, K) or not np.isfinite(C).all() or (C < 0).any() or np.diag(C).any():
        raise ParameterError(
            f"costs must be {K} numbers or a {K} × {K} matrix, finite, ≥ 0, with zeros where the answer is right; got {costs!r}."
        )
    return C


def mean_cost(C: Array, costs: Any, confidence: float = 0.95) -> Score:
    """Σ_kl costs[k, l]·C[k, l] / n; a true label that is no class costs the most there is."""
    table = cost_matrix(costs, C.shape[1])
    table = np.vstack([table, np.full((len(C) - len(table), C.shape[1]), table.max())])
    each = np.repeat(table.ravel(), C.ravel())
    within = bounded_mean(each, 0.0, float(table.max()), confidence)
    return score("cost", each.mean(), within, "exact", "low", len(each))


def probability_scores(codes: Array, P: Floats, confidence: float = 0.95) -> list[Score]:
    """Log loss, Brier score and AUC of probabilities P (n, K); a code K is a label that is no class, of probability 0."""
    n, K = P.shape if P.ndim == 2 else (len(P), 0)
    if K < 2 or int(codes.max()) > K:
        raise DataError(f"P must have one column a class, got shape {P.shape} for {int(codes.max()) + 1} classes.")
    if not np.isfinite(P).all() or P.min() < 0 or P.max() > 1 + 1e-6:
        raise DataError("P must hold probabilities: finite numbers between 0 and 1.")
    p = np.where(codes < K, P[np.arange(n), np.minimum(codes, K - 1)], 0.0)
    log = -np.log(np.maximum(p, EPS))
    half = 0.5 if K == 2 else 1.0  # of two classes the terms are equal: everyone writes one of them
    brier = np.clip(half * (np.einsum("ij,ij->i", P, P) - 2 * p + 1), 0.0, 2.0 * half)
    out = [
        score("log loss", log.mean(), mean_interval(log, confidence, 0.0), "approximate", "low", n),
        score("Brier score", brier.mean(), bounded_mean(brier, 0.0, 2.0 * half, confidence), "exact", "low", n),
    ]
    return [*out, macro_auc(codes, P, confidence)] if int(codes.min()) < int(codes.max()) else out


def regression_scores(y: Any, predictions: Any, *, confidence: float = 0.95) -> list[Score]:
    """MSE, RMSE, MAE and R² = 1 − Σ(y − ŷ)²/Σ(y − ȳ)², all approximate: Student's t, for R² on its linearisation

        R̂² − R² ≈ 1/n Σ_i ((1 − R²)(y_i − ȳ)² − (y_i − ŷ_i)²) / var y

    >>> [round(s.value, 3) for s in regression_scores([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])]
    [0.333, 0.577, 0.333, 0.5]
    """
    confidence = check_confidence(confidence)
    n = same_length(y=y, predictions=predictions)
    truth, given = as_regression_target(np.asarray(y)), np.asarray(predictions, dtype=np.float64)
    if not np.isfinite(given).all():
        bad = int(np.flatnonzero(~np.isfinite(given))[0])
        raise DataError(f"The prediction of row {bad} is {given[bad]:g}: a score needs a finite number a row.")
    squared = SQUARED.value(given, truth)
    mse = score("MSE", squared.mean(), mean_interval(squared, confidence, 0.0), "approximate", "low", n)
    root = Interval(math.sqrt(mse.low), math.sqrt(mse.high))
    absolute = np.abs(truth - given)
    return [
        mse,
        score("RMSE", math.sqrt(mse.value), root, "approximate", "low", n),
        score("MAE", absolute.mean(), mean_interval(absolute, confidence, 0.0), "approximate", "low", n),
        _r2(truth, squared, confidence),
    ]


def _r2(y: Floats, squared: Floats, confidence: float) -> Score:
    n, spread = len(y), (y - y.mean()) ** 2
    if n < 2 or spread.sum() == 0:
        return Score("R²", float(squared.sum() == 0), -math.inf, 1.0, "approximate", "high", n)
    r2 = 1 - float(squared.sum() / spread.sum())
    each = ((1 - r2) * spread - squared) / spread.mean()
    within = around(r2, float(each.std(ddof=1)) / math.sqrt(n), n - 1, confidence)
    return score("R²", r2, Interval(within.low, min(1.0, within.high)), "approximate", "high", n)


@dataclass(frozen=True)
class ClassScores:
    """Of one class: how many rows are truly of it, and its three scores."""

    label: Any
    n: int
    precision: Score
    recall: Score
    f1: Score

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def per_class(y: Any, answers: Any, classes: Any = None, confidence: float = 0.95) -> list[ClassScores]:
    """The scores of each class, in the order of the classes.

    >>> [round(c.f1.value, 3) for c in per_class([0, 0, 1, 1], [0, 1, 1, 1])]
    [0.667, 0.8]
    """
    y, answers = np.asarray(y), np.asarray(answers)
    known = distinct(np.concatenate([y, answers])) if classes is None else np.asarray(classes)
    C = count_answers(y, answers, known)
    return [class_scores(label, C, k, confidence) for k, label in enumerate(plain_labels(known))]


def class_scores(label: Any, C: Array, k: int, confidence: float = 0.95) -> ClassScores:
    """The scores of class k from counts C (K or K + 1, K)."""
    right, true, answered = int(C[k, k]), int(C[k].sum()), int(C[:, k].sum())
    jaccard = proportion("F1", right, true + answered - right, confidence, "high")
    return ClassScores(
        label,
        true,
        proportion("precision", right, answered, confidence, "high"),
        proportion("recall", right, true, confidence, "high"),
        f1_of(jaccard),
    )


def f1_of(jaccard: Score) -> Score:
    """F1 with its interval from the share J of the rows of either kind that are of both."""
    return replace(jaccard, **{end: 2 * j / (1 + j) for end in ENDS for j in [getattr(jaccard, end)]})


def jaccard_of(f1: Score) -> Score:
    """The share J = F1/(2 − F1) that an F1 is made of."""
    return replace(f1, **{end: f / (2 - f) for end in ENDS for f in [getattr(f1, end)]})
