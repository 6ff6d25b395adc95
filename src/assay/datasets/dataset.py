"""Numbers for made tables that are the same on every machine and in every version.

Only `random.Random.random`, which Python promises to keep, and sums and products of floats are used: no libm, no NumPy.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.numerics import Array


def about_normal(random: Random) -> float:
    """Nearly standard normal: the sum of twelve uniform numbers less six (Irwin and Hall)."""
    return sum(random.random() for _ in range(12)) - 6.0


def as_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """The text of a CSV file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


# A bundled table: its file, its columns, and what is to be predicted.


@dataclass(frozen=True)
class Dataset:
    """`X`, `y` and `columns` are arrays; `path` is the CSV file itself, for `assay.rows` or any other program."""

    name: str
    target: str
    description: str

    @property
    def path(self) -> Path:
        return Path(__file__).parent / f"{self.name}.csv"

    @cached_property
    def _cells(self) -> list[list[str]]:
        with self.path.open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to predict from."""
        return tuple(name for name in self._cells[0] if name != self.target)

    @property
    def n_rows(self) -> int:
        return len(self._cells) - 1

    @cached_property
    def columns(self) -> dict[str, Array]:
        """{name: values}: numbers where the column holds such, else text."""
        import numpy as np

        header, *rows = self._cells
        columns: dict[str, Array] = {}
        for name, values in zip(header, zip(*rows)):
            try:
                columns[name] = np.array([int(v) for v in values])
            except ValueError:
                try:
                    columns[name] = np.array([float(v) for v in values])
                except ValueError:
                    columns[name] = np.array(values)
        return columns

    @property
    def X(self) -> Array:
        """The columns to predict from, as a matrix."""
        import numpy as np

        return np.column_stack([self.columns[name] for name in self.names]).astype(np.float64)

    @property
    def y(self) -> Array:
        """What is to be predicted."""
        return self.columns[self.target]
