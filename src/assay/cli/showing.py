"""Columns, densities, claims and confusion tables as the verbs show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.tables.schema.schema import Schema


MOST_UNNAMED = 1 << 12  # columns without names that are listed: how many there are may be the word of a file alone


def columns_data(record: Any) -> dict[str, Any]:
    """For JSON: the kind of each column (None: thousands of numbers without names) and, where the model chose one, its density."""
    return {"kinds": None if _too_many(record) else _kinds(record), "densities": record.facts.get("columns_")}


def _too_many(record: Any) -> bool:
    return record.names is None and record.categories is None and record.n_features > MOST_UNNAMED


def columns_text(record: Any) -> list[tuple[str, str]]:
    """[(title, line)]: "numbers 2 (a, b), text 1 (c: 3 categories)", and the densities likewise."""
    if _too_many(record):
        return [("columns", f"numbers {record.n_features} (without names)")]
    names = record.names or [f"column {j}" for j in range(record.n_features)]
    levels = record.categories or [None] * len(names)
    counted = [name if known is None else f"{name}: {len(known)} categories" for name, known in zip(names, levels)]
    lines = [("columns", _grouped(_kinds(record), counted))]
    if "columns_" in record.facts:
        lines.append(("densities", _grouped(record.facts["columns_"], names)))
    return lines


def schema_data(model: Any) -> dict[str, Any]:
    """For JSON: the kind of each column that a model of a table learns from, and what they are encoded as."""
    columns = model.schema_.columns
    return {
        "kinds": {c.name: c.kind for c in columns},
        "encoded": list(model.encoding_.names[:1000]),
        "densities": model.model_.to_record().facts.get("columns_"),
    }


def schema_text(model: Any) -> list[tuple[str, str]]:
    """[(title, line)]: the columns by kind, those left out, how many numbers they become, and densities."""
    columns = model.schema_.columns
    used = {c.name for c in model.schema_.used}
    counted = {
        c.name: f"{c.name}: {len(c.levels or ())} categories" if c.kind == "category" else c.name for c in columns
    }
    plural = {
        "number": "numbers",
        "category": "categories",
        "date": "dates",
        "boolean": "true/false",
        "text": "texts",
        "string": "strings",
    }
    inside = [c for c in columns if c.name in used]
    lines = [("columns", _grouped([plural[c.kind] for c in inside], [counted[c.name] for c in inside]))]
    outside = [c for c in columns if c.name not in used]
    if outside:
        lines.append(("left out", _grouped([c.kind for c in outside], [c.name for c in outside])))
    encoding = model.encoding_
    if len(encoding.names) != len(inside) or encoding.encoding_spec.scaled:
        scaled = ", numbers scaled to mean 0 and deviation 1" if encoding.encoding_spec.scaled else ""
        lines.append(("encoded", f"{len(encoding.names)} {'sparse ' if encoding.sparse else ''}columns{scaled}"))
    densities = model.model_.to_record().facts.get("columns_")
    if densities is not None and len(set(densities)) > 1:
        lines.append(("densities", _grouped(densities, list(encoding.names))))
    return lines


def nearly_numbers(schema: Schema) -> list[str]:
    """Notes on text columns that would be numbers but for a few values: a typing error makes a category."""
    from assay.tables.schema.schema import BUT_FOR

    return [f"column {c.name!r} is text, {c.why}" for c in schema.columns if c.why.startswith(BUT_FOR)]


def claims_data(claims: Iterable[Any]) -> list[dict[str, Any]]:
    """Claims as JSON: what is claimed and whether it holds, without the witnesses."""
    fields = ("name", "kind", "holds", "value", "bound", "statement")
    return [{field: getattr(claim, field) for field in fields} for claim in claims]


def confusion_table(classes: list[Any], counts: list[list[int]]) -> str:
    """Rows: the true class; columns: the answer."""
    head = ["true \\ answer", *map(str, classes)]
    names = [*map(str, classes), "(unknown)"]
    lines = [[name, *map(str, row)] for name, row in zip(names, counts) if name != "(unknown)" or any(row)]
    widths = [max(len(line[j]) for line in [head, *lines]) for j in range(len(head))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths)) for line in [head, *lines])


def indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def listed(values: Iterable[Any], most: int = 12) -> str:
    """Some values in a line, the rest counted."""
    words = [str(v) for v in values]
    more = f", … ({len(words)} in all)" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def _kinds(record: Any) -> list[str]:
    levels = record.categories or [None] * record.n_features
    return ["numbers" if known is None else "text" for known in levels]


def _grouped(groups: Sequence[str], names: Sequence[str]) -> str:
    """The names by group, each group with its size: "gaussian 2 (a, b), categorical 1 (c)"."""
    members: dict[str, list[str]] = {}
    for group, name in zip(groups, names):
        members.setdefault(group, []).append(name)
    return ", ".join(f"{group} {len(inside)} ({listed(inside, 8)})" for group, inside in members.items())
