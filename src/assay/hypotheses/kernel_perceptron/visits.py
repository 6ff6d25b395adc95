"""What visits of a kernel perceptron find, and what their mistakes change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.numerics import Array, Floats


class Visits(NamedTuple):
    """Rows visited one after another: numbers (B,), scores (m, B) at the visit, the class that won wrongly or −1, the row that had to go or −1."""

    rows: Array
    scores: Floats
    rivals: Array
    gone: Array


class Targets(NamedTuple):
    """Codes (n,) of the rows' classes, steps (n,): weight times factor of the class, and the number of classes."""

    codes: Array
    steps: Floats
    K: int

    def changes(self, rows: Array, rivals: Array) -> Floats:
        """What mistakes at these rows add to their coefficients: (m, B)."""
        c, at = self.steps[rows], np.arange(len(rows))
        if self.K == 2:
            return np.where(self.codes[rows] == 1, c, -c)[None]
        change = np.zeros((self.K, len(rows)))
        change[self.codes[rows], at] = c
        change[rivals, at] = -c
        return change
