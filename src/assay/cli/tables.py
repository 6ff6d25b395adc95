"""DATA and MODEL arguments: files, bundled names, standard input."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.datasets import CATALOGUE, dataset
from assay.errors import DataError, nearest

if TYPE_CHECKING:
    from assay.tables.file_rows import FileRows


def bundled(data: str) -> bool:
    """Whether DATA is the name of a bundled dataset and not a file."""
    return data in CATALOGUE and not Path(data).exists()


def usual_target(data: str) -> str | None:
    """The target of a bundled dataset."""
    return CATALOGUE[data][0] if bundled(data) else None


def open_rows(
    data: str,
    target: str | None = None,
    *,
    features: Iterable[str] | None = None,
    weight: str | None = None,
    delimiter: str | None = None,
) -> FileRows:
    """The rows of DATA."""
    from assay.tables import rows

    refuse_misspelt(data)
    source = str(dataset(data).path) if bundled(data) else data
    return rows(source, target, features, weight, "\t" if delimiter == r"\t" else delimiter)


def refuse_misspelt(data: str) -> None:
    """Raise where DATA is neither file nor pattern, and a bundled name or a file here is close to it."""
    if data == "-" or bundled(data) or Path(data).name != data or Path(data).exists() or any(c in data for c in "*?["):
        return
    hint = nearest(data, [*CATALOGUE, *sorted(path.name for path in Path().iterdir())])
    if hint.startswith("Did you mean"):
        raise DataError(f"There is no file {data!r}, nor a bundled dataset of that name. {hint}")


def load_model(path: str) -> Any:
    """The model of a file, or of standard input."""
    from assay.hypotheses import load

    if path != "-":
        return load(path)
    with tempfile.NamedTemporaryFile(prefix="assay-stdin-") as file:
        file.write(sys.stdin.buffer.read())
        file.flush()
        return load(file.name)


def labelled_rows(model: Any, data: str, target: str | None, delimiter: str | None) -> FileRows:
    """DATA with the target and the weights that the model was fitted with, its labels of the kind of the model's classes."""
    import click

    record = model.to_record()
    target = target or record.target or usual_target(data)
    if target is None:
        raise click.UsageError("The model file does not say what its target was called: give --target COLUMN.")
    rows = open_rows(data, target, weight=record.provenance.get("weight"), delimiter=delimiter)
    return rows if record.classes is None else rows.labelled_like(record.classes)
