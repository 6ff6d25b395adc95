"""DATA and MODEL arguments: files, bundled names, standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assay.datasets import dataset
from assay.selection.loading import bundled, refuse_misspelt, usual_target

if TYPE_CHECKING:
    from assay.cli.shell import Shell
    from assay.tables.file_rows import FileRows
    from assay.tables.sources.source import Source


def masked(data: str) -> str:
    """DATA as it may be shown: without the password of an address."""
    from assay.tables.sources.databases import masked

    return masked(data)


def chosen_target(data: str, target: str | None, question: str = "Which column should be predicted?") -> str:
    """The target that was asked for, or that of a bundled dataset; an error with the question where there is none."""
    import click

    target = target or usual_target(data)
    if target is None:
        refuse_misspelt(data)
        raise click.UsageError(f"{question} Give --target COLUMN.")
    return target


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
    """DATA as a source; its notes are shown."""
    source = open_rows(data, opening=opening).source
    if bundled(data):
        source.where = repr(data)
    for note in source.notes:
        shell.note(note)
    return source


def load_model(path: str) -> Any:
    """The model of a file, or of standard input."""
    from assay.abandoned import temporary_file
    from assay.selection.loading import load

    if path != "-":
        return load(path)
    with temporary_file("stdin") as file:
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
