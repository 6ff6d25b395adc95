"""Errors and warnings: every class, and every message that the source can say with it, remedies included."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import assay
from assay import errors
from assay.errors import AssayError
from reference.markdown import cell, table

SOURCE = Path(assay.__file__).parent


def every_error() -> list[type]:
    return [
        thing for thing in vars(errors).values()
        if inspect.isclass(thing) and issubclass(thing, AssayError | Warning) and thing.__module__ == errors.__name__
    ]  # fmt: skip


def pages() -> dict[str, str]:
    messages = _messages()
    made = [
        "# Errors and warnings",
        "Every error says what was wrong, which value, and what to do. `{…}` stands for a value of the case at hand. In Python catch "
        "`assay.errors.AssayError`, or one of its kinds; in the shell the message goes to standard error and the kind decides the "
        "[exit code](exit-codes.md).",
    ]
    for cls in every_error():
        bases = ", ".join(f"`{base.__name__}`" for base in cls.__mro__[1:] if base.__name__ not in ("object",) and base.__module__ in ("builtins", errors.__name__) and base is not BaseException)  # fmt: skip
        status = f" Exit code {cls.exit_code}." if issubclass(cls, AssayError) else ""
        made += [f"## {cls.__name__}", f"{inspect.getdoc(cls)}{status} It is also {bases}."]
        said = messages.get(cls.__name__, {})
        made.append(table(("message", "said in"), [(cell(text), ", ".join(f"`{w}`" for w in sorted(where))) for text, where in said.items()]))  # fmt: skip
    return {"errors": "\n\n".join(part for part in made if part) + "\n"}


def _messages() -> dict[str, dict[str, set[str]]]:
    """{class: {message: modules that say it}}"""
    found: dict[str, dict[str, set[str]]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        where = path.relative_to(SOURCE).with_suffix("").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name, text in _said(node):
                found.setdefault(name, {}).setdefault(text, set()).add(where)
    return found


def _said(node: ast.AST) -> list[tuple[str, str]]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
        text = _text(node.exc.args[0]) if node.exc.args else None
        return [(node.exc.func.id, text)] if text else []
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "warn"
        and len(node.args) == 2
    ):
        kind, text = node.args[1], _text(node.args[0])
        return [(kind.id, text)] if isinstance(kind, ast.Name) and text else []
    return []


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [str(v.value) if isinstance(v, ast.Constant) else "{…}" for v in node.values]
        return "".join(parts)
    return None
