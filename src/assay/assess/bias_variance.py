"""Why a model errs: fitted anew on bootstrap samples of its rows, how far off is it on the whole, and how much does it waver?

Squared loss (notes 003), f̄(x) the mean over fits:

    mean (y − f̂)² = mean (y − f̄)² + mean (f̂ − f̄)²        bias² and noise together, and variance
    mean (y − f̄)² = mean (f − f̄)² + mean (y − f)² + cross  where the true f is given; cross is zero in expectation

The mean of B fits wavers itself, by variance/B, which would count as bias. So the variance is the unbiased one, s² = Σ (f̂ − f̄)²/(B − 1),
and s²/B is taken off the bias: both are then right in expectation, and still add up, as mean (f̂ − f̄)² = s² − s²/B.
A bias² of next to nothing can so come out below 0.

Zero-one loss (Domingos 2000), main(x) the most frequent answer, bias 1{main ≠ y}:

    mean 1{f̂ ≠ y} = bias + V_u − V_b,   V_u = mean 1{main = y}·P(f̂ ≠ main),   V_b = mean 1{main ≠ y}·P(f̂ = y)

Wavering does harm where the main answer is right (V_u) and good where it is wrong (V_b). Noise counts as bias. These pieces are
those of the B fits made: the main answer is their own, so that few fits seem to waver a little less than they do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.assess.measure import class_codes
from assay.assess.score import Score, around, plain, same_length, score
from assay.certify.held_out import Interval
from assay.errors import DataError, ParameterError
from assay.inputs.labels import distinct
from assay.numerics import Array, Floats

DRAWS = 100  # of the bootstrap of rows and rounds behind the standard errors
TRIES = 100  # samples drawn for a round until two classes are among them


@dataclass(frozen=True)
class BiasVariance:
    """The pieces by name, each with its interval (bootstrap of test rows and of rounds); they add up to `mean_loss`.

    squared: 'bias² + noise' and 'variance', or 'bias²', 'noise', 'cross' and 'variance' where f was given.
    zero-one: 'bias', 'unbiased variance' and 'biased variance' (taken off). `variance` is how often a fit departs from the main answer.
    """

    loss: str
    rounds: int
    mean_loss: Score
    pieces: dict[str, Score]
    variance: Score

    def to_data(self) -> Any:
        """Plain values for JSON."""
        return plain(self)


def bias_variance(
    fit: Callable[[Any, Any], Any],
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    rounds: int = 50,
    seed: int = 0,
    loss: str = "squared",
    f_test: Any = None,
) -> BiasVariance:
    """`fit(X, y)` returns a model with `predict`. `f_test` is the true f at X_test, where it is known (squared loss)."""
    loss = loss.replace("_", "-")
    if loss not in ("squared", "zero-one"):
        raise ParameterError(f"There is a decomposition of the 'squared' and of the 'zero-one' loss, not of {loss!r}.")
    if rounds < 2:
        raise ParameterError(f"rounds={rounds!r} is not possible: variance needs at least 2 fits.")
    y, y_test = np.asarray(y), np.asarray(y_test)
    n = same_length(y_test=y_test, f_test=f_test)
    answers = np.stack([_refit(fit, X, y, X_test, (seed, b), loss) for b in range(rounds)])
    if answers.shape != (rounds, n):
        raise DataError(f"predict gave shape {answers.shape[1:]} for {n} test rows: one answer a row is due.")
    if loss == "squared":
        f = None if f_test is None else np.asarray(f_test, dtype=np.float64)
        values, truth = answers.astype(np.float64), y_test.astype(np.float64)
        return _summed("squared", lambda b, i: _squared(values[b], truth, None if f is None else f, i), rounds, n, seed)
    classes = distinct(np.concatenate([np.unique(answers), np.unique(y_test)]))
    codes, truth = class_codes(answers, classes), class_codes(y_test, classes)
    return _summed("zero-one", lambda b, i: _zero_one(codes[b], truth, len(classes), i), rounds, n, seed)


def _refit(fit: Any, X: Any, y: Array, X_test: Any, key: tuple[int, int], loss: str) -> Array:
    """The answers of a fit on rows drawn with replacement, by a key of the seed and the round."""
    rng = np.random.default_rng(key)
    rows = rng.integers(0, len(y), len(y))
    for _ in range(TRIES):
        if loss == "squared" or len(y) == 0 or (y[rows] != y[rows[0]]).any():
            break
        rows = rng.integers(0, len(y), len(y))
    return np.asarray(fit(X[rows], y[rows]).predict(X_test))


def _squared(A: Floats, y: Floats, f: Floats | None, i: Array) -> dict[str, float]:
    """The pieces over test rows i, of answers A (B, n)."""
    A, y = A[:, i], y[i]
    main = A.mean(axis=0)
    variance = float(A.var(axis=0, ddof=1).mean())
    excess = variance / len(A)  # how much the mean of the fits wavers
    if f is None:
        pieces = {"bias² + noise": float(((y - main) ** 2).mean()) - excess}
    else:
        f = f[i]
        bias, noise = float(((f - main) ** 2).mean()) - excess, float(((y - f) ** 2).mean())
        pieces = {"bias²": bias, "noise": noise, "cross": 2 * float(((y - f) * (f - main)).mean())}
    return {**pieces, "variance": variance, "mean loss": float(((y - A) ** 2).mean())}


def _zero_one(A: Array, y: Array, K: int, i: Array) -> dict[str, float]:
    """The pieces over test rows i, of codes A (B, n); of equally frequent answers the first class is the main one."""
    A, y = A[:, i], y[i]
    votes = np.stack([np.equal(A, k).mean(axis=0) for k in range(K)])
    main, rows = votes.argmax(axis=0), np.arange(len(i))
    right, departs = main == y, 1 - votes[main, rows]
    return {
        "bias": float((~right).mean()),
        "unbiased variance": float((right * departs).mean()),
        "biased variance": float((~right * votes[y, rows]).mean()),
        "variance": float(departs.mean()),
        "mean loss": float(np.not_equal(A, y).mean()),
    }


def _summed(
    name: str, pieces: Callable[[Any, Array], dict[str, float]], rounds: int, n: int, seed: int
) -> BiasVariance:
    """The pieces with their intervals: value ± z·deviation over draws of both rounds and test rows (Owen's pigeonhole bootstrap)."""
    found = pieces(np.arange(rounds), np.arange(n))
    rng = np.random.default_rng([seed, rounds, n])
    drawn = [pieces(rng.integers(0, rounds, rounds), rng.integers(0, n, n)) for _ in range(DRAWS)]
    scores = {}
    for key, value in found.items():
        error = float(np.std([d[key] for d in drawn], ddof=1))
        within = around(value, error, float("inf"), least=-float("inf") if key == "cross" else 0.0)
        scores[key] = score(key, value, Interval(*within), "approximate", "low", n)
    mean = scores.pop("mean loss")
    variance = scores["variance"] if name == "squared" else scores.pop("variance")
    return BiasVariance(name, rounds, mean, scores, variance)
