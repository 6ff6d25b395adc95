"""`assay evaluate`: how wrong a model is on given rows, with intervals.

Whether a model was fitted on these very rows is known by their fingerprint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from assay.cli.options import computing, data_argument, model_argument, opening, speaking
from assay.cli.shell import Shell, confusion_table
from assay.cli.tables import labelled_rows, load_model, masked

if TYPE_CHECKING:
    from assay.engines import Rows

OF_NEW_ROWS = (
    "held_out_error",
    "held_out_loss",
    "cross_validated",
    "measured_fit",
)  # checks of claims that speak of new rows
MOST_ANSWERS = 20_000_000  # numbers: scores beyond the first need the answers of all rows at once


@click.command()
@model_argument
@data_argument
@click.option("--target", metavar="COLUMN", help="The column of the truth (default: as in training).")
@computing
@opening
@speaking("evaluate")
def command(model: str, data: str, target: str | None, opening: dict[str, Any], shell: Shell) -> None:
    """Measure the model in the file MODEL on the rows of DATA.

    Intervals speak of new rows only if the model has not seen those of DATA. Where DATA is the very table it was trained
    on, the rows held out then are measured alone; where none were, a note says so.
    """
    fitted = load_model(model)
    record = fitted.to_record()
    rows = labelled_rows(fitted, data, target, opening, shell)
    if record.encoding is None:
        rows = rows.fitted_to(None if record.names is None else tuple(record.names), _levels(record))
    inner = fitted if record.encoding is None else fitted.learner
    with shell.busy("evaluating"):
        found = unseen(fitted, rows)
        measured, text = (_classes if record.classes is not None else _numbers)(inner, found.rows)
        scores = _scores(inner, found.rows, measured["rows"])
    _note_seen(fitted, found, shell)
    measured |= {"rows_of_fit": found.of_fit, "held_out_only": found.held_out_only}
    measured["scores"] = [score.to_data() for score in scores]
    lines = [*(["only the rows held out in training:"] if found.held_out_only else []), text, *_table(scores)]
    if "r2" in measured and not scores:
        lines.append(f"R²: {measured['r2']:.4f}")
    shell.result({"model": model, "data": masked(data), **measured}, "\n".join(lines))


class Unseen(NamedTuple):
    """The rows to measure on; `of_fit`: the table is that of the fit, `held_out_only`: of it these are the rows held out."""

    rows: Rows
    of_fit: bool
    held_out_only: bool


def unseen(model: Any, rows: Any) -> Unseen:
    """Of the very table of the fit the rows that were held out, where some were; of any other table all."""
    from assay.certify.certificate import UNUSABLE, fingerprint_of

    certificate = model.certificate_
    if not certificate.fingerprint:
        return Unseen(rows, False, False)
    try:
        found = _sides(model, rows)
        same = found is not None and fingerprint_of(found[0], certificate.classes) == certificate.fingerprint
    except UNUSABLE:  # the split cannot be made again, or a label is unknown: then it is another table
        same = False
    if not same or found is None:
        return Unseen(rows, False, False)
    return Unseen(rows if found[1] is None else found[1], True, found[1] is not None)


def _sides(model: Any, rows: Any) -> tuple[Rows, Rows | None] | None:
    """The rows that a fit on this table saw, and those it did not; None where it cannot be the same table."""
    from assay.engines import engine_for
    from assay.engines.derived import split_rows

    if getattr(model, "encoding_", None) is None:
        split = model.certificate_.split
        return (rows, None) if split is None else split_rows(rows, *split)
    from assay.selection.table_model import held_out_of, sides

    table = rows.table
    if table.n_rows not in (None, model.schema_.n_rows):
        return None
    opened = engine_for(table, model.model_.n_jobs).open(table)
    return sides(opened, model.encoding_, held_out_of(model.to_record().provenance.get("split"), table))


def _note_seen(model: Any, found: Unseen, shell: Shell) -> None:
    """Say on standard error that the model was fitted on this table, and what speaks of new rows."""
    if found.held_out_only:
        shell.note(
            "this is the table of the fit: measured only on the rows that were held out, the others were seen in training"
        )
    elif found.of_fit:
        names = [repr(claim.name) for claim in model.certificate_ if claim.check in OF_NEW_ROWS]
        speaks = f"of new rows speaks the certificate's claim {' and '.join(names)} (assay inspect)"
        none = "no claim of the certificate speaks of new rows: give rows it has not seen, or train with --holdout"
        shell.note(f"these rows were seen in training, so that new rows may fare worse; {speaks if names else none}")


def _levels(record: Any) -> Any:
    return None if record.categories is None else tuple(None if c is None else tuple(c) for c in record.categories)


def _classes(model: Any, rows: Any) -> tuple[dict[str, Any], str]:
    from assay.assess.measure import confusion
    from assay.certify.held_out import clopper_pearson, hoeffding

    found = confusion(model, rows)
    low, high = clopper_pearson(found.errors, found.n)
    classes, counts = model.classes_.tolist(), found.counts.tolist()
    data = {"rows": found.n, "errors": found.errors, "error": found.errors / found.n, "interval": [low, high]}
    data |= {"confidence": 0.95, "hoeffding": hoeffding(found.n), "classes": classes, "confusion": counts}
    text = f"error: {data['error']:.4f} ({found.errors} of {found.n} rows), 95% interval [{low:.4f}, {high:.4f}]"
    return data, f"{text}\n{confusion_table(classes, counts)}"


def _numbers(model: Any, rows: Any) -> tuple[dict[str, Any], str]:
    from assay.assess.measure import residuals
    from assay.certify.held_out import normal_interval

    found = residuals(model, rows)
    data: dict[str, Any] = {"rows": found.n, "mse": found.loss, "r2": found.r2}
    text = f"mean squared error: {found.loss:.6g} on {found.n} rows"
    if found.n > 1:
        low, high = normal_interval(found.loss, found.standard_error)
        data |= {"standard_error": found.standard_error, "interval": [low, high], "confidence": 0.95}
        text += f", 95% interval [{low:.6g}, {high:.6g}] (normal approximation)"
    return data, text


def _scores(model: Any, rows: Any, n: int) -> list[Any]:
    """All scores of the answers, where these fit in memory; rows of weight 0 do not count."""
    import numpy as np

    from assay.assess.scores import classification_scores, regression_scores
    from assay.engines import targets_of

    classes = getattr(model, "classes_", None)
    if n * (2 if classes is None else 2 + len(classes)) > MOST_ANSWERS:
        return []
    y, w = targets_of(rows)
    counts = np.ones(len(y), dtype=bool) if w is None else w > 0
    if classes is None:
        return regression_scores(y[counts], model.predict(rows)[counts])
    if not hasattr(model, "predict_both_blocks"):
        return classification_scores(y[counts], model.predict(rows)[counts], classes=classes)
    parts = list(model.predict_both_blocks(rows))
    labels, P = (np.concatenate([part[k] for part in parts])[counts] for k in (0, 1))
    return classification_scores(y[counts], labels, P, classes)


def _table(scores: list[Any]) -> list[str]:
    """A line a score that the text above does not name yet."""
    more = [score for score in scores if score.name not in ("error", "MSE")]
    if not more:
        return []
    wide = max(len(score.name) for score in more)
    lines = [
        f"{score.name:<{wide}}  {score.value:.4g}  [{score.low:.4g}, {score.high:.4g}]  {score.kind}" for score in more
    ]
    return ["", f"{'score':<{wide}}  value  95% interval", *lines]
