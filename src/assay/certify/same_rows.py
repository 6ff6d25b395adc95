"""Whether rows are those of the fit, bit for bit and in order: their fingerprint is taken again by the same fold."""

from __future__ import annotations

from functools import partial
from typing import Any

from assay.engines import Block, Rows, engine_for, fold
from assay.engines.fingerprint import join, leaf_of
from assay.errors import DataError
from assay.inputs import as_regression_target
from assay.labels import Labels
from assay.numerics import Array

OTHER_ROWS = "fingerprint: the rows are not those of one fit (bit for bit and in order: the fingerprint differs)"


def fingerprint_of(rows: Rows, classes: Array | None) -> str:
    """The fingerprint of rows with a target: of the classes' codes, or of numbers where there are no classes."""
    engine = engine_for(rows)
    labels = None if classes is None else Labels.of(classes)
    mark = fold(engine, engine.open(rows).blocks(), partial(_leaf, labels), join)
    return "" if mark is None else mark.hex()


def _leaf(labels: Labels | None, block: Block) -> bytes:
    if block.y is None:
        raise DataError("The rows have no target.")
    target: Any = as_regression_target(block.y, block.start) if labels is None else labels.encode(block.y)
    return leaf_of(block.X, target, block.w)
