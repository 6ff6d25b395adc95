"""Where algorithms run: threads, stream (out of core), cluster (Dask); all with the same bits."""

from assay.engines.csr import SparseMatrix
from assay.engines.derived import FilledRows, MappedRows, MaskedRows, PickedRows, pick_rows, some_rows, split_rows
from assay.engines.engine import Engine, engine, engine_for, fold, merge_in_order
from assay.engines.rows import ArrayRows, Block, Part, Rows, SparseRows, block_rows, load, rechunk, rows_of, targets_of

__all__ = [
    "ArrayRows",
    "Block",
    "Engine",
    "FilledRows",
    "MappedRows",
    "MaskedRows",
    "Part",
    "PickedRows",
    "Rows",
    "SparseMatrix",
    "SparseRows",
    "block_rows",
    "engine",
    "engine_for",
    "fold",
    "load",
    "merge_in_order",
    "pick_rows",
    "rechunk",
    "rows_of",
    "some_rows",
    "split_rows",
    "targets_of",
]
