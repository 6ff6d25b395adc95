"""Certificates and columns as the verbs show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def claims_data(claims: Iterable[Any]) -> list[dict[str, Any]]:
    """Claims as JSON: what is claimed and whether it holds, without the witnesses."""
    fields = ("name", "kind", "holds", "value", "bound", "statement")
    return [{field: getattr(claim, field) for field in fields} for claim in claims]


def indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def listed(values: Iterable[Any], most: int = 12) -> str:
    """Some values in a line, the rest counted."""
    words = [str(v) for v in values]
    more = f", … ({len(words)} in all)" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def confusion_table(classes: list[Any], counts: list[list[int]]) -> str:
    """Rows: the true class; columns: the answer."""
    head = ["true \\ answer", *map(str, classes)]
    names = [*map(str, classes), "(unknown)"]
    lines = [[name, *map(str, row)] for name, row in zip(names, counts) if name != "(unknown)" or any(row)]
    widths = [max(len(line[j]) for line in [head, *lines]) for j in range(len(head))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths)) for line in [head, *lines])
