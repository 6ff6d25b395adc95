"""`assay separable`: whether a hyperplane separates the classes of a table, and the evidence either way."""

from __future__ import annotations

from typing import Any

import click

from assay.cli.options import computing, data_argument, names_of, opening, speaking
from assay.cli.shell import Shell
from assay.cli.showing import claims_data
from assay.cli.tables import open_rows, refuse_misspelt, usual_target


@click.command()
@data_argument
@click.option("--target", metavar="COLUMN", help="The column of the classes.")
@click.option("--features", metavar="A,B,…", help="The columns to separate by (default: all others).")
@click.option("--weight", metavar="COLUMN", help="The column of the rows' weights; rows of weight 0 do not count.")
@computing
@opening
@speaking("separable")
def command(
    data: str, target: str | None, features: str | None, weight: str | None, opening: dict[str, Any], shell: Shell
) -> None:
    """Tell whether a hyperplane separates the classes of DATA.

    If so: its margin γ, the radius R, R²/γ², and the support rows. If not: at most d + 2 rows whose hulls meet, with their
    weights. Rows are numbered from 0. More than two classes: each against all the others. Either answer is an answer:
    exit code 0.
    """
    target = target or usual_target(data)
    if target is None:
        refuse_misspelt(data)
        raise click.UsageError("Which column holds the classes? Give --target COLUMN.")
    names = names_of(features)
    rows = open_rows(data, target, features=names, weight=weight, opening=opening)
    from assay.hypotheses.separability import separability

    with shell.busy("separating"):
        found = separability(rows)
    shell.result({"data": data, "target": target, "features": rows.names, **_data(found)}, str(found))


def _data(found: Any) -> dict[str, Any]:
    fields = ("separable", "weak", "margin", "gap", "radius", "reason", "classes", "positive")
    data = {field: getattr(found, field) for field in fields}
    data["ratio"], data["bound"] = (v if v < float("inf") else None for v in (found.ratio, found.bound))
    if found.per_class is not None:
        each = {str(label): _data(verdict) for label, verdict in found.per_class.items()}
        return {**data, "per_class": each}
    if found.separable:
        data |= {"coef": found.witness.coef, "intercept": found.witness.intercept}
    rows, sides, weights = found.support
    data["rows"] = [
        {"row": i, "side": s, "weight": a} for i, s, a in zip(rows.tolist(), sides.tolist(), weights.tolist())
    ]
    data["claims"] = claims_data(found.certificate)
    return data
