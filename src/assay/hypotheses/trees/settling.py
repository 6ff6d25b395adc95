"""A subtree's rows numbered anew, so that the codes and targets it reads lie together instead of all over the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.hypotheses.trees.growing import Plot
from assay.hypotheses.trees.lists import ROW, empty_lists
from assay.loops.tree.draws import settle, unsettle
from assay.loops.tree.shapes import Lists
from assay.numerics import Array


class Settled:
    """Growing from entries[begin : end] of a plot with lists as if these were all rows."""

    def __init__(self, plot: Plot, entries: Array, lists: Lists, begin: int, end: int, place: Array) -> None:
        target, table, rules = plot
        self._home = entries[begin:end]
        self._rows = self._home >> ROW
        m = end - begin
        codes = np.empty((table.d, m), table.codes.dtype)
        self.entries = np.empty(m, np.uint64)
        self.lists = empty_lists(table.d, m, m)._replace(tied=lists.tied)
        settle(
            table.codes, table.levels, lists.items, entries, begin, end, place, codes, self.lists.items, self.entries
        )
        self.lists.entry[:] = self.entries
        own = target.loops
        names = [name for name in ("value", "weight", "plain") if len(getattr(own, name, ()))]
        rows = self._rows.astype(np.int64)
        loops = own._replace(**{name: getattr(own, name)[rows] for name in names})
        self.plot = Plot(replace(target, loops=loops), table._replace(codes=codes, n=m, far=False), rules)

    def bring_back(self) -> None:
        """Put the entries where they came from, in the order that they are in now."""
        unsettle(self._rows.copy(), self.entries, self._home)
