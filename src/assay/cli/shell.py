"""What a verb says, and where: results on standard output as text or JSON, notes on standard error."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from assay.tables.schema.schema import Schema

LONG = 10.0  # seconds between notes where there is no terminal
MOST_UNNAMED = 1 << 12  # columns without names that are listed: how many there are may be the word of a file alone


@dataclass(frozen=True)
class Shell:
    """How one run of a verb talks."""

    verb: str
    as_json: bool
    quiet: bool
    json_lines: bool = False  # the result is the last of several lines of JSON

    def note(self, message: str) -> None:
        """Something worth knowing that is no result."""
        if not self.quiet:
            _say(message, "dim")

    @contextmanager
    def warnings_noted(self) -> Iterator[None]:
        """Within, warnings become notes."""
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for meant_for_developers in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning, ImportWarning):
                warnings.simplefilter("ignore", meant_for_developers)
            warnings.showwarning = lambda message, *_, **__: self.note(f"warning: {message}")
            yield

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Within, a terminal shows what is going on, and what the function that is given says of it; warnings become notes."""
        with self.warnings_noted():
            if self.quiet or not sys.stderr.isatty():
                yield self._now_and_then(what)
                return
            from rich.console import Console

            with Console(stderr=True).status(what) as status:
                yield lambda line: status.update(f"{what}: {line}")

    def _now_and_then(self, what: str) -> Callable[[str], None]:
        """Notes of something long, one in LONG seconds."""
        last = time.monotonic()

        def say(line: str) -> None:
            nonlocal last
            if time.monotonic() - last >= LONG:
                last = time.monotonic()
                self.note(f"{what}: {line}")

        return say

    def result(self, data: dict[str, Any], text: str) -> None:
        """The outcome, as JSON with its schema or as text for people."""
        if self.as_json:
            document = {"schema": f"assay.{self.verb}/1", **data}
            show(json.dumps(document, default=plain, ensure_ascii=False))
        else:
            show(text)


def show(text: str) -> None:
    """A result on standard output. Where nobody reads on (`assay schema … | head`) the rest is for nobody, and no failure: what a verb has
    still to write into files is written."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        nobody_reads()


def nobody_reads() -> None:
    """From here on standard output goes nowhere; else the interpreter complains of what it could not write when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays, and paths, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def complain(message: str) -> None:
    """An error on standard error: red where that is a terminal that takes colours. Passwords of addresses are not repeated."""
    from assay.tables.sources.databases import masked

    _say(f"assay: {masked(message)}", "bold red")


def _say(message: str, style: str) -> None:
    if not sys.stderr.isatty():
        with suppress(BrokenPipeError):  # nobody reads what is said beside
            print(message, file=sys.stderr)
        return
    from rich.console import Console

    Console(stderr=True, highlight=False).print(message, style=style, markup=False)  # honours NO_COLOR


def command_line(context: click.Context) -> str:
    """The command line as it was typed, so that a report can say how to get it again; a password in an address is not repeated."""
    from assay.tables.sources.databases import masked

    words = context.find_root().obj or []
    return "assay " + " ".join(shlex.quote(masked(word)) for word in words)


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
