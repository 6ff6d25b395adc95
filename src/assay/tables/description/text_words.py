"""The most frequent words of a table's texts: their hashed columns are called by them, and nothing else depends on them.

The first rows are looked at, and of the different words the first ones counted: time and memory stay bounded, and the same rows give
the same words whatever file they come from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from assay.tables.description.kinds import MOST_WORDS, is_plain_word
from assay.tables.description.schema import Column
from assay.tables.encoding.words import words_in
from assay.tables.plan import as_text
from assay.tables.sources.source import Source, cut
from assay.tables.table_plan import without_nan

ROWS = 1 << 13  # looked at
AT_ONCE = 1 << 12
COUNTED = 1 << 17  # different words, of all columns together


def with_words(source: Source, columns: Sequence[Column]) -> list[Column]:
    """The columns, those of texts with their most frequent words; of equally frequent ones the first in the alphabet."""
    texts = [column.name for column in columns if column.kind == "text"]
    if not texts:
        return list(columns)
    counts = {name: Counter[str]() for name in texts}
    for start, batches in cut(source.batches(dict.fromkeys(texts, "text"), AT_ONCE), AT_ONCE):
        if start >= ROWS:
            break
        table = pa.Table.from_batches(batches)
        for name in texts:
            _count(counts[name], as_text(without_nan(table[name])), COUNTED // len(texts))
    most = MOST_WORDS // len(texts)
    return [
        replace(column, words=_frequent(counts[column.name], most)) if column.name in counts else column
        for column in columns
    ]


def _count(counts: Counter[str], text: pa.ChunkedArray, most: int) -> None:
    found = words_in(text)[1].value_counts()
    for word, times in zip(found.field("values").to_pylist(), found.field("counts").to_pylist()):
        if word in counts or len(counts) < most:
            counts[word] += times


def _frequent(counts: Counter[str], most: int) -> tuple[str, ...]:
    plain = [word for word in counts if is_plain_word(word)]
    return tuple(sorted(plain, key=lambda word: (-counts[word], word))[:most])
