"""The tables of a database, and the one that is meant: names are looked up, never pasted into SQL as they were typed."""

from __future__ import annotations

from typing import NamedTuple

from assay.errors import DataError, SchemaError, nearest


class Table(NamedTuple):
    """A table or view. `near`: it can be named without its schema."""

    schema: str
    name: str
    near: bool = True

    def __str__(self) -> str:
        return self.name if self.near else f"{self.schema}.{self.name}"

    @property
    def identifier(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"


def quoted(name: str) -> str:
    """A name as an SQL identifier.

    >>> quoted('the "big" table')
    '"the ""big"" table"'
    """
    return '"' + name.replace('"', '""') + '"'


def choose(tables: list[Table], wanted: str | None, where: str) -> Table:
    """The wanted table, or the only one. Upper and lower case matter only where two names differ by nothing else.

    >>> choose([Table("main", "coins"), Table("old", "coins", near=False)], "Coins", "the shop").identifier
    '"main"."coins"'
    """
    if wanted is None:
        if len(tables) == 1:
            return tables[0]
        if not tables:
            raise DataError(f"{where} holds no tables.")
        shown = ", ".join(repr(str(table)) for table in tables[:20]) + (", …" if len(tables) > 20 else "")
        raise DataError(
            f"{where} holds {len(tables)} tables: {shown}. Say which: ?table=NAME in the address, table= in Python."
        )
    for same in (str, str.lower):
        for match in (_by_name, _by_full_name):
            found = [table for table in tables if same(wanted) in map(same, match(table))]
            if len(found) == 1:
                return found[0]
    known = nearest(wanted, map(str, tables)) if tables else "It holds no tables."
    raise SchemaError(f"{where} has no table {wanted!r}. {known}")


def _by_name(table: Table) -> list[str]:
    return [table.name, quoted(table.name)] if table.near else []


def _by_full_name(table: Table) -> list[str]:
    return [f"{table.schema}.{table.name}", table.identifier]
