"""Validation at the public edge: whatever a user hands over becomes `Rows`, or an error that says what to do.

The inside trusts what comes from here. Values are not searched for NaN up front (that would read the table once more): a
model's statistics show that something is not finite, and `refuse_non_finite` then finds and names the cell.
"""

from assay.inputs.refusals import check_features, first_cell, largest, refuse_non_finite, refuse_overflow
from assay.inputs.rows import (
    KnownLevels,
    Levels,
    NumberColumns,
    as_column,
    as_matrix,
    as_regression_target,
    as_rows,
    as_targets,
    as_weights,
)

__all__ = [
    "KnownLevels",
    "Levels",
    "NumberColumns",
    "as_column",
    "as_matrix",
    "as_regression_target",
    "as_rows",
    "as_targets",
    "as_weights",
    "check_features",
    "first_cell",
    "largest",
    "refuse_non_finite",
    "refuse_overflow",
]
