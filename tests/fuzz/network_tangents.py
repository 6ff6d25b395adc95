"""Networks once more, in numbers of 80 bits: the rows go through the layers as they are defined, and the slope by each weight is carried along.

Tangents go forward with the rows, one of each weight: no back-propagation is involved, so that none can be wrong in the same way. What the model
answers is asked of the model itself: its errors and its loss are those of its answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from fuzz.case import Case
from fuzz.closed_forms import class_factor, live_rows
from fuzz.splitmix import key

Problem = tuple[str, str]
LONG = np.longdouble
SAME = LONG(1e-6)  # relative: what stated numbers may be off by
ROUNDS = LONG(1e-11)  # of 1 + |f|
KINK = 1e-9  # of the terms of a unit: nearer to a kink, rounding decides on which side of it a row is
DIRECTIONS, SEED = 4, 0x6E6574


class Passed(NamedTuple):
    """Of n rows f (n, K), its tangents (p, n, K), and whether each is clear of all kinks."""

    f: np.ndarray
    tangents: np.ndarray
    clear: np.ndarray


def activation(name: str, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """φ and φ′ of z."""
    one = np.ones_like(z)
    if name == "relu":
        return np.maximum(z, 0), one * (z > 0)
    if name == "tanh":
        return np.tanh(z), 1 / np.cosh(np.clip(z, -5000, 5000)) ** 2
    if name == "logistic":
        return np.exp(-np.logaddexp(0, -z)), np.exp(-np.logaddexp(0, z) - np.logaddexp(0, -z))
    if name == "gelu":
        k = np.sqrt(2 / LONG(np.pi))
        u, steep = k * (z + LONG("0.044715") * z**3), k * (1 + 3 * LONG("0.044715") * z**2)
        half = (1 + np.tanh(u)) / 2
        return z * half, half + z * steep / (2 * np.cosh(np.clip(u, -5000, 5000)) ** 2)
    return z, one


def passed(layers: list[tuple[np.ndarray, np.ndarray]], name: str, Z: np.ndarray, learns_bias: bool) -> Passed:
    """All rows through all layers, with a tangent for each weight and bias in the order in which they are packed."""
    count = sum(W.size + b.size for W, b in layers)
    a, tangents, clear, at = Z, np.zeros((count, *Z.shape), LONG), np.ones(len(Z), bool), 0
    for number, (W, b) in enumerate(layers, 1):
        last = number == len(layers)
        z, moved = a @ W + b, tangents @ W
        for i, j in np.ndindex(W.shape):
            moved[at + i * W.shape[1] + j, :, j] += a[:, i]
        for j in range(len(b)) if learns_bias or not last else ():
            moved[at + W.size + j, :, j] += 1
        if name == "relu" and not last:
            clear &= (np.abs(z) > KINK * (np.abs(a) @ np.abs(W) + np.abs(b))).all(axis=1)
        a, slope = activation("identity" if last else name, z)
        tangents, at = moved * slope, at + W.size + b.size
    return Passed(a, tangents, clear)


def losses(name: str, f: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ℓ (n,), ∂ℓ/∂f (n, K), and how far each row is from a kink of ℓ."""
    far = np.full(len(f), LONG(np.inf))
    if name in ("squared", "signs"):
        off = f - (target if name == "squared" else np.where(_own(f, target), LONG(1), LONG(-1)))
        return (off**2).sum(axis=1) / 2, off, far
    scores = np.hstack([np.zeros_like(f), f]) if f.shape[1] == 1 else f
    at, own = np.arange(len(f)), np.where(_own(scores, target), LONG(1), LONG(0))
    if name == "log":
        top = scores - scores.max(axis=1, keepdims=True)
        total = np.log(np.exp(top).sum(axis=1))
        slope = np.exp(top - total[:, None]) - own
        value = total - top[at, target]
    else:
        others = np.where(own > 0, -np.inf, scores)
        rival, short = others.argmax(axis=1), 1 - scores[at, target] + others.max(axis=1)
        slope = (np.eye(scores.shape[1], dtype=LONG)[rival] - own) * (short > 0)[:, None]
        value, far = np.maximum(short, 0), np.minimum(np.abs(short), _second(others))
    return value, slope[:, 1:] if f.shape[1] == 1 else slope, far


def _own(f: np.ndarray, target: np.ndarray) -> np.ndarray:
    return (target[:, None] == 1) if f.shape[1] == 1 else np.arange(f.shape[1]) == target[:, None]


def _second(others: np.ndarray) -> np.ndarray:
    """How far the best other class is ahead of the next one."""
    ranked = np.sort(others, axis=1)
    return ranked[:, -1] - ranked[:, -2]


class Measures(NamedTuple):
    """Of the rows of the fit: the mean loss, its gradient, both sizes, and whether no row is near a kink."""

    loss: LONG
    gradient: np.ndarray
    top: LONG
    steepest: LONG
    clear: bool


def measured(case: Case, model: Any) -> tuple[Measures, np.ndarray, np.ndarray]:
    """What 80 bits say of the rows of the fit; the weights as the penalty sees them; the weight of each row."""
    X, y, c = _live(case, model)
    Z = (X.astype(LONG) - model.mean_) / model.scale_
    layers = layers_of(model, Z.shape[1])
    found = passed(layers, model.activation, Z, bool(model.output_bias))
    target = np.searchsorted(model.classes_, y) if case.classifies else _standardised(model, y)
    value, slope, far = losses(_loss_of(case, model), found.f, target)
    share, top = c / c.sum(), np.abs(found.f).max()
    by_row = np.einsum("pnk,nk->pn", found.tangents, slope) * share
    clear = bool((found.clear & (far > KINK * (1 + top))).all())
    penalised = np.concatenate([part.ravel() for W, b in layers for part in (W, 0 * b)])
    steepest = np.sqrt((np.abs(by_row).sum(axis=1) ** 2).sum())
    return Measures(share @ value, by_row.sum(axis=1), top, steepest, clear), penalised, c


def layers_of(model: Any, d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The layers in the order in which their numbers are packed: weights by row, then biases."""
    outputs = 1 if not hasattr(model, "classes_") or len(model.classes_) == 2 else len(model.classes_)
    hidden = np.atleast_1d(np.asarray(model.hidden_layer_sizes, dtype=int)).tolist()
    numbers, layers = iter(model.weights_.astype(LONG)), []
    for before, after in pairwise([d, *hidden, outputs]):
        W = np.array([next(numbers) for _ in range(before * after)], LONG).reshape(before, after)
        layers.append((W, np.array([next(numbers) for _ in range(after)], LONG)))
    assert next(numbers, None) is None
    return layers


def _standardised(model: Any, y: np.ndarray) -> np.ndarray:
    return ((y.astype(LONG) - LONG(model.target_mean_)) / LONG(model.target_scale_))[:, None]


def _loss_of(case: Case, model: Any) -> str:
    return {"squared": "signs"}.get(model.loss, model.loss) if case.classifies else "squared"


def _live(case: Case, model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that count, their targets and weights."""
    X, y, c = live_rows(case, class_factor(case, model), getattr(model, "classes_", None))
    return X, y, c.astype(LONG)


def network(case: Case, model: Any, claims: dict[str, Any]) -> Iterator[Problem]:
    """Loss, errors, gradient and slopes of a network, and the best of its epochs."""
    found, weights, c = measured(case, model)
    if np.isfinite([found.loss, found.top]).all():
        yield from _loss(case, model, claims, found)
        yield from _gradient(model, claims, found, weights, c)
    yield from _best_epoch(model, claims["network_best_epoch"])
    if case.classifies:
        yield from _errors(case, model, claims["network_errors"])


def _near(stated: float, due: LONG, size: LONG) -> bool:
    return bool(abs(LONG(stated) - due) <= SAME * abs(due) + ROUNDS * size)


def _loss(case: Case, model: Any, claims: dict[str, Any], found: Measures) -> Iterator[Problem]:
    """The mean loss by 80 bits, and by what the model itself answers."""
    claim, size = claims["network_loss"], (1 + found.top) ** 2
    unit = LONG(1) if case.classifies else 2 * LONG(model.target_scale_) ** 2
    if claim.holds and not _near(claim.value, unit * found.loss, unit * size):
        yield "network_loss: the rows have another loss", f"{claim.value!r}, in 80 bits {float(unit * found.loss)!r}"
    answered = _answered_loss(case, model)
    if claim.holds and answered is not None and not abs(answered - LONG(claim.value)) <= _slack(case, model, found):
        yield "network_loss: the answers have another loss", f"{claim.value!r}, by the answers {float(answered)!r}"


def _slack(case: Case, model: Any, found: Measures) -> LONG:
    """By how much the loss of rounded answers may be another: answers are off by a share of 1e-8 of their size."""
    if case.classifies:
        return LONG(1e-5) * found.loss + LONG(1e-8) * (1 + found.top) ** 2
    off = LONG(1e-8) * (1 + found.top) * LONG(model.target_scale_) + LONG(1e-14) * np.abs(case.table.y).max()
    root = np.sqrt(2 * found.loss) * LONG(model.target_scale_)
    return 2 * root * off + off**2 + SAME * root**2


def _answered_loss(case: Case, model: Any) -> LONG | None:
    """The mean square error of the predictions, or the mean logarithm of the probabilities where the loss is that."""
    rows, y, c = _live(case, model)
    if not case.classifies:
        return c @ (model.predict(rows).astype(LONG) - y) ** 2 / c.sum()
    if _loss_of(case, model) != "log":
        return None
    p = model.predict_proba(rows)[np.arange(len(y)), np.searchsorted(model.classes_, y)].astype(LONG)
    return -(c @ np.log(p)) / c.sum() if (p > 1e-300).all() else None


def _errors(case: Case, model: Any, claim: Any) -> Iterator[Problem]:
    """The share of rows that `predict` gets wrong; rows between whose best classes rounding decides may count or not."""
    rows, y, c = _live(case, model)
    scores = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.decision_function(rows)
    ranked = np.sort(scores, axis=1) if np.ndim(scores) == 2 else np.column_stack([0 * scores, np.abs(scores)])
    tied = ranked[:, -1] - ranked[:, -2] <= 1e-6 * (1 + np.abs(ranked[:, -1]))
    share = c @ (model.predict(rows) != y) / c.sum()
    if claim.holds and abs(share - LONG(claim.value)) > c @ tied / c.sum() + LONG(1e-9):
        yield (
            "network_errors: predictions are wrong as often as not stated",
            f"{claim.value!r}, counted {float(share)!r}",
        )


def _gradient(
    model: Any, claims: dict[str, Any], found: Measures, weights: np.ndarray, c: np.ndarray
) -> Iterator[Problem]:
    """The length of the objective's gradient, and the slopes of the loss along the directions that a hash draws."""
    batch = c.sum() if model.solver == "lbfgs" else LONG(model.batch_)
    due = found.gradient + LONG(model.alpha) / batch * weights
    length, claim = np.sqrt((due**2).sum()), claims["network_gradient"]
    size = (1 + found.top) * (1 + found.steepest)
    if not found.clear or not np.isfinite(length):
        return
    if claim.holds and not _near(claim.value, length, 100 * size):
        yield "network_gradient: another length by tangents", f"{claim.value!r}, by tangents {float(length)!r}"
    stated = np.asarray(claims["network_slopes"].witness["measured"])[-4 * DIRECTIONS :][:DIRECTIONS]
    slopes = directions(len(due), model) @ found.gradient
    if claims["network_slopes"].holds and (np.abs(stated - slopes) > SAME * found.steepest + 100 * ROUNDS * size).any():
        yield "network_slopes: others by tangents", f"{stated.tolist()}, by tangents {slopes.astype(float).tolist()}"


def directions(p: int, model: Any) -> np.ndarray:
    """Signs by the last bits of hashes, of length 1; biases of the outputs that are not learnt stay."""
    signs = np.array([[1 if key(i, SEED + k) & 1 else -1 for i in range(p)] for k in range(DIRECTIONS)]).astype(LONG)
    if not model.output_bias:
        signs[:, p - (1 if not hasattr(model, "classes_") or len(model.classes_) == 2 else len(model.classes_)) :] = 0
    return signs / np.sqrt((signs**2).sum(axis=1, keepdims=True))


def _best_epoch(model: Any, claim: Any) -> Iterator[Problem]:
    """The least loss, or the greatest score, of the epochs as they are recorded."""
    curve = [float(value) for value in model.loss_curve_]
    best = min(curve) if model.validation_scores_ is None else max(float(v) for v in model.validation_scores_)
    recorded = curve if model.validation_scores_ is None else [float(v) for v in model.validation_scores_]
    if claim.holds and (claim.value != best or recorded.index(best) + 1 != claim.witness["best"]):
        yield "network_best_epoch: another epoch is the best", f"{claim.value!r}, the best of all is {best!r}"
