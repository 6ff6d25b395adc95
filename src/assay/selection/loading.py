"""`assay.load`: a model file as the model that it holds, with its encoding where it has one. Arrow is loaded only for an encoding."""

from __future__ import annotations

from typing import Any


def load(path: Any) -> Any:
    """Load a model file written by `model.save(path)`. It is data: nothing in it is run."""
    from assay.families import model_of_record
    from assay.store import read

    record = read(path)
    if record.encoding is None:
        return model_of_record(record)
    from assay.selection.table_model import TableModel

    return TableModel.from_record(record)
