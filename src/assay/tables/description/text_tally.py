"""What is counted in a column of text: different texts and how often, words, lengths, and whether they are nearly all numbers."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow.compute as compute
import pyarrow.types as types

from assay.numerics import Array
from assay.tables.description.distinct import hash_texts
from assay.tables.description.kinds import MOST_LEVELS, NEARLY_NUMBERS, Family
from assay.tables.description.tallies import Tally
from assay.tables.plan import as_text
from assay.tables.table_plan import without_nan

SAMPLE = 200  # texts of a batch whose words are counted
NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"


class TextTally(Tally):
    """Different texts with their counts, words and lengths. `all_levels`: count them however many there are.

    Of too many, the rarest half is dropped whenever `cap` is passed (lossy counting): frequent ones stay.
    """

    def __init__(self, name: str, dtype: Any, cap: int, all_levels: bool = False) -> None:
        super().__init__(name, dtype, cap)
        self.family: Family = "dictionary" if types.is_dictionary(dtype) else "text"
        self._all_levels, self._cap = all_levels or self.family == "dictionary", cap
        self._counts: Counter[str] | None = Counter()
        self._sampled = self._words = self._length = 0
        self._numbers, self._strange, self._stranger = 0, 0, ""

    def _add(self, column: Any, start: int) -> None:
        present = without_nan(column).drop_null()
        self.missing += len(column) - len(present)
        texts = as_text(present).combine_chunks()
        sample = texts.slice(0, SAMPLE).to_pylist()
        self._sampled += len(sample)
        self._words += sum(len(text.split()) for text in sample)
        self._length += sum(map(len, sample))
        if sum(map(_is_number, sample)) >= NEARLY_NUMBERS * len(sample) > 0:
            self._look_for_strangers(texts)
        self.distinct.add(text_hashes(texts if self._counts is None else self._counted(texts)))

    def _look_for_strangers(self, texts: Any) -> None:
        """What else there is among texts that are numbers."""
        others = texts.filter(compute.invert(compute.match_substring_regex(texts, NUMBER)))
        self._numbers += len(texts) - len(others)
        self._strange += len(others)
        if len(others) and not self._stranger:
            self._stranger = others[0].as_py()

    def _counted(self, texts: Any) -> Any:
        """Count the texts; the different ones among them."""
        assert self._counts is not None
        found = texts.value_counts()
        values = found.field("values")
        if not self._all_levels and len(values) > MOST_LEVELS:
            self._counts = None
            return values
        self._counts.update(dict(zip(values.to_pylist(), found.field("counts").to_pylist())))
        if not self._all_levels and len(self._counts) > MOST_LEVELS:
            self._counts = None
        elif len(self._counts) > self._cap:
            self._counts = Counter(dict(self._counts.most_common(self._cap // 2)))
        return values

    def _more(self) -> dict[str, Any]:
        sampled = max(self._sampled, 1)
        counts = None if self._counts is None else dict(self._counts)
        known = {"words": self._words / sampled, "length": self._length / sampled, "counts": counts}
        return {**known, "numbers": self._numbers, "strange": self._strange, "stranger": self._stranger}


def _is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


def text_hashes(texts: Any) -> Array:
    """A hash a text of an Arrow array without missing values."""
    if not len(texts):
        return np.empty(0, np.uint64)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    return hash_texts(np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), ends)
