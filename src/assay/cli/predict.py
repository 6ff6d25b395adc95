"""`assay predict`: answers for every row, in order, whatever the size of the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from assay.cli.options import computing, data_argument, model_argument, names_of, opening, speaking
from assay.cli.shell import Shell
from assay.cli.tables import load_model, masked, open_rows, open_source
from assay.cli.train import check_writable

SMALL = 8 << 20  # bytes
FORMS = {"": "csv", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


@click.command()
@model_argument
@data_argument
@click.option("--out", default="-", metavar="FILE", help="A .csv or .parquet file; - for CSV on stdout (default).")
@click.option("--proba", is_flag=True, help="Also a column with the probability of each class.")
@click.option("--keep", metavar="A,B,…", help="Columns of DATA to stand before the answers, such as an id.")
@click.option("--all", "keep_all", is_flag=True, help="All columns of DATA before the answers.")
@computing
@opening
@speaking("predict")
def command(
    model: str,
    data: str,
    out: str,
    proba: bool,
    keep: str | None,
    keep_all: bool,
    opening: dict[str, Any],
    shell: Shell,
) -> None:
    """Predict the target of each row of DATA with the model in the file MODEL.

    The model's columns are found by name; others are ignored, or kept: --keep id,name puts these before the answers, --all all of
    them. With --json and no --out the answers are in the JSON.
    """
    from assay.tables.answers import answer_file, kept_beside

    form = answer_form(out, shell.as_json)
    check_writable(out)
    if model == "-" and data == "-":
        raise click.UsageError("Only one of MODEL and DATA can come from standard input.")
    fitted = load_model(model)
    rows = rows_to_answer(fitted, data, opening, shell)
    names, blocks = answers(fitted, rows, proba)
    kept = kept_columns(keep, keep_all, names, source_of(rows), shell)
    if kept:
        blocks = kept_beside(blocks, source_of(rows), kept, "text" if form == "csv" else "as it is")
    with shell.busy("predicting"), answer_file(out, form, [*kept, *names], f"assay.{shell.verb}/1") as write:
        n = sum(write(columns) for columns in blocks)
    if out != "-":
        shell.result({"model": model, "data": masked(data), "out": out, "rows": n}, f"{n} rows predicted: {out}")


def rows_to_answer(model: Any, data: str, opening: dict[str, Any], shell: Shell) -> Any:
    """The rows of DATA as the model takes them; what is odd about them is said."""
    if getattr(model, "encoding_", None) is None:
        return open_rows(data, opening=opening)
    source = open_source(data, opening, shell)
    rows = model.rows(source)
    if not shell.quiet and small(source):  # a long table would be read once more for these notes
        for note in model.oddities(source):
            shell.note(note)
    return rows


def source_of(rows: Any) -> Any:
    """Where rows are read from."""
    return getattr(rows, "table", rows).source


def kept_columns(keep: str | None, keep_all: bool, answers: list[str], source: Any, shell: Shell) -> list[str]:
    """The columns to keep. One that is called as an answer is refused where it was asked for by name, else left out with a note."""
    if keep is not None and keep_all:
        raise click.UsageError("--all keeps every column: leave out --keep.")
    names = list(dict.fromkeys(names_of(keep) or ()))
    taken = [name for name in (source.types if keep_all else names) if name in answers]
    if taken and not keep_all:
        raise click.UsageError(f"--keep {taken[0]}: the answers stand in a column of that name.")
    for name in taken:
        shell.note(f"the column {name!r} of the table is left out: the answers stand in a column of that name")
    return [name for name in (source.types if keep_all else names) if name not in taken]


def small(source: Any) -> bool:
    """Whether looking through a table costs next to nothing."""
    paths = getattr(source, "paths", None)
    return sum(Path(p).stat().st_size for p in paths) <= SMALL if paths else (source.n_rows or 0) <= 100_000


def answer_form(out: str, as_json: bool) -> str:
    """How the answers are written, by the ending of the file's name."""
    if out == "-":
        return "json" if as_json else "csv"
    ending = Path(out).suffix
    if ending.lower() not in FORMS:
        raise click.BadParameter(
            f"answers cannot be written as {ending!r}. Endings that say how: .csv (as without an ending), .parquet, .pq.",
            param_hint="--out",
        )
    return FORMS[ending.lower()]


def answers(model: Any, rows: Any, proba: bool) -> tuple[list[str], Iterator[list[Any]]]:
    """The names of the answers' columns, and these columns block by block."""
    if not proba:
        return ["prediction"], ([block] for block in model.predict_blocks(rows))
    if not hasattr(model, "predict_both_blocks"):
        raise click.UsageError(f"{model.name} gives no probabilities{_way_on(model)}: leave out --proba.")
    names = ["prediction", *(f"p({label})" for label in model.classes_.tolist())]
    return names, ([labels, *P.T] for labels, P in model.predict_both_blocks(rows))


def _way_on(model: Any) -> str:
    """How a classifier comes by probabilities: fitted to a table by train or compare, it has calibrated ones."""
    if not hasattr(model, "classes_"):
        return ""
    return " (fitted again by assay train or assay compare, without --no-calibrate, it will)"
