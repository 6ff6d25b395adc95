"""`assay.schema`: what each column of a table is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.tables.description.schema import Schema, infer
from assay.tables.tabled import table_source


def schema(
    data: Any,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    **opening: Any,
) -> Schema:
    """The schema of a table: a path, a database's address, a frame, an array.

    >>> print(schema({"size": [1.5, 2.0, 2.5], "colour": ["red", "blue", "red"]}))
    column  kind      missing  distinct  values
    size    number                    3  1.5 … 2.5
    colour  category                  2  blue, red
    3 rows, 2 columns: 1 number, 1 category.
    """
    return infer(table_source(data, **opening), target=target, features=features, kinds=kinds)
