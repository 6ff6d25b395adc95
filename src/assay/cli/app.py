"""The verbs under one command, and the exit codes that all of them share.

0 done   1 the run failed   2 wrong usage   3 bad data, schema or model file   4 a claim was not established
5 the budget of time ran out, what is finished is shown   130 interrupted   141 nobody reads on   143 terminated
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import Any

import click

from assay import _signals
from assay._version import __version__
from assay.cli.shell import complain, nobody_reads
from assay.errors import AssayError

VERBS = (
    "compare",
    "train",
    "predict",
    "evaluate",
    "explain",
    "verify",
    "inspect",
    "report",
    "schema",
    "separable",
    "studio",
    "serve",
    "datasets",
    "docs",
    "warm",
    "completion",
)


NOBODY_READS = 141  # as of a program that SIGPIPE ends


class Verbs(click.Group):
    """The verbs, each in a module of its own that is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        from assay.cli.completion import with_suggestions

        return with_suggestions(import_module(f"assay.cli.{cmd_name}").command)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        from assay.errors import nearest

        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(f"There is no command {args[0]!r}. {nearest(args[0], VERBS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # before Click makes an exit of it that looks like a failure
            nobody_reads()
            return NOBODY_READS


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="assay", message="%(prog)s %(version)s")
def assay() -> None:
    """Fit a classical model to a table, say how wrong it will be on new rows, and certify both.

    DATA is a CSV or TSV file (also .gz, .zst), Parquet (files, patterns, folders), JSON lines, Arrow IPC, an Excel
    workbook, a DuckDB or SQLite file, postgresql://user@host/db?table=t, a folder of class folders with images, a
    bundled dataset, or - for standard input.
    Results go to standard output, everything else to standard error.

    \b
    assay train coins --out coins.assay
    assay predict coins.assay new.csv > answers.csv

    Exit codes: 0 done, 1 run failed, 2 wrong usage, 3 bad data, schema or model file, 4 a claim was not established,
    5 budget of time ran out, 130 interrupted, 141 nobody reads on (as in assay predict … | head), 143 terminated.
    """


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code; every error is one message, never a traceback (unless ASSAY_DEBUG=1)."""
    try:
        outcome = assay.main(arguments, prog_name="assay", standalone_mode=False, obj=arguments)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.exceptions.Exit as done:
        return int(done.exit_code)
    except click.ClickException as error:
        _show(error)
        return int(error.exit_code)
    except (KeyboardInterrupt, click.Abort) as stop:
        return _stopped(stop)
    except BrokenPipeError:
        nobody_reads()
        return NOBODY_READS
    except Exception as error:
        if _signals.received or isinstance(
            error.__cause__, KeyboardInterrupt
        ):  # a library made an error of its own of it
            return _stopped(error)
        return _explain(error)


def _stopped(stop: BaseException) -> int:
    """The exit code of what was interrupted; what is said of it needs nothing that is not loaded yet."""
    print(_signals.GOODBYE.decode(), end="", file=sys.stderr)
    told = f"{stop} {stop.__cause__}"
    return 128 + (_signals.SIGTERM if "SIGTERM" in told or _signals.received == _signals.SIGTERM else _signals.SIGINT)


def _show(error: click.ClickException) -> None:
    """Usage and message on standard error; passwords of addresses are not repeated."""
    from assay.tables.sources.databases import masked

    text = io.StringIO()
    error.show(text)
    click.echo(masked(text.getvalue()), err=True, nl=False)


def _explain(error: Exception) -> int:
    if os.environ.get("ASSAY_DEBUG", "") not in ("", "0"):
        raise error
    if isinstance(error, AssayError):
        complain(str(error).strip())
        return error.exit_code
    if isinstance(error, OSError):
        complain(f"{error.filename or 'the output'}: {error.strerror or error}")
    else:
        complain(f"unexpected {type(error).__name__}: {error} (ASSAY_DEBUG=1 shows where)")
    return 1
