"""`assay train`: fit on one side of a split, measure on the other, certify, save."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.columns import columns_data, columns_text, note_nearly_numbers
from assay.cli.options import computing, data_argument, speaking
from assay.cli.parameters import WithModelOptions, chosen_params
from assay.cli.shell import Shell
from assay.cli.showing import claims_data, indented
from assay.cli.tables import open_rows, refuse_misspelt, usual_target

if TYPE_CHECKING:
    from assay.tables.file_rows import FileRows


@click.command(cls=WithModelOptions)
@data_argument
@click.option("--target", metavar="COLUMN", help="The column to predict.")
@click.option("--model", "model_name", metavar="NAME", help="Default: naive-bayes or linear-regression, by the target.")
@click.option("--out", default="model.assay", show_default=True, metavar="FILE", help="The model file; - for stdout.")
@click.option(
    "--holdout", default=0.25, show_default=True, type=click.FloatRange(0, 1, max_open=True), help="Share held out."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Which rows are held out.")
@click.option("--weight", metavar="COLUMN", help="The column of the rows' weights.")
@click.option("--features", metavar="A,B,…", help="The columns to learn from (default: all others).")
@computing
@speaking("train")
def command(
    data: str,
    target: str | None,
    model_name: str | None,
    out: str,
    holdout: float,
    seed: int,
    weight: str | None,
    features: str | None,
    delimiter: str | None,
    shell: Shell,
    **options: Any,
) -> int:
    """Fit a model to DATA and save it with its certificate.

    A share of the rows is held out; the error on them is measured, with an interval, and goes into the certificate.
    Without --model the target decides: text, two whole numbers, or at most 20 with five rows or more to each on average mean
    classes (naive-bayes), other numbers a regression (linear-regression). `assay train --model NAME --help` shows that
    model's own options.
    Exit code 4 where the fit could not establish a claim that it should prove.
    """
    target = target or usual_target(data)
    if target is None:
        refuse_misspelt(data)
        raise click.UsageError("Which column should be predicted? Give --target COLUMN.")
    check_writable(out)
    rows = open_rows(data, target, features=_names(features), weight=weight, delimiter=delimiter)
    name = model_name or _usual_model(rows, shell)
    from assay.hypotheses import model_class

    cls = model_class(name)
    model = cls(**chosen_params(cls, options))
    note_nearly_numbers(rows, shell)
    with shell.busy(f"fitting {name}"):
        data_of_fit = _fit_and_measure(
            model, rows, holdout, seed, {"target": target, **({"weight": weight} if weight else {})}
        )
    save(model, out)
    _report(shell, model, {"model": name, "data": data, "target": target, "out": out, **data_of_fit})
    return 0 if all(claim.holds for claim in model.certificate_ if claim.kind == "proof") else 4


def _names(features: str | None) -> list[str] | None:
    return None if features is None else [name.strip() for name in features.split(",") if name.strip()]


def _usual_model(rows: FileRows, shell: Shell) -> str:
    from assay.cli.default_model import default_model

    name, why = default_model(rows)
    shell.note(f"model: {name} ({why}; --model chooses another)")
    return name


def _fit_and_measure(model: Any, rows: FileRows, share: float, seed: int, facts: dict[str, Any]) -> dict[str, Any]:
    from assay.certify.held_out import held_out_error, held_out_loss
    from assay.certify.measure import confusion, residuals
    from assay.engines import engine_for, split_rows

    if share == 0:
        model.fit(rows)
        model.certify(rows)
        model.add_claims(**facts)
        return {"rows": rows.n_rows, "held_out": None}
    opened = engine_for(rows).open(rows)
    seen, held_out = split_rows(opened, share, seed)
    split: dict[str, Any] = {"fraction": float(share), "seed": seed}
    with _split_explained(share):
        model.fit(seen)
        model.certify(seen)
        if hasattr(model, "classes_"):
            counts = confusion(model, held_out)
            claim, n = held_out_error(counts.errors, counts.n, **split), counts.n
        else:
            sums = residuals(model, held_out)
            claim, n = held_out_loss(sums.loss, sums.standard_error, sums.n, **split), sums.n
    model.add_claims(claim, split=split, **facts)
    low, high = claim.witness["interval"].tolist()
    measured = {"claim": claim.name, "value": claim.value, "interval": [low, high], "confidence": 0.95, "rows": n}
    return {"rows": opened.n_rows, "held_out": {**measured, **split}}


@contextmanager
def _split_explained(share: float) -> Iterator[None]:
    """Errors within come from one side of a split table: say so where it matters."""
    from assay.errors import DataError, OneClassError

    try:
        yield
    except OneClassError as error:
        raise OneClassError(
            f"{error} It is so among the rows left after a share of {share:g} was held out: --holdout 0 fits on all rows, "
            "another --seed holds out others."
        ) from None
    except DataError as error:
        if " row " not in str(error):
            raise
        raise DataError(
            f"{error} (A share of {share:g} is held out, and rows are counted on their side of that split: --holdout 0 "
            "counts those of the table.)"
        ) from None


def _report(shell: Shell, model: Any, facts: dict[str, Any]) -> None:
    names = model.feature_names_in_.tolist()
    record = model.to_record()
    data = {**facts, "features": names, **columns_data(record), "params": record.params}
    data["classes"] = getattr(model, "classes_", None)
    data |= {"holds": model.certificate_.holds, "claims": claims_data(model.certificate_)}
    held, lines = (
        facts["held_out"],
        [f"{facts['model']}: {' + '.join(names[:8])}{' + …' if len(names) > 8 else ''} → {facts['target']}"],
    )
    lines += [f"{title}: {line}" for title, line in columns_text(record)]
    if held is None:
        lines.append(f"fitted on all {facts['rows']} rows; nothing was held out")
    else:
        low, high = held["interval"]
        lines.append(
            f"rows: {facts['rows']}, of which {held['rows']} held out (share {held['fraction']:g}, seed {held['seed']})"
        )
        lines.append(f"{held['claim']}: {held['value']:.4g}, 95% interval [{low:.4g}, {high:.4g}]")
    lines.append("certificate:")
    lines.append(indented(str(model.certificate_)))
    if facts["out"] != "-":
        lines.append(f"saved: {facts['out']}")
        shell.result(data, "\n".join(lines))
    else:  # standard output is the model file itself
        shell.note("\n".join(lines))


def check_writable(out: str) -> None:
    """Say before the work rather than after it that the result could not be written."""
    folder = Path(out).parent
    if out == "-":
        return
    if Path(out).is_dir():
        raise click.BadParameter(f"{out!r} is a directory: give the name of a file.", param_hint="--out")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise click.BadParameter(
            f"the folder {str(folder)!r} does not exist or cannot be written to.", param_hint="--out"
        )


def save(model: Any, out: str) -> None:
    """Write the model file, or its bytes to standard output."""
    if out != "-":
        model.save(out)
        return
    from assay.store import encode

    sys.stdout.buffer.write(encode(model.to_record()))
    sys.stdout.buffer.flush()
