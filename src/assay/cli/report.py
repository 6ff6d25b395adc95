"""`assay report`: a saved model on a table as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay.cli.options import computing, data_argument, model_argument, opening, speaking
from assay.cli.shell import Shell, command_line
from assay.cli.tables import load_model, masked, open_source
from assay.cli.train import check_writable


def check_report(out: str, option: str) -> None:
    """Refuse a place where no report can be written, before any work is done."""
    if out == "-":
        raise click.BadParameter("a report is written to a file: give its name.", param_hint=option)
    check_writable(out, option)


@click.command()
@model_argument
@data_argument
@click.option("--out", default="report.html", show_default=True, metavar="FILE", help="The report.")
@computing
@opening
@speaking("report")
def command(model: str, data: str, out: str, opening: dict[str, Any], shell: Shell) -> None:
    """Write a report on the model in the file MODEL, judged on DATA: scores, curves, certificate, what to worry about.

    DATA of the fit: the model is judged on the rows that were held out then; another table is judged on whole. (`assay
    compare DATA --target COLUMN --report FILE` reports on all models.)
    """
    from assay.report import check_possible, write_report
    from assay.selection.model_report import comparison_of

    check_report(out, "--out")
    check_possible()
    fitted = load_model(model)
    if getattr(fitted, "encoding_", None) is None:
        raise click.UsageError(f"{model} was not fitted on a table: fit it with assay train or assay compare.")
    with shell.busy("judging"):
        found = comparison_of(fitted, open_source(data, opening, shell))
        found.question["command"] = command_line(click.get_current_context())
        write_report(found, out)
    size = Path(out).stat().st_size
    shell.result(
        {"model": model, "data": masked(data), "out": out, "bytes": size}, f"report: {out} ({size / 1e6:.1f} MB)"
    )
