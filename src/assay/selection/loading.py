"""What a name stands for: a model file as the model that it holds (`assay.load`), with its encoding where it has one; and tables by the names of bundled
datasets, in Python as in the shell: `assay.compare("coins")`. Arrow is loaded only for an encoding, or where a table is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.datasets import CATALOGUE, dataset
from assay.errors import DataError, nearest

if TYPE_CHECKING:
    from assay.tables.sources.source import Source


def load(path: Any) -> Any:
    """Load a model file written by `model.save(path)`. It is data: nothing in it is run."""
    from assay.families import model_of_record
    from assay.store import read

    record = read(path)
    if record.encoding is None:
        return model_of_record(record)
    from assay.selection.table_model import TableModel

    return TableModel.from_record(record)


def bundled(data: Any) -> bool:
    """Whether data is the name of a bundled dataset and not of a file."""
    return isinstance(data, str) and data in CATALOGUE and not Path(data).exists()


def usual_target(data: Any) -> str | None:
    """The target of a bundled dataset."""
    return CATALOGUE[data][0] if bundled(data) else None


def named_source(data: Any, extra: Mapping[str, Any] | None = None, **opening: Any) -> Source:
    """`table_source`, which also knows the bundled datasets by name."""
    from assay.tables.sources.recognise import table_source

    if not bundled(data):
        if isinstance(data, str):
            refuse_misspelt(data)
        return table_source(data, extra=extra, **opening)
    source = table_source(dataset(data).path, extra=extra, **opening)
    source.where = repr(data)
    return source


def refuse_misspelt(data: str) -> None:
    """Raise where data is neither file nor pattern, and a bundled name or a file here is close to it."""
    if data == "-" or bundled(data) or Path(data).name != data or Path(data).exists() or any(c in data for c in "*?["):
        return
    hint = nearest(data, [*CATALOGUE, *sorted(path.name for path in Path().iterdir())])
    if hint.startswith("Did you mean"):
        raise DataError(f"There is no file {data!r}, nor a bundled dataset of that name. {hint}")
