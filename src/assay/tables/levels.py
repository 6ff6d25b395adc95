"""The categories of text columns: their sorted distinct values, found in one pass over those columns alone."""

from __future__ import annotations

import pyarrow.compute as compute

from assay.errors import DataError
from assay.tables.plan import as_text
from assay.tables.sources.source import Source

MOST_LEVELS = 1 << 17
BATCH = 1 << 16


def find_levels(source: Source, names: list[str]) -> dict[str, tuple[str, ...]]:
    """{column: its categories in order}; a column with a new text in nearly every row is refused, to bound the memory."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for batch in source.batches(dict.fromkeys(names, "text"), BATCH):
        for name, seen in found.items():
            seen.update(compute.unique(as_text(batch.column(name)).drop_null()).to_pylist())
            if len(seen) > MOST_LEVELS:
                raise DataError(
                    f"Column {name!r} holds more than {MOST_LEVELS} different texts: it names rows rather than describing "
                    "them. Leave it out (features=[…], --features in the shell)."
                )
    return {name: tuple(sorted(seen)) for name, seen in found.items()}
