"""Small tables that come with the package, each with the question it asks. This page is their catalogue."""

from __future__ import annotations

from assay.datasets.dataset import Dataset
from assay.errors import ParameterError, nearest

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


__all__ = ["CATALOGUE", "Dataset", "dataset"]
