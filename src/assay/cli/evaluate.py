"""`assay evaluate`: how wrong a model is on given rows, with an interval."""

from __future__ import annotations

from typing import Any

import click

from assay.cli.options import computing, data_argument, model_argument, opening, speaking
from assay.cli.shell import Shell
from assay.cli.showing import confusion_table
from assay.cli.tables import labelled_rows, load_model, masked


@click.command()
@model_argument
@data_argument
@click.option("--target", metavar="COLUMN", help="The column of the truth (default: as in training).")
@computing
@opening
@speaking("evaluate")
def command(model: str, data: str, target: str | None, opening: dict[str, Any], shell: Shell) -> None:
    """Measure the model in the file MODEL on all rows of DATA.

    The interval speaks of new rows only if the model has not seen those of DATA: for the table it was trained on, see the
    held-out error in its certificate (assay inspect).
    """
    fitted = load_model(model)
    record = fitted.to_record()
    rows = labelled_rows(fitted, data, target, opening, shell)
    if record.encoding is None:
        rows = rows.fitted_to(None if record.names is None else tuple(record.names), _levels(record))
    inner = fitted if record.encoding is None else fitted.model_
    with shell.busy("evaluating"):
        measured, text = _classes(inner, rows) if record.classes is not None else _numbers(inner, rows)
    shell.result({"model": model, "data": masked(data), **measured}, text)


def _levels(record: Any) -> Any:
    return None if record.categories is None else tuple(None if c is None else tuple(c) for c in record.categories)


def _classes(model: Any, rows: Any) -> tuple[dict[str, Any], str]:
    from assay.certify.intervals import clopper_pearson, hoeffding
    from assay.certify.measure import confusion

    found = confusion(model, rows)
    low, high = clopper_pearson(found.errors, found.n)
    classes, counts = model.classes_.tolist(), found.counts.tolist()
    data = {"rows": found.n, "errors": found.errors, "error": found.errors / found.n, "interval": [low, high]}
    data |= {"confidence": 0.95, "hoeffding": hoeffding(found.n), "classes": classes, "confusion": counts}
    text = f"error: {data['error']:.4f} ({found.errors} of {found.n} rows), 95% interval [{low:.4f}, {high:.4f}]"
    return data, f"{text}\n{confusion_table(classes, counts)}"


def _numbers(model: Any, rows: Any) -> tuple[dict[str, Any], str]:
    from assay.certify.intervals import normal_interval
    from assay.certify.measure import residuals

    found = residuals(model, rows)
    data: dict[str, Any] = {"rows": found.n, "mse": found.loss, "r2": found.r2}
    text = f"mean squared error: {found.loss:.6g} on {found.n} rows"
    if found.n > 1:
        low, high = normal_interval(found.loss, found.standard_error)
        data |= {"standard_error": found.standard_error, "interval": [low, high], "confidence": 0.95}
        text += f", 95% interval [{low:.6g}, {high:.6g}] (normal approximation)"
    return data, f"{text}\nR²: {found.r2:.4f}"
