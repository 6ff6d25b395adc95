"""Checks of linear models in kernel features: rows are mapped again by the definition of the map, then the linear model's claim is checked of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check, checker
from assay.certify.rows import Array, CheckedRows, Floats, RowBlock, content_keys
from assay.families.kernel.check import kernel_values

OURS = ("kernel_features", "kernel_approximation")
SAMPLE = 500
KERNELS = ("rbf", "laplacian", "poly", "linear", "affine")
LARGEST = 1 << 22  # features in memory
MOST_EXTENDED = 1 << 22  # numbers of pairs of rows and landmarks that are compared in extended precision
MEASURED = 256  # rows of more on which float64 is compared with it,
UNSEEN = 8.0  # and what other rows, or other arithmetic, may be off by more
SAME = 1e-7  # of the greatest value of the kernel: what errors of the map may be off by


@check("kernel_features")
def check_on_features(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Map the rows and have the claim checked of them as of any others."""
    name = str(claim.witness["of_features"])
    of_rows = checker(name)
    if of_rows is None or name in OURS:
        raise ValueError(f"{name!r} is no claim about features")
    found = of_rows(replace(claim, check=name), feature_rows(rows, claim.witness), predict)
    return replace(found, holds=found.holds and claim.holds)


def feature_rows(rows: CheckedRows, witness: dict[str, Any]) -> CheckedRows:
    """Rows mapped by a witness, block by block."""
    width = features_of(np.zeros((1, rows.n_columns)), witness).shape[1]
    step = max(1, LARGEST // width)
    cost = len(witness.get("landmarks", ())) * (rows.n_columns + 8) + width * (rows.n_columns + 8)
    dtype = np.longdouble if _has_few(rows, MOST_EXTENDED // cost) else np.float64

    def blocks() -> Iterator[RowBlock]:
        for block in rows.blocks():
            for a in range(0, len(block.X), step):
                y, w = (None if column is None else column[a : a + step] for column in (block.y, block.w))
                yield RowBlock(features_of(block.X[a : a + step], witness, dtype), y, w, block.start + a)

    off = features_off(rows, witness)
    return CheckedRows(blocks, width, columns_off=off, extended=dtype != np.float64)


def _has_few(rows: CheckedRows, most: int) -> bool:
    """Whether there are so few rows that extended precision takes no time."""
    n = 0
    for block in rows.targets():
        n += len(block.X if block.y is None else block.y)
        if n > most:
            return False
    return True


def features_off(rows: CheckedRows, witness: dict[str, Any]) -> Floats:
    """What float64 puts each feature off by: the most on some rows, and a few times that."""
    X = next(block.X if block.w is None else block.X[block.w > 0] for block in rows.blocks())[-MEASURED:]
    with np.errstate(all="ignore"):
        off = np.abs(features_of(X, witness) - features_of(X, witness, np.longdouble))
    most: Floats = UNSEEN * off.max(axis=0, initial=0.0).astype(np.float64)
    return most


def features_of(X: Array, witness: dict[str, Any], dtype: Any = np.float64) -> Floats:
    """φ of each row: Mᵀ k(x), or √(2/m) cos(ω·(x − c) + b), in a precision of `dtype`."""
    X = np.asarray(X, dtype=dtype)
    if "landmarks" in witness:
        L, M = (np.asarray(witness[name], dtype=dtype) for name in ("landmarks", "map"))
        if L.ndim != 2 or L.shape[1] != X.shape[1] or M.ndim != 2 or len(M) != len(L) or not M.size:
            raise ValueError(f"landmarks {L.shape} and map {M.shape} do not fit the rows")
        return np.asarray(kernel_of(X, L, witness, dtype) @ M)
    waves, offset, centre = (np.asarray(witness[name], dtype=dtype) for name in ("frequencies", "offset", "centre"))
    if waves.ndim != 2 or len(waves) != X.shape[1] or offset.shape != waves.shape[1:] or centre.shape != X.shape[1:]:
        raise ValueError(
            f"frequencies {waves.shape}, offset {offset.shape} and centre {centre.shape} do not fit the rows"
        )
    return np.asarray(np.sqrt(X.dtype.type(2.0) / len(offset)) * np.cos((X - centre) @ waves + offset))


def kernel_of(X: Floats, Z: Floats, witness: dict[str, Any], dtype: Any = np.float64) -> Floats:
    """K(x, z) for all rows x and z."""
    name, (gamma, degree, coef0) = witness["kernel"], witness["kernel_numbers"]
    if name not in KERNELS:
        raise ValueError(f"there is no kernel {name!r} that features are made of")
    return kernel_values({"kernel": name, "gamma": gamma, "degree": degree, "coef0": coef0}, X, Z, dtype)


def drawn_again(rows: CheckedRows, most: int, seed: int) -> Floats:
    """The distinct rows of least hash: every block's rows are put to those kept so far, equal ones once, and the first kept."""
    kept = np.empty((0, rows.n_columns))
    for block in rows.blocks():
        X = block.X if block.w is None else block.X[block.w > 0]
        both = np.unique(np.concatenate([kept, np.asarray(X, dtype=np.float64) + 0.0]), axis=0)
        order = np.lexsort((content_keys(both, seed, np.float64), content_keys(both, seed, np.float32)))
        kept = both[order[:most]]
    return kept


@check("kernel_approximation")
def check_approximation(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Draw the rows again, and compare map and kernel on all their pairs."""
    w = claim.witness
    landmarks = np.asarray(w.get("landmarks", np.empty((0, rows.n_columns))), dtype=np.float64)
    drawn = drawn_again(rows, len(landmarks) + SAMPLE, int(w["seed"]))
    sample = drawn[-SAMPLE:]
    if not np.array_equal(drawn[: len(landmarks)], landmarks):
        return Verdict(claim.name, False, "the landmarks are not the rows of least hash", kind=claim.kind)
    K, F = kernel_of(sample, sample, w), features_of(sample, w)
    off = K - F @ F.T
    rms, largest, trace = float(np.sqrt(np.mean(off**2))), float(np.abs(off).max()), float(off.diagonal().mean())
    allowed = SAME * max(1e-300, float(np.abs(K).max()))
    stated = (claim.value, w["largest"], w["trace"])
    same = all(s is not None and abs(s - found) <= allowed for s, found in zip(stated, (rms, largest, trace)))
    never_longer = not len(landmarks) or bool(off.diagonal().min() >= -allowed)
    reason = f"on {len(sample)} rows products are off by {rms:.4g} (root mean square), {largest:.4g} at most"
    if not never_longer:
        reason = "some features are longer than their rows in the space of the kernel"
    holds = same and never_longer and w["rows"] == len(sample)
    return Verdict(claim.name, bool(holds), reason, rms, claim.kind)
