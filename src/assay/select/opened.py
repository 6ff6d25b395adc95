"""A table made ready for a comparison: in memory where it fits there, its target looked at."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from assay.engines import engine_for
from assay.engines.engine import Engine
from assay.errors import DataError, OneClassError, ParameterError
from assay.numerics import Array
from assay.select.data import TableData
from assay.tables.description.schema import Schema, task_of
from assay.tables.sources.source import Source
from assay.tables.table_rows import TableRows

SHARE_OF_MEMORY = 0.25  # tables that would take more of the machine's memory are read as a stream


@dataclass(frozen=True)
class OpenedTable(TableData):
    """Table data that know whether their target is learnt as classes or as a number."""

    task: str = "classification"


def opened_table(source: Source, schema: Schema, task: str | None, weight: str | None) -> OpenedTable:
    """The table in memory where it fits there, else as a stream; with its targets looked at."""
    assert schema.target is not None
    target = schema.target
    kind, _ = task_of(schema, task)
    if schema.n_rows < 4:
        raise DataError(f"{source.where} has {schema.n_rows} row(s): too few to fit on some and to test on others.")
    if target.missing:
        raise DataError(
            f"The target {target.name!r} is missing in {target.missing} of {schema.n_rows} rows: leave these rows out, for they "
            f'teach nothing (a frame: dropna(subset=[{target.name!r}]); a file: --sql "select * from data where {target.name} is not null").'
        )
    if kind == "classification" and target.distinct < 2:
        raise OneClassError(
            f"The target {target.name!r} holds a single class in all {schema.n_rows} rows: there is nothing to tell apart."
        )
    if not schema.used:
        raise DataError(
            "No column is left to learn from: all are ids, constants or set aside (assay schema DATA shows why; --kind COLUMN=KIND overrides)."
        )
    text = kind == "classification" and target.kind == "category"
    rows = TableRows(source, schema, target.name, weight, text_target=text and not source.typed)
    engine = chosen_engine(rows, schema)
    base = TableData.of(schema, engine.open(rows), kind == "classification")
    if base.in_memory:
        base.statistics(base.everything)  # infinite numbers are named here, by their row in the table
    if kind == "classification" and base.y.dtype.kind == "f" and (base.y % 1 != 0).any():
        raise ParameterError(
            f"The target {target.name!r} holds numbers with decimals, which are no classes: take task='regression' (--task regression), or "
            f"write them as text (--kind {target.name}=category)."
        )
    return OpenedTable(base.schema, base.rows, base.y, base.w, base.labels, base.memory, task=kind)


def chosen_engine(rows: TableRows, schema: Schema) -> Engine:
    """The engine in force; without one, memory where the table takes little of it, else a stream."""
    from assay.engines.engine import engine, in_force

    if in_force() is not None:
        return engine_for(rows)
    size = 8.0 * schema.n_rows * len(schema.used)
    return engine("threads" if size <= SHARE_OF_MEMORY * machine_memory() else "stream")


def machine_memory() -> float:
    """Bytes of memory of this machine."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return 8e9


def magnitude(y: Array) -> float:
    """The deviation of a target as a power of ten: enough to choose units by, and too rough to tell anything of single rows."""
    deviation = float(y.std())
    return 10.0 ** round(float(np.log10(deviation))) if 0 < deviation < np.inf else 1.0
