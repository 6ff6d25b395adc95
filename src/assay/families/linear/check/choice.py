"""Checks of strengths chosen by cross-validation: the fits at the choice are minima, and their errors on the rows they did not see are as stated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CsrBlock, Floats, RowBlock, codes_of, times
from assay.families.linear.check.gaps import SLACK, gap_and_objectives
from assay.families.linear.check.terms import blocks, shape_of

ALIKE = 1e-5  # of an error on a row left out: an inverse of columns in very different units has lost so much
NEAR = 1e-6  # of an error, and of the square of the target: what may differ where sums are added up otherwise


def folds_of(claim: Claim, rows: CheckedRows, k: int) -> Array:
    """The fold of each row: consecutive rows of positive weight, the first n mod k folds one row longer; −1: weight zero."""
    there = np.concatenate([np.ones(len(b.y), bool) if b.w is None else b.w > 0 for b in rows.targets() if b.y is not None])  # fmt: skip
    n, out = int(there.sum()), np.full(len(there), -1)
    ends = np.cumsum([n // k + (f < n % k) for f in range(k)])
    out[there] = np.searchsorted(ends, np.arange(n), side="right")
    return out


def without(rows: CheckedRows, left_out: Array) -> CheckedRows:
    """The same rows, of which those left out weigh nothing."""

    def read() -> Iterator[RowBlock]:
        for block in rows.blocks():
            w = np.ones(len(block.X)) if block.w is None else block.w
            yield block._replace(w=np.where(left_out[block.start : block.start + len(w)], 0.0, w))

    return replace(rows, read=read, read_targets=None)


@check("cross_validation")
def check_cross_validation(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Each fold's weights are a minimum over the other rows, have the stated error on the fold, and the choice has the least mean error."""
    w = claim.witness
    errors, weights = (np.asarray(w[name], dtype=np.float64) for name in ("errors", "fold_weights"))
    weights = weights if weights.ndim == 3 else weights[:, None, :]
    r, a = (int(at) for at in w["chosen"])
    k, labels = errors.shape[2], w["classes"] is not None
    if weights.shape != (k, len(w["coef"]), rows.n_columns + 1) or not np.isfinite(errors).all() or claim.kind != "estimate":  # fmt: skip
        raise ValueError("errors and weights of the folds do not fit together")
    folds = np.asarray(w["folds"]) if "folds" in w else (strata_of if labels else folds_of)(claim, rows, k)
    sizes, tolerance = np.ones(k), float(w["tolerance"])
    for f in range(k):
        found, size, room = (_mean_square if not labels else ERRORS_OF_CLASSES[w["error"]])(
            claim, rows, folds == f, weights[f]
        )
        sizes[f] = size if _weighted(rows) and w["error"] == "mean square error" else 1.0
        if not abs(found - errors[r, a, f]) <= room:
            return _no(claim, f"the fit without fold {f} has an error of {found:.6g} on it")
        rest = without(rows, folds == f)
        fit = {**w, "coef": weights[f][:, :-1], "intercept": weights[f][:, -1], "class_factor": _factors(claim, rest)}
        worst, *_ = gap_and_objectives(replace(claim, witness=fit), rest, tolerance)
        if not worst <= SLACK * tolerance + 1e-12:
            return _no(claim, f"the fit without fold {f} is a share of {worst:.3g} above its least")
    means = errors @ (sizes / sizes.sum())
    least, here = float(means.min()), float(means[r, a])
    holds = bool(here <= least * (1 + NEAR) + 1e-12 and abs(float(claim.value or 0.0) - here) <= NEAR * here + 1e-12)
    return Verdict(
        claim.name,
        holds,
        f"mean error {here:.6g} over {k} folds, the least of those stated is {least:.6g}",
        here,
        claim.kind,
    )


def _no(claim: Claim, reason: str) -> Verdict:
    return Verdict(claim.name, False, reason, kind=claim.kind)


def _weighted(rows: CheckedRows) -> bool:
    return any(block.w is not None for block in rows.targets())


def _factors(claim: Claim, rows: CheckedRows) -> Floats:
    """The factors of the classes in a fit on these rows."""
    w = claim.witness
    if not w["balanced"]:
        return np.asarray(w["class_factor"], dtype=np.float64)
    K, counts = len(w["classes"]), np.zeros(len(w["classes"]))
    for block in rows.blocks():
        assert block.y is not None
        counts += np.bincount(codes_of(block.y, w["classes"]), block.w, minlength=K)
    return np.asarray(counts.sum() / (K * counts))


def _mean_square(claim: Claim, rows: CheckedRows, there: Array, W: Floats) -> tuple[float, float, float]:
    """The mean square error of weights (1, d + 1) on some rows, their weight, and by how much sums may differ."""
    squares = total = size = sums = 0.0
    for block in rows.blocks():
        y = np.asarray(block.y, dtype=np.float64)
        c = np.where(there[block.start : block.start + len(y)], 1.0 if block.w is None else block.w, 0.0)
        squares += float(c @ (y - times(block.X, W[0, :-1]) - W[0, -1]) ** 2)
        size += float(c @ y**2)
        sums += float(c @ y)
        total += float(c.sum())
    spread = 1.0 if claim.witness["error"] == "mean square error" else (size - sums**2 / total) / total
    return squares / total / spread, total, NEAR * (squares + NEAR * size) / total / spread


def _share_wrong(claim: Claim, rows: CheckedRows, there: Array, W: Floats) -> tuple[float, float, float]:
    """The share of some rows, by weight, whose class is not that of the greatest score; rows on a boundary may go either way."""
    wrong = total = open_ = 0.0
    for block in rows.blocks():
        assert block.y is not None
        c = np.where(there[block.start : block.start + len(block.y)], 1.0 if block.w is None else block.w, 0.0)
        Z = times(block.X, W[:, :-1].T) + W[:, -1]
        Z = np.column_stack([np.zeros(len(Z)), Z[:, 0]]) if len(W) == 1 else Z
        two = np.sort(Z, axis=1)[:, -2:]
        near = two[:, 1] - two[:, 0] <= NEAR * (1.0 + np.abs(two).max(axis=1))
        off = Z.argmax(axis=1) != codes_of(block.y, claim.witness["classes"])
        wrong, total, open_ = wrong + float(c @ off), total + float(c.sum()), open_ + float(c @ near)
    return wrong / total, total, open_ / total + 1e-12


def _log_loss(claim: Claim, rows: CheckedRows, there: Array, W: Floats) -> tuple[float, float, float]:
    """The mean −log p(y | x) of some rows, by weight: log Σ exp of the scores, less that of the row's own class."""
    loss = total = 0.0
    for block in rows.blocks():
        assert block.y is not None
        c = np.where(there[block.start : block.start + len(block.y)], 1.0 if block.w is None else block.w, 0.0)
        Z = times(block.X, W[:, :-1].T) + W[:, -1]
        Z = np.column_stack([np.zeros(len(Z)), Z[:, 0]]) if len(W) == 1 else Z
        Z = Z - Z.max(axis=1, keepdims=True)
        own = Z[np.arange(len(Z)), codes_of(block.y, claim.witness["classes"])]
        loss, total = loss + float(c @ (np.log(np.exp(Z).sum(axis=1)) - own)), total + float(c.sum())
    return loss / total, total, NEAR * (1e-3 + loss / total)


ERRORS_OF_CLASSES = {"share of errors": _share_wrong, "log loss": _log_loss}


def strata_of(claim: Claim, rows: CheckedRows, k: int) -> Array:
    """The fold of each row so that every fold has its share of each class: in the order of their coming, class after class, dealt in turn."""
    targets = [(np.asarray(block.y), block.w) for block in rows.targets()]
    y = np.concatenate([codes_of(labels, claim.witness["classes"]) for labels, _ in targets])
    there = np.flatnonzero(np.concatenate([np.ones(len(t)) if w is None else w for t, w in targets]) > 0)
    out, dealt = np.full(len(y), -1), 0
    for code in dict.fromkeys(y[there].tolist()):  # in the order of their coming
        mine = there[y[there] == code]
        share = np.array([len(range((f - dealt) % k, len(mine), k)) for f in range(k)])
        out[mine] = np.repeat(np.arange(k), share)
        dealt += len(mine)
    return out


@check("ridge_leave_one_out")
def check_ridge_leave_one_out(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The errors of ridge regression on a row left out, again from the rows for every strength, by a factor of S + alpha·I."""
    w = claim.witness
    alphas, stated = (np.asarray(w[name], dtype=np.float64) for name in ("alphas", "errors"))
    K = 1 if w["classes"] is None else len(w["classes"])
    sides = [None] if w["classes"] is None else [1] if K == 2 else list(range(K))
    shape = shape_of(claim, rows, bool(w["fit_intercept"]))
    n, fitted = float(shape.weight.sum()), bool(w["fit_intercept"])
    S, cross, means, count = np.zeros((rows.n_columns,) * 2), np.zeros((len(sides), rows.n_columns)), np.zeros(len(sides)), 0  # fmt: skip
    if fitted:
        means = np.array([sum(float(c @ _side(y, k)) for _, y, c in blocks(claim, rows)) / n for k in sides])
    for X, y, c in blocks(claim, rows, shape.centre):
        A = _plain(X, shape.centre)
        S += (A.T * c) @ A
        cross += np.stack([(c * (_side(y, k) - m)) @ A for k, m in zip(sides, means)])
        count += int(np.count_nonzero(c))
    found = np.zeros(len(alphas))
    for a, alpha in enumerate(alphas):
        L, unit = _factor(S + alpha * np.eye(len(S)))
        for X, y, c in blocks(claim, rows, shape.centre):
            A = _plain(X, shape.centre)
            half = np.linalg.solve(L, (A * unit).T)
            rest = 1.0 - c * ((half**2).sum(axis=0) + (1.0 / n if fitted else 0.0))
            for k, m, g in zip(sides, means, cross):
                found[a] += float(c @ ((_side(y, k) - m - np.linalg.solve(L, unit * g) @ half) / rest) ** 2)
    found /= count * len(sides)
    same = stated.shape == found.shape and np.allclose(stated, found, rtol=ALIKE)
    holds = bool(same and float(w["alpha"]) == alphas[int(np.argmin(stated))] and claim.value == stated.min())
    return Verdict(
        claim.name, holds, f"the errors are {np.array2string(found, precision=6)}", float(found.min()), claim.kind
    )


def _factor(A: Floats) -> tuple[Floats, Floats]:
    """L and u with A⁻¹ = (L⁻¹u)ᵀ(L⁻¹u): in the scale of A's diagonal columns in very different units cost no digits."""
    unit = 1.0 / np.sqrt(np.diag(A))
    return np.linalg.cholesky(A * unit * unit[:, None]), unit


def _side(y: Array, k: int | None) -> Floats:
    return np.asarray(y, dtype=np.float64) if k is None else np.where(y == k, 1.0, -1.0)


def _plain(X: Any, centre: Floats) -> Floats:
    return np.asarray(X.toarray() - centre if isinstance(X, CsrBlock) else X)
