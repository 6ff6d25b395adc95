"""What an encoding says of strings, counted again from the rows of the fit: plainly, value by value."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from assay.engines import Rows
from assay.numerics import Array, Floats
from assay.tables.encoding import Encoding
from assay.tables.encoding.columns import StringValues
from assay.tables.encoding.strings import (
    FEWEST_ROWS,
    MOST_MEANS,
    MOST_VALUES,
    PARTS,
    SHRINKAGE,
    part_of,
)

WITHIN = 1e-9  # of the greatest sum: that of rounding in another order


def wrong_strings(encoding: Encoding, raw: Rows) -> str | None:
    """What is wrong with the values of the encoding's strings; None where nothing is."""
    stated, columns = encoding.statistics.strings, encoding.groups.strings
    if len(stated) != len(columns):
        return "the values of some column of strings are not stated"
    if not stated:
        return None
    blocks = [part.load() for part in raw.blocks()]
    keys = np.concatenate([encoding.groups.expand(block.X).keys for block in blocks])
    y = np.concatenate([block.y for block in blocks]) if raw.has_target else None
    labels, T = _targets(y, encoding.encoding_spec.target, len(keys))
    for k, (values, column) in enumerate(zip(stated, columns)):
        wrong = "are of other classes" if values.labels != labels else _wrong_values(values, keys[:, k], T)
        if wrong is not None:
            return f"the values of the strings {column.name!r} {wrong}"
    return None


def _targets(y: Array | None, target: str, n: int) -> tuple[tuple[str, ...], Floats]:
    """Names and columns of the targets that means are taken of."""
    if y is None or target == "":
        return (), np.zeros((n, 0))
    if target == "number":
        return ("",), np.array([[float(each)] for each in y])
    rows = {label: np.flatnonzero(y == label) for label in sorted(set(y.tolist()))}
    shown = list(rows)[1:]
    if len(shown) > MOST_MEANS:
        shown = sorted(sorted(rows, key=lambda label: -len(rows[label]))[:MOST_MEANS])
    T = np.zeros((n, len(shown)))
    for k, label in enumerate(shown):
        T[rows[label], k] = 1.0
    return tuple(str(label) for label in shown), T


def _wrong_values(values: StringValues, keys: Floats, T: Floats) -> str | None:
    part = part_of(0, len(keys))
    rows: dict[float, list[int]] = defaultdict(list)
    for i in np.flatnonzero(~np.isnan(keys)):
        rows[float(keys[i])].append(int(i))
    often = sorted((key for key in rows if len(rows[key]) >= FEWEST_ROWS), key=lambda key: (-len(rows[key]), key))
    if sorted(often[:MOST_VALUES]) != values.keys.tolist() or values.missing != int(np.isnan(keys).sum()):
        return "are not those that occur more than once"
    least = WITHIN * max(1.0, float(np.abs(T).sum(axis=0).max(initial=0.0)))
    if _differ([np.flatnonzero(part == p) for p in range(PARTS)], values.parts, values.totals, T, least):
        return "have other means in the parts"
    for u, key in enumerate(values.keys.tolist()):
        mine = np.array(rows[key])
        if _differ([mine[part[mine] == p] for p in range(PARTS)], values.counts[u], values.sums[u], T, least):
            return "occur elsewhere, or with other targets"
    return _wrong_scale(values, keys, T, rows, part)


def _differ(parts: list[Array], counts: Array, sums: Floats, T: Floats, least: float) -> bool:
    found = np.array([T[rows].sum(axis=0) for rows in parts])
    return [len(rows) for rows in parts] != counts.tolist() or bool((np.abs(found - sums) > least).any())


def _wrong_scale(
    values: StringValues, keys: Floats, T: Floats, rows: dict[float, list[int]], part: Array
) -> str | None:
    """Means and deviations of the columns that the rows of the fit become: each row by the rows of other parts."""
    Z = np.zeros((len(keys), 1 + T.shape[1]))
    prior = [T[part != p].sum(axis=0) / max(int((part != p).sum()), 1) for p in range(PARTS)]
    Z[:, 1:] = np.array(prior)[part]
    for _u, key in enumerate(values.keys.tolist()):
        mine = np.array(rows[key])
        Z[mine, 0] = np.log(len(mine))
        for p in range(PARTS):
            others, own = mine[part[mine] != p], mine[part[mine] == p]
            Z[own, 1:] = (T[others].sum(axis=0) + SHRINKAGE * prior[p]) / (len(others) + SHRINKAGE)
    deviation = Z.std(axis=0)
    near = np.maximum(deviation, np.abs(Z).max(axis=0, initial=0.0) * 1e-6) * 1e-6 + 1e-12
    constant = deviation <= near
    scale = np.where(constant & (values.scale == 1.0), 1.0, deviation)
    if (np.abs(Z.mean(axis=0) - values.mean) > near).any() or (np.abs(scale - values.scale) > near).any():
        return "have another mean or deviation in the rows of the fit"
    return None
