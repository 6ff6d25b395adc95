"""`assay inspect`: what is in a model file."""

from __future__ import annotations

from typing import Any

import click

from assay.cli.options import model_argument, speaking
from assay.cli.shell import Shell, claims_data, columns_data, columns_text, indented, listed, schema_data, schema_text
from assay.cli.tables import load_model


@click.command()
@model_argument
@speaking("inspect")
def command(model: str, shell: Shell) -> None:
    """Show what the file MODEL holds: model, parameters, columns, classes, certificate, fingerprint of its data."""
    fitted = load_model(model)
    record = fitted.to_record()
    arrays = {name: {"dtype": a.dtype.str, "shape": list(a.shape)} for name, a in record.arrays.items()}
    data = {
        "model": record.model,
        "params": record.params,
        "n_features": record.n_features,
        "features": record.names,
        "categories": record.categories,
        **(columns_data(record) if record.encoding is None else schema_data(fitted)),
        "target": record.target,
        "classes": record.classes,
        "arrays": arrays,
        "facts": record.facts,
        "provenance": record.provenance,
        "holds": fitted.certificate_.holds,
        "claims": claims_data(fitted.certificate_),
        "covers": fitted.certificate_.covers.data(),
    }
    columns = columns_text(record) if record.encoding is None else schema_text(fitted)
    shell.result(data, _text(record, arrays, columns, str(fitted.certificate_)))


def _text(record: Any, arrays: dict[str, Any], columns: list[tuple[str, str]], certificate: str) -> str:
    shapes = [f"{name} {tuple(array['shape'])}" for name, array in arrays.items() if 0 not in array["shape"]]
    split = record.provenance.get("split")
    held_out = (
        _measured(record) if split is None else f"share {split['fraction']:g}, seed {split['seed']}{_sample(split)}"
    )
    lines = [
        f"model:       {record.model}",
        f"parameters:  {', '.join(f'{k}={v!r}' for k, v in record.params.items()) or 'none'}",
        *(f"{title + ':':<12} {line}" for title, line in columns),
        f"target:      {record.target or 'not recorded'}",
    ]
    if record.classes is not None:
        lines.append(f"classes:     {listed(record.classes.tolist())}")
    lines += [
        f"arrays:      {', '.join(shapes)}",
        f"fingerprint: {record.provenance.get('fingerprint', 'none')} (of the rows it was fitted on)",
        f"held out:    {held_out}",
        f"written by:  assay {record.provenance.get('assay', '?')}",
        "certificate:",
        indented(certificate),
    ]
    return "\n".join(lines)


def _measured(record: Any) -> str:
    """What was held out to measure on before the model was fitted again on all rows."""
    claim = next((c for c in record.claims if c["check"] == "measured_fit"), None)
    if claim is None:
        return "nothing"
    w = claim["witness"]
    return f"nothing: measured on {w.get('tested')} rows that a fit on the other {w.get('learnt')} never saw, then fitted again on all"


def _sample(split: Any) -> str:
    return f"; of the others {split['sample']} rows were learnt from" if "sample" in split else ""
