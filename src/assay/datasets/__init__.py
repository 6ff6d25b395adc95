"""Small tables that come with the package, each with the question it asks. This page is their catalogue."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import DataError, ParameterError, nearest

if TYPE_CHECKING:
    from assay.numerics import Array

__all__ = ["CATALOGUE", "Dataset", "dataset"]

CATALOGUE: dict[str, tuple[str, str]] = {
    "coins": (
        "coin",
        "worn Canadian coins by size and mass: 5c, 10c, 25c or 50c? (made from their specifications, seeded)",
    ),
    "papayas": (
        "taste",
        "papayas by softness and colour; the tasty ones fill a rectangle (made, seeded)",
    ),
    "oaks": (
        "dbh_inch",
        "oaks of Wisconsin, age and diameter at breast height (Huff, How to Lie with Statistics, 1954)",
    ),
    "digits": (
        "digit",
        "digits of 8 × 8 shades: 0, 1, … or 9? (strokes drawn with wobble, blur and noise, seeded)",
    ),
    "spam": (
        "kind",
        "messages with their exclamation marks and hour: spam or ham? (made of phrases, seeded)",
    ),
    "three-points": (
        "label",
        "the points on which lecture notes run the perceptron by hand",
    ),
}


def dataset(name: str) -> Dataset:
    """A bundled table by its name.

    >>> oaks = dataset("oaks")
    >>> oaks.names, oaks.target, oaks.X.shape
    (('age_years',), 'dbh_inch', (12, 1))
    """
    if name not in CATALOGUE:
        raise ParameterError(f"There is no bundled dataset {name!r}. {nearest(name, CATALOGUE)}")
    target, description = CATALOGUE[name]
    return Dataset(name, target, description)


@dataclass(frozen=True)
class Dataset:
    """A bundled table. `X`, `y` and `columns` are arrays; `path` is the CSV file itself, for `assay.rows` or any other program."""

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
        """The columns to predict from, as a matrix; a table with text is for `assay.compare`, `assay.train` or `columns`."""
        import numpy as np

        text = [name for name in self.names if self.columns[name].dtype.kind == "U"]
        if text:
            raise DataError(
                f"Column {text[0]!r} of {self.name!r} is text, and X is a matrix of numbers: give the table by its name "
                f"(assay.compare({self.name!r})), or take its columns."
            )
        return np.column_stack([self.columns[name] for name in self.names]).astype(np.float64)

    @property
    def y(self) -> Array:
        """What is to be predicted."""
        return self.columns[self.target]
