"""Rows out of core: blocks are read one after another, the next ones while the present ones compute.

The calling thread reads, the pool computes, and only a few blocks are in flight: memory stays bounded whatever the
size of the table, and repeated folds read it again.
"""

from __future__ import annotations

from assay.engines.rows import Rows
from assay.engines.threads import Threads


class Stream(Threads):
    """As `Threads`, but the rows stay where they are and at most `workers` + 1 blocks are in flight."""

    name = "stream"
    opens_in_memory = False
    reads_ahead = True

    @property
    def ahead(self) -> int:
        return self.workers

    def open(self, rows: Rows) -> Rows:
        return rows
