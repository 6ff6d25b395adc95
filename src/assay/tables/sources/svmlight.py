"""Files of svmlight and libsvm as a source: a row is `target index:value …  # comment`, and a value that is left out is 0.

The columns are called x1, x2, … by their index (x0 where the file counts from 0), the target `target`. A query (`qid:3`) is the column `qid`, which is no
feature: it is there to be a group. The table is held in memory with all its zeros, so wide ones are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.errors import DataError
from assay.tables.sources.source import FrameSource
from assay.tables.sources.text import plain_bytes

NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
LINE = re.compile(rb"\s*" + NUMBER + rb"(\s+qid:\d+)?(\s+\d+:" + NUMBER + rb")+\s*(#.*)?")
MOST_CELLS = 200_000_000
TARGET, QUERY = "target", "qid"


class SvmlightFile(FrameSource):
    """One file of svmlight's form."""

    def __init__(self, path: Path, where: str | None = None) -> None:
        self.where = where or repr(str(path))
        with plain_bytes(str(path)) as stream:
            lines = bytes(stream.read()).splitlines()
        targets, queries, (rows, places, values) = _read(lines, self.where)
        n, width = len(targets), int(places.max(initial=0)) + 1
        first = 0 if (places == 0).any() else 1
        if n * width > MOST_CELLS:
            raise DataError(
                f"{self.where} has {n} rows and {width} columns, mostly zeros, which do not fit into a table: load it as a sparse matrix "
                "(sklearn.datasets.load_svmlight_file) and give that to fit(X, y) of a model that takes such."
            )
        columns: dict[str, Any] = {TARGET: _whole(targets)}
        if queries is not None:
            columns[QUERY], self.offered = queries, (QUERY,)
        order = np.argsort(places, kind="stable")
        starts = np.searchsorted(places[order], np.arange(width + 1))
        for j in range(first, width):
            mine = order[starts[j] : starts[j + 1]]
            column = np.zeros(n)
            column[rows[mine]] = values[mine]
            columns[f"x{j}"] = column
        super().__init__(pa.table({name: pa.array(values) for name, values in columns.items()}), self.where)
        self.notes = (
            [] if queries is None else [f"{self.where} has queries: name them as the group, group='qid' (--group qid)."]
        )

    def widened(self, names: Iterable[str]) -> SvmlightFile:
        for name in names:
            if re.fullmatch(r"x\d+", name) and name not in self.types:
                self._columns = self._columns.append_column(name, pa.array(np.zeros(self._columns.num_rows)))
                self.types[name] = pa.float64()
        return self


def is_svmlight(head: bytes) -> bool:
    """Whether the first lines of a file are rows of svmlight.

    >>> is_svmlight(b"+1 1:0.5 3:2 # note"), is_svmlight(b"1 2:30")
    (True, True)
    """
    lines = [line for line in head.splitlines()[:10] if line.strip() and not line.startswith(b"#")]
    complete = lines[:-1] if len(lines) > 1 else lines  # the head may end within a line
    return bool(complete) and all(LINE.fullmatch(line) for line in complete)


def _read(lines: list[bytes], where: str) -> tuple[Any, Any, tuple[Any, Any, Any]]:
    """(targets, queries or None, (row, place, value) of each entry)."""
    targets: list[float] = []
    queries: list[int] = []
    rows: list[int] = []
    places: list[int] = []
    values: list[float] = []
    for number, line in enumerate(lines, 1):
        words = line.split(b"#", 1)[0].split()
        if not words:
            continue
        try:
            targets.append(float(words[0]))
            for word in words[1:]:
                place, value = word.split(b":")
                if place == b"qid":
                    queries.append(int(value))
                    continue
                rows.append(len(targets) - 1)
                places.append(_place(place))
                values.append(float(value))
        except ValueError:
            raise DataError(
                f"Line {number} of {where} is no row of svmlight (target index:value …): {line[:60].decode(errors='replace')!r}."
            ) from None
    if not targets:
        raise DataError(f"{where} is empty.")
    if queries and len(queries) != len(targets):
        raise DataError(
            f"{where} names the query (qid) of {len(queries)} of its {len(targets)} rows: every row needs one."
        )
    entries = (np.array(rows, np.int64), np.array(places, np.int64), np.array(values))
    return np.array(targets), np.array(queries, np.int64) if queries else None, entries


def _place(text: bytes) -> int:
    place = int(text)
    if not 0 <= place < 1 << 31:
        raise ValueError(place)
    return place


def _whole(x: Any) -> Any:
    return x.astype(np.int64) if np.array_equal(x, np.floor(x)) and np.abs(x).max() < 2**53 else x
