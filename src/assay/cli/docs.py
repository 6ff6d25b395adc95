"""`assay docs`: the book, as it was built with the package or in the clone."""

from __future__ import annotations

from pathlib import Path

import click

import assay
from assay.cli.options import speaking
from assay.cli.shell import Shell, show
from assay.errors import DataError

PACKAGE = Path(assay.__file__).parent
PLACES = (PACKAGE / "pages", PACKAGE.parents[1] / "docs" / "_build" / "html")  # of a wheel, of a clone


def book() -> Path:
    """The first page of the book."""
    for place in PLACES:
        if (place / "index.html").is_file():
            return place / "index.html"
    raise DataError(
        "The book is not built here: in a clone `make docs` builds it; a wheel brings it where it was built with it."
    )


@click.command()
@click.argument("page", required=False)
@click.option("--browser/--no-browser", default=True, help="Open it in a browser (default), or only print where it is.")
@speaking("docs")
def command(page: str | None, browser: bool, shell: Shell) -> None:
    """Open the book: the notes section by section, guide, gallery and reference. PAGE is one of its files, such as notes/index."""
    first = book()
    found = first if page is None else (first.parent / page).with_suffix(".html")
    if first.parent.resolve() not in found.resolve().parents or not found.is_file():
        raise DataError(f"There is no page {page!r}: see {first}.")
    if shell.as_json:
        shell.result({"path": str(found)}, "")
    else:
        show(str(found))
    if browser:
        import webbrowser

        webbrowser.open(found.as_uri())
