"""Objects within objects as columns named a.b, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.types as types


class Leaf(NamedTuple):
    """A value within nested objects: the names on the way to it, and its Arrow type."""

    way: tuple[str, ...]
    dtype: Any

    @property
    def name(self) -> str:
        return ".".join(self.way)


def leaves(fields: Any, before: tuple[str, ...] = ()) -> list[Leaf]:
    """The values of a schema or a struct type, in order.

    >>> [leaf.name for leaf in leaves(pa.schema({"a": pa.struct({"b": pa.int64(), "c": pa.string()}), "d": pa.bool_()}))]
    ['a.b', 'a.c', 'd']
    """
    found = []
    for field in fields:
        way = (*before, field.name)
        found += leaves(field.type, way) if types.is_struct(field.type) else [Leaf(way, field.type)]
    return found


def nested(wanted: Mapping[str, Leaf]) -> Any:
    """The schema that holds these leaves and nothing else."""
    tree: dict[str, Any] = {}
    for way, dtype in wanted.values():
        node = tree
        for name in way[:-1]:
            node = node.setdefault(name, {})
        node[way[-1]] = dtype
    return pa.schema(_fields(tree))


def _fields(tree: dict[str, Any]) -> list[Any]:
    return [pa.field(name, pa.struct(_fields(sub)) if isinstance(sub, dict) else sub) for name, sub in tree.items()]


def flat(table: Any, wanted: Mapping[str, Leaf]) -> Any:
    """The leaves as the columns of a table; missing where an object on the way is missing."""
    columns = {}
    for name, (way, _) in wanted.items():
        column = table[way[0]]
        columns[name] = column if len(way) == 1 else compute.struct_field(column, list(way[1:]))
    return pa.table(columns)
