"""The command line as Click has it, exit codes, and the JSON that each verb prints, taken from a run at build."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import tempfile
from typing import Any

import click

from assay.cli import app
from assay.errors import AssayError
from reference.errors import every_error
from reference.markdown import cell, code, fenced, plain, table


def pages() -> dict[str, str]:
    return {"commands": _commands(), "exit-codes": _exit_codes(), "json": _documents()}


def verbs() -> dict[str, click.Command]:
    context = click.Context(app.assay, info_name="assay")
    return {name: command for name in app.VERBS if (command := app.assay.get_command(context, name)) is not None}


def _commands() -> str:
    made = ["# Commands", _help(app.assay)]
    for name, command in verbs().items():
        made += [f"## assay {name}", _usage(name, command), _help(command), _options(command)]
    return "\n\n".join(made) + "\n"


def _usage(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"assay {name}")
    return fenced(command.get_usage(context).removeprefix("Usage: "))


def _help(command: click.Command) -> str:
    parts = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        as_it_is = paragraph.startswith("\b\n")
        parts.append(fenced(paragraph.removeprefix("\b\n")) if as_it_is else plain(paragraph))
    return "\n\n".join(parts)


def _options(command: click.Command) -> str:
    rows = []
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            names = ", ".join(map(code, [*option.opts, *option.secondary_opts]))
            default = option.default
            unset = default is None or default == () or option.is_flag or "UNSET" in repr(default)
            rows.append((names, cell(_taken(option)), " " if unset else code(default), cell(option.help or "")))
    return table(("option", "takes", "default", "what it does"), rows)


def _taken(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return ", ".join(map(str, option.type.choices))
    return (option.metavar or option.type.name) + (" (repeatable)" if option.multiple else "")


def _exit_codes() -> str:
    told = dict(re.findall(r"\b(\d+) ([^\d\n]+?)(?=\s{2,}\d|\n|$)", inspect.getdoc(app) or ""))
    rows = []
    for number, meaning in told.items():
        names = [cls.__name__ for cls in every_error() if issubclass(cls, AssayError) and str(cls.exit_code) == number]
        rows.append((code(number), cell(meaning), ", ".join(f"`{name}`" for name in names) or " "))
    return (
        "# Exit codes\n\nWhat every verb returns to the shell, and the [errors](errors.md) that lead to it.\n\n"
        + table(("code", "meaning", "errors"), rows)
    )


RUNS = {
    "datasets": ["datasets"],
    "schema": ["schema", "coins", "--target", "coin"],
    "train": ["train", "coins", "--model", "gaussian-nb", "--out", "coins.assay"],
    "predict": ["predict", "coins.assay", "coins"],
    "evaluate": ["evaluate", "coins.assay", "coins"],
    "verify": ["verify", "coins.assay", "coins"],
    "inspect": ["inspect", "coins.assay"],
    "separable": ["separable", "three-points", "--target", "label"],
    "compare": ["compare", "papayas", "--models", "baseline,rectangle"],
}


def _documents() -> str:
    """The names and types of every document, found by running the verb on a bundled table."""
    made = [
        "# JSON",
        "With `--json` a verb prints one document. `schema` names it with its version: within a version fields are added, none is taken "
        "away or given another meaning. The tables below come from a run of each command at build; `[]` is an element of a list, `*` any key.",
    ]
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for verb, words in RUNS.items():
                made += [f"## assay {verb} --json", _document(words)]
        finally:
            os.chdir(before)
    return "\n\n".join(made) + "\n"


def _document(words: list[str]) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        status = app.run([*words, "--json", *([] if words[0] == "predict" else ["-q"])])
    if status != 0:
        raise RuntimeError(f"assay {' '.join(words)} --json ended with {status}")
    lines = said.getvalue().strip().splitlines()
    fields: dict[str, set[str]] = {}
    for line in lines[:50]:
        _walk(json.loads(line), "", fields)
    each = "" if len(lines) == 1 else "A line for each row.\n\n"
    rows = [(code(path), cell(" or ".join(sorted(kinds)))) for path, kinds in fields.items() if path]
    return f"{fenced('assay ' + ' '.join([*words, '--json']), 'console')}\n\n{each}" + table(("field", "type"), rows)


NAMES = {
    str: "text",
    bool: "true or false",
    int: "number",
    float: "number",
    type(None): "null",
    dict: "object",
    list: "list",
}


def _walk(value: Any, path: str, into: dict[str, set[str]]) -> None:
    into.setdefault(path, set()).add(NAMES[type(value)])
    if isinstance(value, dict):
        for key, inner in value.items():
            step = key if re.fullmatch(r"[a-z_]+", key) else "*"
            _walk(inner, f"{path}.{step}" if path else step, into)
    elif isinstance(value, list):
        for inner in value[:20]:
            _walk(inner, f"{path}[]", into)
