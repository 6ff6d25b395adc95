"""`assay schema`: what each column of a table is taken for, and what becomes of it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from assay.cli.options import choosing_columns, data_argument, kinds_option, opening, speaking
from assay.cli.shell import Shell, indented, listed, nearly_numbers
from assay.cli.tables import open_rows
from assay.selection.loading import usual_target

if TYPE_CHECKING:
    from assay.tables.schema.schema import Schema

WIDTH = 80
MISSING = "of numbers: the mean, and a column that says so; of categories: one of their own; or as the model takes them"


@click.command()
@data_argument
@click.option(
    "--target", metavar="COLUMN", help="The column to predict (default: that of a bundled dataset, else none)."
)
@click.option("--weight", metavar="COLUMN", help="A column with the weights of the rows, which is no feature.")
@click.option("--features", metavar="A,B,…", help="The columns to look at (default: all).")
@kinds_option
@opening
@speaking("schema")
@choosing_columns
def command(
    data: str,
    columns: dict[str, Any],
    opening: dict[str, Any],
    shell: Shell,
) -> None:
    """Show what each column of DATA is: number, category, boolean, date, text, id, constant or ignored, and why.

    Ids, constants and ignored columns are not learnt from. --kind zip=category overrules what was found.
    """
    from assay.tables.schema.schema import infer, task_of

    columns["target"] = columns["target"] or usual_target(data)
    source = open_rows(data, opening=opening).source
    with shell.busy("reading"):
        schema = infer(source, **columns)
    for note in (*source.notes, *nearly_numbers(schema)):
        shell.note(note)
    task, why = task_of(schema) if schema.target is not None else (None, None)
    fates = {column.name: _treatment(column) for column in schema.columns}
    answer = {**schema.to_data(), "task": task, "task_why": why, "fates": fates}
    shell.result(answer, f"{schema}\n{_target_text(schema, task, why)}{_treatment_text(schema)}")


def _treatment(column: Any) -> str:
    from assay.tables.schema.schema import TREATMENT

    return TREATMENT[column.kind]


def _target_text(schema: Schema, task: str | None, why: str | None) -> str:
    column = schema.target
    if column is None:
        return "No target: name one with --target.\n"
    lines = [f"Target {column.name!r}: {task}, because {why}."]
    if column.missing:
        rows = "1 row" if column.missing == 1 else f"{column.missing} rows"
        lines.append(f"It is missing in {rows}: drop these before fitting.")
    if task == "classification" and column.counts:
        classes = [
            f"{name}: {count} ({100 * count / schema.n_rows:.1f} %)"
            for name, count in sorted(column.counts.items(), key=lambda each: -each[1])
        ]
        lines.append(f"Classes: {listed(classes, 6)}")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") for line in lines) + "\n"


def _treatment_text(schema: Schema) -> str:
    """What becomes of the columns, kind by kind; those that are left out with their reason."""
    from assay.tables.schema.schema import KINDS, TREATMENT, USED

    lines = []
    for kind in KINDS:
        inside = [column for column in schema.columns if column.kind == kind]
        reasons = "" if kind in USED else ": " + listed([f"{column.name} ({column.why})" for column in inside], 5)
        if inside:
            lines.append(f"{kind:<9} {TREATMENT[kind]}{reasons}")
    if any(column.missing for column in schema.used):
        lines.append(f"{'missing':<9} {MISSING}")
    wrapped = [textwrap.fill(line, WIDTH - 2, subsequent_indent=" " * 10) for line in lines]
    return "What becomes of them:\n" + indented("\n".join(wrapped))
