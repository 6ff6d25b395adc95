"""Where rows that a tree did not see go, by their codes."""

from __future__ import annotations

import numpy as np

from assay.hypotheses.trees.values import columns_of
from assay.loops.tree.shapes import Grown, Table
from assay.loops.tree.walk import leaf_of_codes
from assay.numerics import Array


def last_codes(grown: Grown, table: Table) -> Array:
    """Of each split of numbers the last code whose values are all at or below the threshold; of others as it is.

    A split knows the last code on the left among the rows it was made for. Rows that it did not see may have a value between
    that and the threshold, and go to the left too, as they will when they are predicted.
    """
    code: Array = grown.code.copy()
    column = columns_of(grown.feature)
    number = grown.feature >= 0
    ends = np.append(table.first[1:], len(table.values))
    for f in np.unique(column[number]).tolist():
        own = np.flatnonzero(number & (column == f))
        code[own] = np.searchsorted(table.values[table.first[f] : ends[f]], grown.cut[own], side="right") - 1
    return code


def leaves_by_codes(grown: Grown, table: Table, rows: Array) -> Array:
    """The node where each of some rows of the table ends."""
    node = np.empty(len(rows), dtype=np.int64)
    code = last_codes(grown, table)
    leaf_of_codes(table.codes, rows, grown.feature, code, grown.right, grown.missing, table.missing, grown.sets, node)
    return node
