"""`assay verify`: the claims of a model file, re-checked from the rows and the witnesses alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from assay.cli.options import computing, data_argument, model_argument, opening, speaking
from assay.cli.shell import Shell
from assay.cli.tables import labelled_rows, load_model, masked


@click.command()
@model_argument
@data_argument
@click.option("--target", metavar="COLUMN", help="The column of the truth (default: as in training).")
@computing
@opening
@speaking("verify")
def command(model: str, data: str, target: str | None, opening: dict[str, Any], shell: Shell) -> int:
    """Re-check every claim in the file MODEL against DATA, the whole table that it was trained on.

    Exit code 4 where a claim does not hold, or where the file makes none.
    """
    fitted = load_model(model)
    rows = labelled_rows(fitted, data, target, opening, shell)
    with shell.busy("verifying"):
        verdicts = fitted.certificate_.verify(rows)
    fields = ("claim", "kind", "holds", "value", "reason")
    data_of_run = {
        "model": model,
        "data": masked(data),
        "holds": verdicts.holds,
        "verdicts": [{field: getattr(v, field) for field in fields} for v in verdicts],
        "notes": list(verdicts.notes),
    }
    summary = "all claims hold" if verdicts.holds else "NOT every claim holds"
    notes = [f"note   {note}" for note in verdicts.notes]  # first, for other rows explain claims that fail
    lines = (
        [*notes, str(replace(verdicts, notes=())), summary]
        if len(verdicts)
        else ["the file makes no claims: nothing is established"]
    )
    shell.result(data_of_run, "\n".join(lines))
    return 0 if verdicts.holds else 4
