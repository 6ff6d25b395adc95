"""`assay completion`: the script by which a shell completes words, and what it offers when Tab is pressed.

Offered are commands, options, names of models, of a table's columns, of bundled datasets, and files. A suggestion must cost little and never fail: a
table that is not a file here, or cannot be read, has no columns to offer.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ShellComplete, ZshComplete

from assay.cli.options import speaking
from assay.cli.shell import Shell
from assay.errors import AssayError

BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value path
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete $1)
    for completion in $response; do
        type=${completion%%%%,*} value=${completion#*,}
        if [[ $type == file ]]; then
            compopt -o filenames
            while read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        else
            value=$(printf '%%q' "$value")
            COMPREPLY+=("${value//\\\\,/,}")
        fi
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
OPENING = ("delimiter", "table", "sheet", "skip")

Suggest = Callable[[click.Context, str], list[CompletionItem]]


class BashScript(BashComplete):
    """Click's own offers either names or files, and breaks names at spaces: a bundled dataset beside files, a column called "size mm"."""

    source_template = BASH

    @staticmethod
    def _check_version() -> None:
        """The script may be made for another machine than this one."""


SCRIPTS: dict[str, type[ShellComplete]] = {"bash": BashScript, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("program", metavar="SHELL", type=click.Choice(list(SCRIPTS)))
@speaking("completion")
def command(program: str, shell: Shell) -> None:
    """Print the script that lets SHELL (bash, zsh or fish) complete commands, options, models, columns and files.

    \b
    bash   eval "$(assay completion bash)"     in ~/.bashrc (bash 4.4 or newer)
    zsh    eval "$(assay completion zsh)"      in ~/.zshrc, after compinit
    fish   assay completion fish > ~/.config/fish/completions/assay.fish

    Then `assay compare sales.csv --target <Tab>` lists the columns of sales.csv, `--models svc,<Tab>` the models.
    """
    from assay.cli.app import assay

    script = SCRIPTS[program](assay, {}, "assay", "_ASSAY_COMPLETE").source()
    shell.result({"shell": program, "script": script}, script)


@cache
def with_suggestions(command: click.Command) -> click.Command:
    """The command, whose options and arguments offer what their names ask for."""
    command.parse_args = partial(_parsed, command.parse_args)  # type: ignore[method-assign]
    for param in command.params:
        found = (ARGUMENTS if isinstance(param, click.Argument) else OPTIONS).get(param.name or "")
        if found is not None:
            param.shell_complete = found  # type: ignore[method-assign, assignment]
    return command


def _parsed(parse: Callable[[click.Context, list[str]], list[str]], ctx: click.Context, words: list[str]) -> list[str]:
    """The words parsed. Where a value is asked for, its option stands last without one: it would hide which DATA was given."""
    unfinished = ctx.resilient_parsing and words and words[-1].startswith("-")
    return parse(ctx, words[:-1] if unfinished else words)


def models(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The names of models."""
    return _beginning(incomplete, _models())


def several_models(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The names of models, one after another with commas between."""
    return _next_of_several(incomplete, _models())


def columns(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The columns of the table that was named before."""
    return _beginning(incomplete, _columns(ctx))


def several_columns(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The columns, one after another with commas between; a name with a comma in it is quoted as in a CSV file."""
    return _next_of_several(incomplete, (_quoted(name) for name in _columns(ctx)))


def tables(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Bundled datasets, and files."""
    return [*datasets(ctx, incomplete), *files(ctx, incomplete)]


def datasets(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The bundled datasets, each with what it is about."""
    from assay.datasets import CATALOGUE

    return [CompletionItem(n, help=text) for n, (_, text) in CATALOGUE.items() if n.startswith(incomplete)]


def files(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Files: the shell lists them itself."""
    return [CompletionItem(incomplete, type="file")]


OPTIONS: dict[str, Suggest] = {
    "model_name": models,
    **dict.fromkeys(("models", "without", "report_models"), several_models),
    **dict.fromkeys(("target", "weight", "group", "time"), columns),
    **dict.fromkeys(("features", "keep"), several_columns),
    **dict.fromkeys(("out", "report"), files),
}
ARGUMENTS: dict[str, Suggest] = {"data": tables, "model": files, "models": files, "name": datasets}


def _models() -> Iterable[str]:
    from assay.families import REGISTRY

    return REGISTRY


def _columns(ctx: click.Context) -> list[str]:
    """The columns of DATA: a file's or a bundled dataset's. No network is asked, and no query run."""
    from assay.cli.tables import open_rows
    from assay.selection.loading import bundled

    data = ctx.params.get("data") or ""
    if ctx.params.get("sql") or not (bundled(data) or Path(data).exists()):
        return []
    opening = {key: ctx.params[key] for key in OPENING if ctx.params.get(key)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(open_rows(data, opening=opening).source.types)
    except (AssayError, OSError):  # no table, or none that may be read
        return []


def _beginning(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _next_of_several(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    """What the last name of "a,b,c" may become; those before it are not offered again."""
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [CompletionItem(f"{before}{comma}{n}") for n in names if n.startswith(last) and n not in taken]


def _quoted(name: str) -> str:
    line: Any = io.StringIO()
    csv.writer(line, lineterminator="").writerow([name])
    return str(line.getvalue())
