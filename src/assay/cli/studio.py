"""`assay studio`: a page on this machine where models are watched while they learn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from assay.cli.options import speaking
from assay.cli.shell import Shell
from assay.errors import DataError, MissingExtraError, install, nearest
from assay.selection.loading import bundled, refuse_misspelt, usual_target


@click.command()
@click.argument("data", metavar="[DATA]", required=False)
@click.option("--target", metavar="COLUMN", help="The column to predict (the page can choose another).")
@click.option("--figure", metavar="NAME", help="Open a figure of the lecture notes, such as worked-example.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Where to listen on 127.0.0.1 (default: any free port).")  # fmt: skip
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser (default), or only print its address.")  # fmt: skip
@speaking("studio")
def command(data: str | None, target: str | None, figure: str | None, port: int, browser: bool, shell: Shell) -> int:
    """Watch any model learn, on points that you draw or on the table DATA.

    Opens a page that only this machine and only who has the printed address can use. Nothing is sent elsewhere; what is uploaded to
    the page is kept in a private folder that vanishes at the end. Ctrl-C ends it.
    """
    try:
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError(f"The studio needs a server: {install('studio')}.") from missing
    from assay.studio.serving import run

    if figure is not None:
        _check_figure(figure, data)
    place = None if data is None else _place(data, target)
    if place is None and target is not None:
        raise click.UsageError("--target names a column of a table: give DATA too.")

    def ready(address: str) -> None:
        click.echo(f"The studio is at {address} (Ctrl-C ends it).", err=True)  # whatever is quiet, this is needed
        if shell.as_json:
            shell.result({"url": address}, "")
            sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(address)

    ended = run(port, place, ready, figure)
    if ended == "SIGTERM":
        return 143
    raise KeyboardInterrupt


def _check_figure(name: str, data: str | None) -> None:
    from assay.studio.presets import PRESETS

    if data is not None:
        raise click.UsageError("--figure brings its own points: leave DATA out.")
    if name not in PRESETS:
        raise click.UsageError(f"There is no figure {name!r}. {nearest(name, PRESETS)}")


def _place(data: str, target: str | None) -> Any:
    """Where DATA lies."""
    from assay.datasets import dataset
    from assay.studio.requests import TableLocation

    if bundled(data):
        return TableLocation(str(dataset(data).path), data, data, target or usual_target(data), True)
    refuse_misspelt(data)
    if not Path(data).exists():
        raise DataError(f"There is no file {data!r}: the studio opens files and bundled datasets (assay datasets).")
    return TableLocation(str(Path(data).resolve()), Path(data).name, data, target)
