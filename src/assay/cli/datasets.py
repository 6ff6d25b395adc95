"""`assay datasets`: the tables that come with the package."""

from __future__ import annotations

from typing import Any

import click

from assay.cli.options import speaking
from assay.cli.shell import Shell, show
from assay.datasets import CATALOGUE, dataset


@click.command()
@click.argument("name", required=False)
@click.option("--path", "only_path", is_flag=True, help="Print the path of its CSV file instead of the file.")
@speaking("datasets")
def command(name: str | None, only_path: bool, shell: Shell) -> None:
    """List the bundled datasets, or print the dataset NAME as CSV."""
    if name is None:
        found = [_facts(each) for each in CATALOGUE]
        width = max(len(each) for each in CATALOGUE)
        text = "\n".join(
            f"{f['name']:<{width}}  {f['rows']:>5} rows  → {f['target']:<9} {f['description']}" for f in found
        )
        shell.result({"datasets": found}, text)
    elif shell.as_json:
        shell.result(_facts(name), "")
    elif only_path:
        show(str(dataset(name).path))
    else:
        show(dataset(name).path.read_text(encoding="utf-8").removesuffix("\n"))


def _facts(name: str) -> dict[str, Any]:
    found = dataset(name)
    return {
        "name": name,
        "rows": found.n_rows,
        "features": list(found.names),
        "target": found.target,
        "description": found.description,
        "path": str(found.path),
    }
