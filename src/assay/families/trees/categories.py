"""Columns of categories: which they are, and how categories become codes. No compiler is needed to say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.families.trees.hyper_parameters import number_of
from assay.families.trees.survey import MOST_CODES, Levels
from assay.numerics import Array

MOST_LEVELS = 255  # categories that are told apart; rarer ones share the last code


@dataclass(frozen=True)
class Categories:
    """How categories become codes: code[first[j] + level] for a column with levels[j] > 0."""

    levels: Array
    first: Array
    code: Array

    @classmethod
    def of(cls, levels: Levels, counts: Array) -> Categories:
        code = np.zeros(int(levels.first[-1]), dtype=np.uint8)
        for j in np.flatnonzero(levels.count):
            a, b = int(levels.first[j]), int(levels.first[j + 1])
            if b - a <= MOST_LEVELS:
                code[a:b] = np.arange(b - a)
            else:
                often = np.argsort(-counts[a:b], kind="stable")
                code[a + often] = np.minimum(np.arange(b - a), MOST_LEVELS - 1)
            code[a:b][counts[a:b] == 0] = min(b - a, MOST_LEVELS)  # as if missing
        return cls(levels.count, levels.first[:-1].copy(), code)

    def used(self, j: int) -> int:
        """Codes of a column of categories."""
        return int(min(self.levels[j], MOST_LEVELS))


def category_levels(asked: Any, names: Sequence[str] | None, given: Sequence[Any]) -> Levels:
    """Which columns are categories: those of text (`given` holds their categories), and those that the user asks for."""
    sizes, plain = [0 if c is None else len(c) for c in given], [False] * len(given)
    for column in () if asked is None else asked:
        j = number_of(column, names, len(given), "categorical_features")
        if given[j] is None:
            sizes[j], plain[j] = MOST_CODES, True
    return Levels.of(sizes, plain)
