"""Rows of any engine as the plain blocks that checkers read, and a model's answers to such blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.certify.rows import CheckedRows, CsrBlock, RowBlock
from assay.engines import Part, Rows, SparseMatrix, rows_of


def plain_rows(rows: Rows) -> CheckedRows:
    """The rows, each block loaded where it is asked for."""
    return CheckedRows(
        lambda: map(_plain, rows.blocks()),
        rows.n_columns,
        rows.n_rows,
        rows.sparse,
        lambda: map(_plain, rows.targets()),
    )


def _plain(part: Part) -> RowBlock:
    X, y, w, start = part.load()
    return RowBlock(
        CsrBlock(X.data, X.indices, X.indptr, X.n_columns) if isinstance(X, SparseMatrix) else X, y, w, start
    )


def answering(predict: Callable[[Any], Any] | None, rows: Rows) -> Callable[[Any], Any] | None:
    """`predict` of a block's X; the model is shown the names of the columns."""
    if predict is None:
        return None

    def answer(X: Any) -> Any:
        if isinstance(X, CsrBlock):
            X = SparseMatrix(X.data, X.indices.astype("int32", copy=False), X.indptr, X.n_columns)
        return predict(rows_of(X, like=rows))

    return answer
