"""Docstrings and tables as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
CODE = re.compile(r"(`+[^`]*`+)")
SPECIAL = re.compile(r"([\\*_<>$|\[\]{}~#])")


def plain(text: str) -> str:
    """Words as they are: nothing in them means anything to Markdown, but for what stands in backticks."""
    parts = CODE.split(text)
    parts[::2] = [SPECIAL.sub(r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def cell(text: Any) -> str:
    """A cell of a table, in one line."""
    return plain(" ".join(str(text).split())).replace("\n", " ") or " "


def code(text: Any) -> str:
    """A value as code; backticks within it do not end it."""
    said = " ".join(str(text).split()).replace("|", "\\|")
    return f"`` {said} ``" if "`" in said else f"`{said}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing where there are no rows."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    if not lines:
        return ""
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *lines]) + "\n"


def fenced(text: str, language: str = "none") -> str:
    return f"```{{code-block}} {language}\n{text.rstrip()}\n```\n"


def sections(doc: str) -> dict[str, str]:
    """The parts of a docstring by their titles; what comes first has the title ''."""
    parts = SECTION.split(doc)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def prose(text: str) -> str:
    """Paragraphs, with formulas and examples (what is indented, or begins with >>>) as they stand."""
    made = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text) if text.startswith(" ") else text.strip("\n")):
        lines = paragraph.split("\n")
        if not paragraph.strip():
            continue
        if ">>>" in paragraph:
            made.append(fenced(inspect.cleandoc(paragraph), "pycon"))
        elif all(line.startswith("    ") or not line.strip() for line in lines):
            made.append(fenced("\n".join(line[4:] for line in lines)))
        elif lines[0].lstrip().startswith("- "):
            made.append("\n".join(("- " + plain(x.lstrip()[2:])) if x.lstrip().startswith("- ") else "  " + plain(x.strip()) for x in lines))  # fmt: skip
        else:
            made.append(_mixed(lines))
    return "\n\n".join(made) + "\n"


def _mixed(lines: list[str]) -> str:
    """A paragraph some of whose lines are indented: those are formulas."""
    out: list[str] = []
    held: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("    "):
            held.append(line[4:])
            continue
        if held:
            out.append("\n" + fenced("\n".join(held)))
            held = []
        out.append(plain(line))
    return "\n".join(out).strip()


def signature(name: str, thing: Any) -> str:
    """How it is called."""
    try:
        told = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in told.parameters.values() if p.name not in ("self", "cls")]  # fmt: skip
    said = str(told.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    if len(said) > 90:
        said = "(\n    " + ",\n    ".join(str(p) for p in [*_with_star(bare)]) + ",\n)"
    return f"{name}{said}"


def _with_star(parameters: list[inspect.Parameter]) -> Iterable[str]:
    """The parameters as they are written, with the * before those that are given by name alone."""
    starred = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred and not any(q.kind is q.VAR_POSITIONAL for q in parameters):
            yield "*"
            starred = True
        yield str(p)
