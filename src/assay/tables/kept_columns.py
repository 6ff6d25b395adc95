"""Columns of a table beside the answers to its rows: an id, a name, or all of them.

The table is read once more, at the pace of the answers: neither has to fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from assay.tables.sources.source import Reading, Source, check_known

AT_A_TIME = 1 << 16  # rows


def kept_beside(
    blocks: Iterator[list[Any]], source: Source, names: Sequence[str], reading: Reading
) -> Iterator[list[Any]]:
    """The columns of a source, then the answers, block by block as the answers come.

    `reading`: "text" keeps the characters of a file as they are, "as it is" its numbers and dates.
    """
    check_known(names, source.types, "to be kept", source.where)
    columns: Mapping[str, Reading] = dict.fromkeys(names, reading)
    batches = source.batches(columns, AT_A_TIME)
    held: list[Any] = []
    for answers in blocks:
        held, rows = _at_least(held, batches, len(answers[0])), len(answers[0])
        table = pa.Table.from_batches(held)
        yield [*(table[name].slice(0, rows).combine_chunks() for name in names), *answers]
        held = table.slice(rows).to_batches()


def _at_least(held: list[Any], batches: Iterator[Any], rows: int) -> list[Any]:
    """What is held, with as many further batches as these rows need."""
    held = list(held)
    missing = rows - sum(batch.num_rows for batch in held)
    while missing > 0:
        held.append(next(batches))
        missing -= held[-1].num_rows
    return held
