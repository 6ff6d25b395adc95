"""`assay separable`: whether a hyperplane separates the classes of a table, and the evidence either way."""

from __future__ import annotations

from typing import Any

import click

from assay.cli.options import computing, data_argument, names_of, opening, speaking
from assay.cli.shell import Shell, claims_data
from assay.cli.tables import chosen_target, open_rows, open_source


@click.command()
@data_argument
@click.option("--target", metavar="COLUMN", help="The column of the classes.")
@click.option("--features", metavar="A,B,…", help="The columns to separate by (default: all others).")
@click.option("--intercept/--no-intercept", "fit_intercept", default=True, help="Hyperplanes anywhere (default), or through the origin alone.")  # fmt: skip
@click.option("--weight", metavar="COLUMN", help="The column of the rows' weights; rows of weight 0 do not count.")
@computing
@opening
@speaking("separable")
def command(
    data: str,
    target: str | None,
    features: str | None,
    fit_intercept: bool,
    weight: str | None,
    opening: dict[str, Any],
    shell: Shell,
) -> None:
    """Tell whether a hyperplane separates the classes of DATA.

    If so: its margin γ, the radius R, the most mistakes that a perceptron makes, and the support rows. If not: at most d + 2 rows whose hulls meet, with their
    weights. Rows are numbered from 0. Where columns are no numbers, all are encoded: a column of 0 and 1 a category, missing
    numbers filled and marked, ids set aside (assay schema shows what columns are taken for). More than two classes: each against
    all the others. Either answer is an answer: exit code 0.
    """
    target = chosen_target(data, target, "Which column holds the classes?")
    from assay.families.separability.separability import separability

    source = open_source(data, opening, shell)
    with shell.busy("separating"):
        names = names_of(features)
        if _only_numbers(source, [n for n in names or source.types if n not in (target, weight)]):
            rows: Any = open_rows(data, target, features=names, weight=weight, opening=opening)
        else:
            rows = _encoded(source, target, names, weight, shell)
        found = separability(rows, fit_intercept=fit_intercept)
    shell.result({"data": data, "target": target, "features": rows.names, **_data(found)}, str(found))


def _only_numbers(source: Any, names: list[str]) -> bool:
    """Whether a table's columns can be taken as they are; columns that are not there are refused as the table is opened."""
    from assay.tables.arrow_columns import family_of

    return all(family_of(source.types[n]) in ("number", "boolean") for n in names if n in source.types)


def _encoded(source: Any, target: str, features: list[str] | None, weight: str | None, shell: Shell) -> Any:
    """The rows of a table with other columns than numbers, encoded. One-hot: no category differs from the others in how."""
    from assay.engines import engine_for
    from assay.errors import DataError
    from assay.tables.encoding import Encoding, EncodingSpec
    from assay.tables.schema.schema import infer
    from assay.tables.table_rows import TableRows, encode

    schema = infer(source, target=target, weight=weight, features=features)
    assert schema.target is not None
    text = schema.target.kind == "category" and not source.typed
    table = TableRows(source, schema, target, weight, text_target=text)
    engine = engine_for(table)
    opened = engine.open(table)
    encoding = Encoding.learn(engine, schema, EncodingSpec("one-hot", sparse=True), opened)
    if not encoding.outputs:
        raise DataError(
            "No column is left to separate by: all are ids, constants or set aside (assay schema shows why)."
        )
    aside = [repr(c.name) for c in schema.columns if c not in schema.used]
    if aside:
        shell.note(f"not used: {', '.join(aside)} (assay schema shows why; --features A,B chooses)")
    shell.note(f"columns that are no numbers are encoded: {len(schema.used)} columns become {len(encoding.outputs)}")
    return encode(opened, encoding)


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
