"""Checks of naive Bayes claims: every parameter is computed again from the rows, by definition and in two passes.

Of sparse rows sums run over the entries that are kept, and over the zeros that are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.certify.claim import Claim, Verdict
from assay.certify.registry import check
from assay.certify.rows import Array, CheckedRows, CsrBlock, Floats


def entry_sums(
    X: CsrBlock, weight: Array, about: Floats | None, power: int, threshold: float | None
) -> tuple[Floats, Floats]:
    """Σ w and Σ w (x − about)^power of each column, over the values present; with a threshold ≥ 0, x is 1 above it, else 0."""
    c, at = X.n_columns, X.indices
    x = X.data if threshold is None else np.where(np.isnan(X.data), np.nan, threshold < X.data)
    middle = np.zeros(c) if about is None else about
    row = X.row_numbers()
    there = ~np.isnan(x)
    terms = weight[row[there]] * (x[there] - middle[at[there]]) ** power
    absent, n = _weights_without(X, weight, at), _weights_without(X, weight, at, ~there)
    s: Floats = np.bincount(at[there], terms, minlength=c) + absent * (-middle) ** power
    return n, s


def _weights_without(X: CsrBlock, weight: Array, at: Array, which: Array | None = None) -> Floats:
    """For each column the weight of the rows without a kept entry (of those marked in `which`).

    Weights are cut into a coarse part, whose sums and differences are exact, and a fine rest: the weight of a few light
    rows survives being the difference of two large sums. Where no row is left it is zero.
    """
    c, row = X.n_columns, X.row_numbers()
    at, row = (at, row) if which is None else (at[which], row[which])
    unit = 2.0 ** (np.ceil(np.log2(max(weight.max(initial=0.0), 1e-300))) - 26)
    coarse = np.floor(weight / unit) * unit
    parts = (part.sum() - np.bincount(at, part[row], minlength=c) for part in (coarse, weight - coarse))
    left = sum(parts)
    return np.where(np.bincount(at, minlength=c) < len(X), left, 0.0)


def first_entries(X: CsrBlock) -> Floats:
    """Some value of each column: zero where a row keeps no entry, else the first entry present; NaN where there is none."""
    there = ~np.isnan(X.data)
    first = np.full(X.n_columns, np.nan)
    first[X.indices[there][::-1]] = X.data[there][::-1]
    return np.where(np.bincount(X.indices, minlength=X.n_columns) < len(X), 0.0, first)


LARGEST_TOLERANCE = 1e-6
LARGEST_SHARE = 0.09  # of a variance: what is put down to the rounding of means
LEAST = 2.0**-960  # a sum of squares below it has lost digits to underflow: it counts as zero
TINY = float(np.finfo(np.float64).tiny)


def _parts(claim: Claim, rows: CheckedRows) -> Iterator[tuple[int, Any, Array]]:
    """(class number, values (m, c), weights (m,)) of every class in every block; the claim's columns, class weights applied.

    The values are an array or, of sparse rows, a sparse matrix.
    """
    w = claim.witness
    columns = w.get("columns")
    for block in rows.blocks():
        if block.y is None:
            raise ValueError("the rows have no target")
        if not np.isin(block.y, w["classes"]).all():
            raise ValueError("the rows hold classes that the witness does not know")
        weight = np.ones(len(block.X)) if block.w is None else block.w
        X = np.empty((len(block.X), 0)) if columns is None else _columns(block.X, np.asarray(columns))
        for k, label in enumerate(w["classes"]):
            mine = (block.y == label) & (weight > 0)
            yield k, X[mine], weight[mine] * w["class_factor"][k]


def _columns(X: Any, columns: Array) -> Any:
    if not isinstance(X, CsrBlock):
        return X[:, columns].astype(np.float64)
    kept = X.columns(columns)
    return kept.with_data(kept.data.astype(np.float64))


def _verdict(claim: Claim, found: Any, due: Any, scale: Any, what: str, rounding: Any = 0.0) -> Verdict:
    """Whether |found − due| ≤ tolerance · scale + rounding everywhere."""
    tolerance = float(claim.witness["tolerance"])
    found, due, scale = (np.asarray(a, dtype=np.float64) for a in (found, due, scale))
    if not 0 < tolerance <= LARGEST_TOLERANCE:
        return Verdict(claim.name, False, f"a tolerance of {tolerance:g} proves nothing", kind=claim.kind)
    if found.shape != due.shape:
        return Verdict(claim.name, False, f"{what} of shape {found.shape} where {due.shape} is due", kind=claim.kind)
    gap = np.maximum(np.abs(found - due) - rounding, 0.0)
    error = float(np.max(np.divide(gap, scale, out=np.where(gap == 0, 0.0, np.inf), where=scale > 0), initial=0.0))
    holds = error <= tolerance  # false for NaN
    reason = f"{what} recomputed from the rows differ by at most {error:.2g} (relative; {tolerance:g} is allowed)"
    return Verdict(claim.name, bool(holds), reason, error, claim.kind)


@check("naive_bayes_priors")
def check_priors(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Count the classes."""
    w = claim.witness
    K = len(w["classes"])
    count = np.zeros(K)
    for k, _, weight in _parts(claim, rows):
        count[k] += weight.sum()
    given = np.asarray(w["priors"], dtype=np.float64)
    due = {"frequency": count / count.sum(), "uniform": np.full(K, 1 / K), "given": given}[w["rule"]]
    if abs(given.sum() - 1) > 1e-6 or np.any(given < 0):
        return Verdict(claim.name, False, f"the priors sum to {given.sum():g}", kind=claim.kind)
    return _verdict(claim, given, due, np.maximum(due, 1e-300), "the priors")


def _class_sums(claim: Claim, rows: CheckedRows, about: Floats | None = None, power: int = 1) -> tuple[Floats, Floats]:
    """Σ w and Σ w (x − about)^power over the values present, (K, c)."""
    K, c = len(claim.witness["classes"]), len(claim.witness["columns"])
    threshold = claim.witness.get("threshold")
    n, s = np.zeros((K, c)), np.zeros((K, c))
    for k, X, weight in _parts(claim, rows):
        if isinstance(X, CsrBlock):
            more = entry_sums(X, weight, None if about is None else about[k], power, threshold)
            n[k], s[k] = n[k] + more[0], s[k] + more[1]
            continue
        there = ~np.isnan(X)
        if threshold is not None:
            X = np.where(there, threshold < X, np.nan)
        t = X if about is None else X - about[k]
        n[k] += weight @ there
        s[k] += weight @ np.where(there, t, 0.0) ** power
    return n, s


def _first_values(claim: Claim, rows: CheckedRows) -> Floats:
    """Some value of each class and column (K, c); zero where there is none."""
    first = np.full((len(claim.witness["classes"]), len(claim.witness["columns"])), np.nan)
    for k, X, _ in _parts(claim, rows):
        if isinstance(X, CsrBlock):
            first[k] = np.where(np.isnan(first[k]), first_entries(X), first[k])
            continue
        for j in np.flatnonzero(np.isnan(first[k]) & ~np.isnan(X).all(axis=0)):
            first[k, j] = X[~np.isnan(X[:, j]), j][0]
    return np.where(np.isnan(first), 0.0, first)


def _moments(claim: Claim, rows: CheckedRows) -> tuple[Floats, Floats, Floats, Floats]:
    """Weight, mean, what the mean is short by, and mean squared deviation (K, c), by a second pass about the mean.

    Means are counted from a value of the class, so that they are exact where a column never varies.
    """
    first = _first_values(claim, rows)
    n, s = _class_sums(claim, rows, first)
    safe = np.where(n > 0, n, 1.0)
    mean = first + s / safe
    shift = _class_sums(claim, rows, mean)[1] / safe
    squares = _class_sums(claim, rows, mean, 2)[1]
    return n, mean, shift, _variances(squares, n, shift)


def _variances(squares: Floats, n: Floats, shift: Floats) -> Floats:
    """Σ w (x − mean)² / n, of means that are off by `shift`."""
    squares = np.where(squares >= LEAST, squares, 0.0)
    v: Floats = np.maximum(np.divide(squares, n, out=np.zeros_like(squares), where=n > 0) - shift**2, 0.0)
    return v


@check("naive_bayes_gaussian")
def check_gaussian(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """Means and variances by definition; ε from the variance of whole columns, which rounding may hide, but to no variance is more added than is stated."""
    w = claim.witness
    n, mean, shift, v = _moments(claim, rows)
    total = np.where(n.sum(axis=0) > 0, n.sum(axis=0), 1.0)
    heaviest = n.argmax(axis=0), np.arange(n.shape[1])
    apart = np.where(n > 0, (mean - mean[heaviest]) + (shift - shift[heaviest]), 0.0)
    between = (n * apart).sum(axis=0) / total
    spread = _variances((n * (v + apart**2)).sum(axis=0), total, between)
    epsilon = float(w["var_smoothing"]) * spread.max()
    whole = np.where(n.sum(axis=0) > 0, mean[heaviest] + (shift[heaviest] + between), 0.0)
    theta = np.where(n > 0, mean + shift, whole)
    raw = np.where(n > 0, v, spread)
    off = np.spacing(np.abs(mean).max(axis=0))  # two means, each rounded, are so much nearer or farther
    rounding = float(w["var_smoothing"]) * float(_lost(spread, off).max())
    verdict = _verdict(claim, w["epsilon"], epsilon, epsilon, "epsilon", rounding + TINY)
    if not verdict.holds:
        return verdict
    var, lost = raw + float(w["epsilon"]), np.minimum(_lost(raw, off), LARGEST_SHARE * raw)
    cured = var < TINY
    lost = np.where(cured, 1e-9 * _lost(spread, off), lost)
    var = np.where(cured, np.where(spread * 1e-9 >= TINY, spread * 1e-9, 1.0), var)
    verdict = _verdict(claim, w["theta"], theta, np.sqrt(var) + np.abs(theta) * 1e-6, "means")
    return _verdict(claim, w["var"], var, var, "variances", lost + TINY) if verdict.holds else verdict


def _lost(v: Floats, off: Floats) -> Floats:
    """What rounding may change a variance by whose means are `off`; one of zero is exact."""
    return np.where(v > 0, 2 * np.sqrt(v) * off + off**2, 0.0)


@check("naive_bayes_bernoulli")
def check_bernoulli(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The smoothed share of ones."""
    n, s = _class_sums(claim, rows)
    alpha = np.asarray(claim.witness["alpha"])
    m = n + 2 * alpha
    due = np.divide(s + alpha, m, out=np.full_like(s, 0.5), where=m > 0)
    return _verdict(claim, claim.witness["p"], due, due, "probabilities")


@check("naive_bayes_poisson")
def check_poisson(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The smoothed mean count."""
    n, s = _class_sums(claim, rows)
    alpha = np.asarray(claim.witness["alpha"])
    m = n + alpha
    due = np.divide(s + alpha, m, out=np.ones_like(s), where=m > 0)
    return _verdict(claim, claim.witness["rate"], due, due, "rates")


@check("naive_bayes_multinomial")
def check_multinomial(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The smoothed share of each column in the class's total."""
    return _shares_verdict(claim, _class_sums(claim, rows)[1])


@check("naive_bayes_complement")
def check_complement(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The smoothed share of each column in the total of all other classes."""
    s = _class_sums(claim, rows)[1]
    return _shares_verdict(claim, np.array([np.delete(s, k, axis=0).sum(axis=0) for k in range(len(s))]))


def _shares_verdict(claim: Claim, sums: Floats) -> Verdict:
    s = sums + np.asarray(claim.witness["alpha"])
    total = s.sum(axis=1, keepdims=True)
    due = np.divide(s, total, out=np.full_like(s, 1 / s.shape[1]), where=total > 0)
    return _verdict(claim, claim.witness["theta"], due, due, "probabilities")


@check("naive_bayes_categorical")
def check_categorical(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """The smoothed share of each category, column by column."""
    w = claim.witness
    offsets, alpha = np.asarray(w["offsets"]), np.asarray(w["alpha"])
    counts = np.zeros((len(w["classes"]), int(offsets[-1])))
    for k, X, weight in _parts(claim, rows):
        if isinstance(X, CsrBlock):
            raise ValueError("sparse rows have no categories: convert them with X.toarray()")
        X = np.floor(X) if w["cut"] else X
        for j in range(X.shape[1]):
            there = ~np.isnan(X[:, j])
            codes = X[there, j].astype(np.int64)
            table = np.bincount(codes, weight[there], minlength=int(offsets[j + 1] - offsets[j]))
            counts[k, offsets[j] : offsets[j + 1]] += table  # a category beyond the table is an error here
    due = np.empty_like(counts)
    for j, a in enumerate(alpha):
        column = counts[:, offsets[j] : offsets[j + 1]] + a
        total = column.sum(axis=1, keepdims=True)
        uniform = np.full_like(column, 1 / max(1, column.shape[1]))
        due[:, offsets[j] : offsets[j + 1]] = np.divide(column, total, out=uniform, where=total > 0)
    return _verdict(claim, w["p"], due, due, "probabilities")


@check("naive_bayes_smoothing")
def check_smoothing(claim: Claim, rows: CheckedRows, predict: Any) -> Verdict:
    """That exactly the named class-column pairs have a variance that smoothing changed noticeably."""
    w = claim.witness
    n, _, _, v = _moments(claim, rows)
    share, used = float(w["share"]), np.asarray(w["var"])
    named = np.zeros(v.shape, dtype=bool)
    named[tuple(np.asarray(w["pairs"]).T)] = True
    changed = used - v
    wrong = np.where(named, changed < share * v * (1 - 1e-6), changed > share * v * (1 + 1e-6)) & (n > 0)
    reason = f"{int(named.sum())} pairs named, {int(wrong.sum())} of all pairs wrongly named or left out"
    return Verdict(claim.name, not wrong.any(), reason, float(named.sum()), claim.kind)
