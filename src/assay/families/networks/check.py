"""Checks of neural networks: what is stated of loss, errors and gradient is found in the rows again.

Slopes are compared with differences of the losses themselves, which shows that the gradient is one. Nothing here shows that a network is the best of its shape: the
objective is not convex. Every row goes through the layers again, and back, in plain NumPy.

z = (x − mean) / scale,   a_l = φ(W_lᵀ a_{l−1} + b_l),   f = W_Lᵀ a_{L−1} + b_L,   J = Σ c ℓ / Σ c + ½ p ‖W‖²
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, Floats, codes_of, once, row_keys

NEAR = 1e-6  # times 1 + |f|: scores that differ by less may be in another order elsewhere
AT_ONCE = 1 << 12  # rows
DIRECTIONS, STEP, SEED = 4, 1e-6, 0x6E6574
MOST_ROWS, FEW_ROWS = 1 << 10, 1 << 7
MOST_EXTENDED = 1 << 26  # rows times weights whose slopes are taken in extended precision
UNSEEN = 8.0  # what other arithmetic may be off by, as a multiple of what was seen
ACTIVATIONS = ("identity", "relu", "logistic", "tanh", "gelu")
ONE = 9  # numbers of `measured` before those of the directions


class StatedNetwork(NamedTuple):
    """Weights and biases of the layers, and what happens at their ends."""

    layers: list[tuple[Floats, Floats]]
    activation: str
    loss: str


class Remeasured(NamedTuple):
    """What `measured` states: the same numbers in the same order, and the weight of rows whose two best classes are nearly equal."""

    measured: Floats
    tied: float


def bent(name: str, z: Floats) -> tuple[Floats, Floats]:
    """φ(z) and φ′(z)."""
    if name == "identity":
        return z, np.ones_like(z)
    if name == "relu":
        return np.where(z > 0, z, 0.0), (z > 0).astype(np.float64)
    if name == "tanh":
        t = np.tanh(z)
        return t, 1.0 - t * t
    if name == "logistic":
        s = 0.5 + 0.5 * np.tanh(0.5 * z)
        return s, s * (1.0 - s)
    k = math.sqrt(2.0 / math.pi)
    t = np.tanh(k * (z + 0.044715 * z**3))
    return 0.5 * z * (1.0 + t), 0.5 * (1.0 + t) + 0.5 * z * (1.0 - t * t) * k * (1.0 + 0.134145 * z * z)


def lost(loss: str, F: Floats, y: Array) -> tuple[Floats, Floats, Floats]:
    """ℓ and ∂ℓ/∂f of every row, and by how much the answer is right (below 0: wrong; a regression: 1)."""
    rows = np.arange(len(F))
    if loss == "signs":
        own = y == 1 if F.shape[1] == 1 else np.arange(F.shape[1]) == y[:, None]
        off = F - np.where(own, 1.0, -1.0).reshape(F.shape)
        return 0.5 * (off * off).sum(axis=1), off, lost("hinge", F, y)[2]
    if loss == "squared":
        return 0.5 * (F[:, 0] - y) ** 2, F - y[:, None], np.ones(len(F))
    if F.shape[1] == 1:  # two scores whose difference is f
        ahead, G = F[:, 0] * np.where(y == 1, 1.0, -1.0), np.zeros_like(F)
        sign = np.where(y == 1, 1.0, -1.0)
        if loss == "hinge":
            G[:, 0] = np.where(ahead < 1, -sign, 0.0)
            return np.where(ahead < 1, 1.0 - ahead, 0.0), G, ahead
        G[:, 0] = -sign * 0.5 * (1.0 - np.tanh(0.5 * ahead))
        return np.logaddexp(0.0, -ahead), G, ahead
    own, others = F[rows, y], F.copy()
    others[rows, y] = -np.inf
    rival = others.argmax(axis=1)
    ahead, G = own - others[rows, rival], np.zeros_like(F)
    if loss == "hinge":
        short = ahead < 1
        G[rows[short], y[short]], G[rows[short], rival[short]] = -1.0, 1.0
        return np.where(short, 1.0 - ahead, 0.0), G, ahead
    above = F - F.max(axis=1, keepdims=True)
    total = np.exp(above).sum(axis=1)
    G = np.exp(above) / total[:, None]
    G[rows, y] -= 1.0
    return np.log(total) - above[rows, y], G, ahead


def net_of(witness: dict[str, Any], d: int, outputs: int, numbers: Floats) -> StatedNetwork:
    """The layers in the packed numbers."""
    widths = [d, *(int(units) for units in witness["hidden"]), outputs]
    layers, at = [], 0
    for before, after in pairwise(widths):
        W = numbers[at : at + before * after].reshape(before, after)
        at += before * after + after
        layers.append((W, numbers[at - after : at]))
    if at != len(numbers) or min(widths) < 1:
        raise ValueError("the weights do not fit the layers")
    return StatedNetwork(layers, witness["activation"], witness["loss"])


def through(net: StatedNetwork, Z: Floats) -> tuple[Floats, list[tuple[Floats, Floats]]]:
    """f of every row, and of each layer what goes in and φ′ of what came before."""
    a, slope, way = Z, np.ones_like(Z), []
    for number, (W, b) in enumerate(net.layers, 1):
        way.append((a, slope))
        a, slope = bent(net.activation if number < len(net.layers) else "identity", a @ W + b)
    return a, way


def back(net: StatedNetwork, way: list[tuple[Floats, Floats]], G: Floats, bias: bool) -> Floats:
    """The gradient, packed, from Σ over rows of what the outputs' slopes G say."""
    parts: list[Floats] = []
    for number in range(len(net.layers) - 1, -1, -1):
        a, slope = way[number]
        own = G.sum(axis=0) if bias or number < len(net.layers) - 1 else np.zeros(G.shape[1])
        parts = [(a.T @ G).ravel(), own, *parts]
        G = (G @ net.layers[number][0].T) * slope
    return np.concatenate(parts)


def found_in(witness: dict[str, Any], rows: CheckedRows) -> Remeasured:
    """All that is measured, from the rows."""
    numbers, mean, scale, stated = (
        np.asarray(witness[key], dtype=np.float64) for key in ("weights", "mean", "scale", "measured")
    )
    classes = witness.get("classes")
    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    if mean.shape != (rows.n_columns,) or mean.shape != scale.shape or stated.shape != (ONE + 4 * DIRECTIONS,):
        raise ValueError("the parts of the witness do not fit the columns")
    if not all(np.isfinite(part).all() for part in (numbers, mean, scale, stated)) or not (scale > 0).all():
        raise ValueError("the numbers of the witness are not possible")
    if witness["loss"] not in (("squared",) if classes is None else ("log", "hinge", "signs")):
        raise ValueError(f"there is no loss {witness['loss']!r} of such a target")
    if witness["activation"] not in ACTIVATIONS:
        raise ValueError(f"there is no activation {witness['activation']!r}")
    every, few = stated[6], stated[7]
    if every != int(every) or few != int(few) or min(every, few) < 1:
        raise ValueError("there is no such share of the rows")
    net = net_of(witness, len(mean), outputs, numbers)
    if not witness["output_bias"] and net.layers[-1][1].any():
        raise ValueError("the outputs have biases that they should not have")
    sums = _NetworkSums(
        net, _directions(len(numbers), outputs, bool(witness["output_bias"])), bool(witness["output_bias"])
    )
    many = 0
    for block in rows.blocks():
        X, y, c = _kept(block, witness)
        many += len(y)
        for first in range(0, len(y), AT_ONCE):
            piece = slice(first, first + AT_ONCE)
            sums.add((X[piece] - mean) / scale, y[piece], c[piece], first, int(every), int(few))
    if every > max(1, -(-many // MOST_ROWS)) or few > max(1, -(-many // FEW_ROWS)):
        raise ValueError("slopes of too few rows are stated to show anything")
    found = sums.ended(float(stated[3]), every, few)
    if not np.isfinite(found.measured).all():
        raise ValueError("the rows have no finite loss and slopes under these weights")
    return found


def _kept(block: Any, witness: dict[str, Any], dtype: Any = np.float64) -> tuple[Floats, Array, Floats]:
    """Rows of positive weight: X, codes or standardised numbers, weights."""
    if block.y is None:
        raise ValueError("the rows have no target")
    X, c = np.asarray(block.X, dtype=dtype), np.ones(len(block.X)) if block.w is None else block.w
    if "classes" in witness:
        y: Array = codes_of(np.asarray(block.y), witness["classes"])
    else:
        y = (np.asarray(block.y, dtype=dtype) - float(witness["target_mean"])) / float(witness["target_scale"])
    if "class_factor" in witness:
        c = c * np.asarray(witness["class_factor"], dtype=np.float64)[y]
    there = c > 0
    return X[there], y[there], np.asarray(c[there], dtype=np.float64)


def _directions(p: int, outputs: int, bias: bool) -> Floats:
    signs = np.stack([np.where(row_keys(p, SEED + k) & np.uint64(1), 1.0, -1.0) for k in range(DIRECTIONS)])
    if not bias:
        signs[:, p - outputs :] = 0.0
    found: Floats = signs / np.sqrt((signs * signs).sum(axis=1, keepdims=True))
    return found


def _gradient_off(witness: dict[str, Any], rows: CheckedRows) -> float:
    """By how much the gradient in float64 differs from that in extended precision; 0 of too many numbers."""
    numbers, every = np.asarray(witness["weights"], dtype=np.float64), int(witness["measured"][6])
    outputs = 1 if len(witness.get("classes", "ab")) == 2 else len(witness["classes"])
    ends, work = [], 0
    for dtype in (np.float64, np.longdouble):
        net = net_of(witness, rows.n_columns, outputs, numbers.astype(dtype))
        total: Array = np.zeros(len(numbers), dtype=dtype)
        weight = 0.0
        for block in rows.blocks():
            X, y, c = _kept(block, witness, dtype)
            X, y, c = X[::every], y[::every], c[::every]
            work += len(y) * len(numbers)
            if work > MOST_EXTENDED:
                return 0.0
            mean, scale = (np.asarray(witness[key], dtype=dtype) for key in ("mean", "scale"))
            F, way = through(net, (X - mean) / scale)
            total += back(net, way, lost(net.loss, F, y)[1] * c[:, None], bool(witness["output_bias"]))
            weight += float(c.sum())
        ends.append(total / weight)
    return float(np.linalg.norm((ends[0] - ends[1]).astype(np.float64)))


class _NetworkSums:
    """What is added up, piece by piece."""

    def __init__(self, net: StatedNetwork, U: Floats, bias: bool) -> None:
        self.net, self.U, self.bias = net, U, bias
        self.weight = self.loss = self.wrong = self.tied = self.some = self.few = self.top = 0.0
        self.gradient, self.slopes = np.zeros(U.shape[1]), np.zeros((4, DIRECTIONS))
        self.numbers = np.concatenate([part.ravel() for layer in net.layers for part in layer])

    def add(self, Z: Floats, y: Array, c: Floats, first: int, every: int, few: int) -> None:
        F, _ = through(self.net, Z)
        losses, _, ahead = lost(self.net.loss, F, y)
        self.weight, self.loss = self.weight + float(c.sum()), self.loss + float(c @ losses)
        near = NEAR * (1.0 + np.abs(F).max(axis=1))
        lower = (ahead < 0) | ((ahead == 0) & self._tie_is_wrong(F, y))
        self.wrong, self.tied = self.wrong + float(c[lower].sum()), self.tied + float(c[np.abs(ahead) <= near].sum())
        places = first + np.arange(len(y))
        some, picked = np.flatnonzero(places % every == 0), np.flatnonzero(places % few == 0)
        self.gradient += self._gradient(Z[some], y[some], c[some])
        self.some, self.few = self.some + float(c[some].sum()), self.few + float(c[picked].sum())
        if len(picked):
            self.top = max(self.top, float(np.abs(F[picked]).max()))
            self._add_slopes(Z[picked], y[picked], c[picked])

    def _tie_is_wrong(self, F: Floats, y: Array) -> Array:
        """Equal scores are answered by the first class."""
        found: Array = (y == 1) if F.shape[1] == 1 else F.argmax(axis=1) != y
        return found

    def _gradient(self, Z: Floats, y: Array, c: Floats) -> Floats:
        F, way = through(self.net, Z)
        return back(self.net, way, lost(self.net.loss, F, y)[1] * c[:, None], self.bias)

    def _add_slopes(self, Z: Floats, y: Array, c: Floats) -> None:
        self.slopes[0] += self.U @ self._gradient(Z, y, c)
        middle = self._losses(self.numbers, Z, y)
        for k, u in enumerate(self.U):
            ahead = (self._losses(self.numbers + STEP * u, Z, y) - middle) / STEP
            behind = (middle - self._losses(self.numbers - STEP * u, Z, y)) / STEP
            self.slopes[1, k] += c @ np.minimum(ahead, behind)
            self.slopes[2, k] += c @ np.maximum(ahead, behind)
            self.slopes[3, k] += c @ np.maximum(np.abs(ahead), np.abs(behind))

    def _losses(self, numbers: Floats, Z: Floats, y: Array) -> Floats:
        layers, at = [], 0
        for W, b in self.net.layers:
            moved = numbers[at : at + W.size].reshape(W.shape)
            layers.append((moved, numbers[at + W.size : at + W.size + b.size]))
            at += W.size + b.size
        return lost(self.net.loss, through(self.net._replace(layers=layers), Z)[0], y)[0]

    def ended(self, penalty: float, every: float, few: float) -> Remeasured:
        weights = np.concatenate([part.ravel() for W, b in self.net.layers for part in (W, np.zeros_like(b))])
        gradient = self.gradient / self.some + penalty * weights
        one = [
            self.weight,
            self.loss / self.weight,
            self.wrong / self.weight,
            penalty,
            float(weights @ weights),
            math.sqrt(float(gradient @ gradient)),
            every,
            few,
            self.top,
        ]
        return Remeasured(np.concatenate([one, (self.slopes / self.few).ravel()]), self.tied / self.weight)


SAME = 1e-6  # what stated means may be off by
ROUNDING = 1e-2  # times 1 + |f|: the size that slopes are given at least, as differences of losses have rounding


def _close(stated: float, due: float, size: float = 0.0) -> bool:
    return abs(stated - due) <= SAME * max(abs(due), size)


def _penalty_is_possible(witness: dict[str, Any], found: Remeasured) -> bool:
    """p = α / (rows of a mini-batch), or α / Σ c."""
    penalty, alpha, batch = (float(x) for x in (found.measured[3], witness["alpha"], witness["batch"]))
    rows = batch if batch > 0 else float(found.measured[0])
    return alpha >= 0 and batch >= 0 and _close(penalty * rows, alpha)


@check("network_slopes")
def check_back_propagation(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Slopes as stated lie between the differences of the losses, as they are found again."""
    found, stated = once(found_in, claim, rows), np.asarray(claim.witness["measured"], dtype=np.float64)
    (slopes, *_), (_, low, high, size) = stated[ONE:].reshape(4, -1), found.measured[ONE:].reshape(4, -1)
    size = size + ROUNDING * (1.0 + found.measured[8])
    off = float((np.maximum(0.0, np.maximum(low - slopes, slopes - high)) / size).max())
    again = float((np.abs(stated[ONE:] - found.measured[ONE:]).reshape(4, -1) / size).max())
    told = (
        claim.value is not None
        and claim.bound is not None
        and 0 < claim.bound <= SAME
        and abs(claim.value - off) <= claim.bound
    )
    same = (
        _close(stated[0], found.measured[0]) and _close(stated[8], found.measured[8], 1.0) and again <= 1e2 * SAME
    )  # differences have rounding
    wide = float(((high - low) / size).max())
    reason = f"slopes lie at most {off:.2g} of their size outside of differences that are {wide:.2g} apart"
    return Verdict(
        claim.name, bool(told and same and off <= (claim.bound or 0.0) and claim.holds), reason, off, claim.kind
    )


@check("network_loss")
def check_loss(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The mean loss and ‖W‖² as stated; the value is the loss, of a regression twice that in the target's own unit."""
    found, w = once(found_in, claim, rows), claim.witness
    stated, due = np.asarray(w["measured"], dtype=np.float64), found.measured
    unit = 2.0 * float(w["target_scale"]) ** 2 if "target_scale" in w else 1.0
    same = _close(stated[0], due[0]) and _close(stated[1], due[1], SAME) and _close(stated[4], due[4])
    told = claim.value is not None and _close(claim.value, unit * due[1], SAME * unit)
    objective = due[1] + 0.5 * due[3] * due[4]
    reason = f"the mean loss is {due[1]:.9g}, {objective:.9g} with the penalty, on rows of weight {due[0]:g}"
    holds = same and told and _penalty_is_possible(w, found) and claim.holds
    return Verdict(claim.name, bool(holds), reason, float(unit * due[1]), claim.kind)


@check("network_errors")
def check_errors(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The share of rows with another class; those whose scores are nearly equal may count or not."""
    found, w = once(found_in, claim, rows), claim.witness
    if "classes" not in w:
        raise ValueError("a regression answers no class")
    stated, share = np.asarray(w["measured"], dtype=np.float64), float(found.measured[2])
    same = abs(stated[2] - share) <= found.tied + SAME and _close(stated[0], found.measured[0])
    told = claim.value is not None and abs(claim.value - stated[2]) <= 1e-12
    reason = f"a share of {share:.9g} is answered wrongly"
    return Verdict(claim.name, bool(same and told and claim.holds), reason, share, claim.kind)


@check("network_gradient")
def check_gradient(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """‖∇J‖ by back-propagation written anew, which agrees with differences."""
    found, w = once(found_in, claim, rows), claim.witness
    stated, due = np.asarray(w["measured"], dtype=np.float64), found.measured
    slopes, low, high, size = due[ONE:].reshape(4, -1)
    size = size + ROUNDING * (1.0 + due[8])
    true = bool((np.maximum(0.0, np.maximum(low - slopes, slopes - high)) <= SAME * size).all())
    off = 0.0
    if not _close(stated[5], due[5], 1e-3):  # terms of a sum near 0 are much larger than it
        off = UNSEEN * _gradient_off(w, rows)
    told = claim.value == stated[5] and abs(stated[5] - due[5]) <= SAME * max(due[5], 1e-3) + off
    reason = f"the gradient has length {due[5]:.6g}" + (f", which rounding leaves open by {off:.2g}" if off else "")
    reason += "" if true else ", but does not agree with differences"
    holds = true and told and _penalty_is_possible(w, found) and _close(stated[0], due[0]) and claim.holds
    return Verdict(claim.name, bool(holds), reason, float(due[5]), claim.kind)


@check("network_best_epoch")
def check_best_epoch(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The best of the epochs as they were recorded."""
    w, score = claim.witness, claim.witness.get("scores")
    curve = np.asarray(w["curve"], dtype=np.float64)
    if curve.ndim != 1 or not len(curve) or not np.isfinite(curve).all() or claim.kind != "estimate":
        raise ValueError("the epochs are not possible")
    if score is not None and (np.shape(score) != curve.shape or np.isnan(score).any()):
        raise ValueError("the scores are not those of the epochs")
    best = int(curve.argmin() if score is None else np.argmax(score)) + 1
    value = float(curve[best - 1] if score is None else np.asarray(score)[best - 1])
    holds = best == w["best"] and claim.value is not None and _close(claim.value, value) and claim.holds
    return Verdict(claim.name, bool(holds), f"the best of {len(curve)} epochs is {best}", value, claim.kind)
