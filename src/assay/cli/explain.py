"""`assay explain`: what each column adds to the answer for every row."""

from __future__ import annotations

from typing import Any

import click

from assay.cli.options import computing, data_argument, model_argument, opening, speaking
from assay.cli.predict import answer_form, kept_columns, rows_to_answer, source_of
from assay.cli.shell import Shell
from assay.cli.tables import load_model, masked
from assay.cli.train import check_writable


@click.command()
@model_argument
@data_argument
@click.option("--out", default="-", metavar="FILE", help="A .csv or .parquet file; - for CSV on stdout (default).")
@click.option(
    "--class", "label", metavar="LABEL", help="Explain the probability of this class (default: of the one predicted)."
)
@click.option(
    "--against",
    metavar="DATA",
    help="Background rows to compare with (default: the rows of the fit, by the trees' shares).",
)
@click.option("--keep", metavar="A,B,…", help="Columns of DATA to stand before, such as an id.")
@computing
@opening
@speaking("explain")
def command(
    model: str,
    data: str,
    out: str,
    label: str | None,
    against: str | None,
    keep: str | None,
    opening: dict[str, Any],
    shell: Shell,
) -> None:
    """Explain the answers of the model in the file MODEL for the rows of DATA by exact SHAP values.

    A row of the result has the prediction, the answer that is explained (a number, or of a class its probability before calibration or, of boosting, its score), the base
    from which it starts, and what each column adds: base and columns add up to the answer.
    """
    from assay.tables.answers import answer_file, kept_beside

    form = answer_form(out, shell.as_json)
    check_writable(out)
    if [model, data, against].count("-") > 1:
        raise click.UsageError("Only one of MODEL, DATA and --against can come from standard input.")
    fitted = load_model(model)
    if not hasattr(fitted, "shap_values"):
        raise click.UsageError(f"{fitted.name} has no SHAP values: trees, forests and boosting have.")
    chosen = _class_of(fitted, label)
    rows = rows_to_answer(fitted, data, opening, shell)
    background = None if against is None else rows_to_answer(fitted, against, opening, shell)
    with shell.busy("explaining"):
        names, columns = explanation(fitted, rows, background, chosen)
        kept = kept_columns(keep, False, names, source_of(rows), shell)
        blocks: Any = iter([columns])
        if kept:
            blocks = kept_beside(blocks, source_of(rows), kept, "text" if form == "csv" else "as it is")
        with answer_file(out, form, [*kept, *names], f"assay.{shell.verb}/1") as write:
            n = sum(write(block) for block in blocks)
    if out != "-":
        shell.result({"model": model, "data": masked(data), "out": out, "rows": n}, f"{n} rows explained: {out}")


def explanation(model: Any, rows: Any, background: Any, chosen: int | None) -> tuple[list[str], list[Any]]:
    """The names of the columns, and these: prediction, what is explained of it, base, and a column for each of the model's."""
    import numpy as np

    predicted, values = model.predict(rows), model.shap_values(rows, background)
    inner = getattr(model, "model_", model)
    base = np.asarray(inner.shap_base_)
    if background is not None:  # the mean of what is explained, for these rows
        base = base + model.shap_values(background).sum(axis=1).mean(axis=0)
    if hasattr(inner, "classes_"):
        code = np.searchsorted(inner.classes_, predicted) if chosen is None else np.full(len(predicted), chosen)
        if values.ndim == 2:  # the score of the second class against the first
            sign = np.where(code == 1, 1.0, -1.0)
            values, base = sign[:, None] * values, sign * base
        else:
            values, base = values[np.arange(len(code)), :, code], base[code]
    base = np.broadcast_to(base, len(values))
    names = getattr(inner, "feature_names_in_", [f"column {j}" for j in range(values.shape[1])])
    named = [f"{name} (column)" if name in ("prediction", "answer", "base") else str(name) for name in names]
    return ["prediction", "answer", "base", *named], [predicted, base + values.sum(axis=1), base, *values.T]


def _class_of(model: Any, label: str | None) -> int | None:
    """The number of the class that is named."""
    if label is None:
        return None
    known = [str(c) for c in getattr(model, "classes_", [])]
    if label not in known:
        what = f"the classes are {', '.join(known)}" if known else "the model answers with a number, and has no classes"
        raise click.BadParameter(f"there is no class {label!r}: {what}.", param_hint="--class")
    return known.index(label)
