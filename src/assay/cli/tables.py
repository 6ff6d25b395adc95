"""DATA and MODEL arguments: files, bundled names, standard input."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.datasets import CATALOGUE, dataset
from assay.errors import DataError, nearest

if TYPE_CHECKING:
    from assay.cli.shell import Shell
    from assay.tables.file_rows import FileRows
    from assay.tables.sources.source import Source


def masked(data: str) -> str:
    """DATA as it may be shown: without the password of an address."""
    from assay.tables.sources.addresses import masked

    return masked(data)


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
    opening: Mapping[str, Any] | None = None,
) -> FileRows:
    """The rows of DATA."""
    from assay.tables import rows

    refuse_misspelt(data)
    source = str(dataset(data).path) if bundled(data) else data
    return rows(source, target, features, weight, **(opening or {}))


def open_source(data: str, opening: Mapping[str, Any], shell: Shell) -> Source:
    """DATA as a source; what it wants the user to hear is said."""
    source = open_rows(data, opening=opening).source
    if bundled(data):
        source.where = repr(data)
    for note in source.notes:
        shell.note(note)
    return source


def refuse_misspelt(data: str) -> None:
    """Raise where DATA is neither file nor pattern, and a bundled name or a file here is close to it."""
    if data == "-" or bundled(data) or Path(data).name != data or Path(data).exists() or any(c in data for c in "*?["):
        return
    hint = nearest(data, [*CATALOGUE, *sorted(path.name for path in Path().iterdir())])
    if hint.startswith("Did you mean"):
        raise DataError(f"There is no file {data!r}, nor a bundled dataset of that name. {hint}")


def load_model(path: str) -> Any:
    """The model of a file, or of standard input."""
    from assay.selection.loading import load

    if path != "-":
        return load(path)
    with tempfile.NamedTemporaryFile(prefix="assay-stdin-") as file:
        file.write(sys.stdin.buffer.read())
        file.flush()
        return load(file.name)


def labelled_rows(model: Any, data: str, target: str | None, opening: Mapping[str, Any], shell: Shell) -> Any:
    """DATA with the target and the weights that the model was fitted with, its labels of the kind of the model's classes."""
    import click

    record = model.to_record()
    target = target or record.target or usual_target(data)
    if target is None:
        raise click.UsageError("The model file does not say what its target was called: give --target COLUMN.")
    if record.encoding is not None:
        model.model_.add_claims(target=target)
        source = open_source(data, opening, shell)
        found = model.rows(source, labelled=True)
        for note in model.oddities(source):
            shell.note(note)
        return found
    rows = open_rows(data, target, weight=record.provenance.get("weight"), opening=opening)
    return rows if record.classes is None else rows.labelled_like(record.classes)
