"""The columns of a model as the verbs show them: which are numbers, which text, and what density each got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from assay.cli.shell import Shell
from assay.cli.showing import listed

if TYPE_CHECKING:
    from assay.tables.file_rows import FileRows

FEWEST_TEXTS = 10
SHARE_OF_NUMBERS = 0.9


def columns_data(record: Any) -> dict[str, Any]:
    """For JSON: the kind of each column and, where the model chose one, its density."""
    return {"kinds": _kinds(record), "densities": record.facts.get("columns_")}


def columns_text(record: Any) -> list[tuple[str, str]]:
    """[(title, line)]: "numbers 2 (a, b), text 1 (c: 3 categories)", and the densities likewise."""
    names = record.names or [f"column {j}" for j in range(record.n_features)]
    levels = record.categories or [None] * len(names)
    counted = [name if known is None else f"{name}: {len(known)} categories" for name, known in zip(names, levels)]
    lines = [("columns", _grouped(_kinds(record), counted))]
    if "columns_" in record.facts:
        lines.append(("densities", _grouped(record.facts["columns_"], names)))
    return lines


def _kinds(record: Any) -> list[str]:
    levels = record.categories or [None] * record.n_features
    return ["numbers" if known is None else "text" for known in levels]


def _grouped(groups: Sequence[str], names: Sequence[str]) -> str:
    """The names by group, each group with its size: "gaussian 2 (a, b), categorical 1 (c)"."""
    members: dict[str, list[str]] = {}
    for group, name in zip(groups, names):
        members.setdefault(group, []).append(name)
    return ", ".join(f"{group} {len(inside)} ({listed(inside, 8)})" for group, inside in members.items())


def note_nearly_numbers(rows: FileRows, shell: Shell) -> None:
    """Say which text columns of a CSV file would be numbers but for a few values: a typing error makes a category."""
    if rows.source.typed or rows.categories is None or rows.names is None:
        return
    for name, texts in zip(rows.names, rows.categories):
        strangers = no_numbers(texts or ())
        if strangers and _nearly_all_numbers(len(texts or ()), len(strangers)):
            values = "1 value" if len(strangers) == 1 else f"{len(strangers)} values"
            shell.note(f"column {name!r} is read as text because of {values} such as {strangers[0][:40]!r}")


def _nearly_all_numbers(texts: int, strangers: int) -> bool:
    return texts >= FEWEST_TEXTS and texts - strangers >= SHARE_OF_NUMBERS * texts


def no_numbers(texts: Iterable[str]) -> list[str]:
    """The texts that are no numbers.

    >>> no_numbers(["1.5", "abc", "-2e3", "1_000"])
    ['abc', '1_000']
    """
    return [text for text in texts if not _is_number(text)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python's own spelling, which no file means
