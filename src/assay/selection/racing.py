"""A race between settings (Maron and Moore 1994; Birattari et al. 2002): after each inner fold, those that fall behind are fitted no more.

On many rows one fold tells most settings apart. The same rows cost all of them something, so it is the paired difference to the best so far
that tells: a setting leaves where that is more than BEHIND standard errors above zero. What leaves wrongly would have been better by next to
nothing. Everything follows from the losses, so a race run again has the same end.
"""

from __future__ import annotations

import numpy as np

from assay.numerics import Floats

BEHIND = 2.0  # standard errors
RACED = 1000  # training rows up to which every setting goes the whole way: few rows tell nothing apart


class Race:
    """The losses of each setting on the rows tested so far, and who is still in it; `whole`: all go to the end."""

    def __init__(self, settings: int, whole: bool) -> None:
        self.whole = whole
        self.left = list(range(settings))
        self.losses: list[Floats] = [np.zeros(0)] * settings

    def add(self, losses: Floats) -> None:
        """(settings left, m): the losses on the rows of one more fold."""
        for setting, more in zip(self.left, losses):
            self.losses[setting] = np.concatenate([self.losses[setting], more])
        if not self.whole:
            best = self.losses[self.best]
            self.left = [k for k in self.left if not _behind(self.losses[k] - best)]

    @property
    def best(self) -> int:
        """The setting of least risk among those left, of equals the first: it is the simplest."""
        risks = [float(self.losses[k].mean()) for k in self.left]
        return self.left[0] if np.isnan(risks).all() else self.left[int(np.nanargmin(risks))]

    @property
    def over(self) -> bool:
        """Whether nothing is left to decide."""
        return len(self.left) == 1 and not self.whole

    @property
    def risks(self) -> Floats:
        return np.array([each.mean() for each in self.losses])

    @property
    def errors(self) -> Floats:
        """The standard errors of the risks."""
        return np.array([each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else 0.0 for each in self.losses])


def _behind(difference: Floats) -> bool:
    """Whether differences to the best, row by row, are above zero beyond doubt."""
    n = len(difference)
    return n > 1 and bool(difference.mean() > BEHIND * difference.std(ddof=1) / np.sqrt(n))
