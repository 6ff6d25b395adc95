"""What is counted in a column while its rows pass by: one tally a family of Arrow types, each of bounded memory."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pyarrow.compute as compute
import pyarrow.types as types

from assay.errors import SchemaError
from assay.numerics import Array
from assay.tables.arrow_columns import (
    KIND_NAMES,
    Family,
    NotOfKind,
    as_numbers,
    as_seconds,
    as_text,
    parse_text,
    without_nan,
)
from assay.tables.schema.schema import MOST_CLASSES, MOST_LEVELS, NEARLY_NUMBERS, Facts, Kind

DAY = 86400
SAMPLE = 200  # texts of a batch whose words are counted
NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
ADDRESS = re.compile(r"(?i)(https?|ftp)://|www\.|[\w.+-]+@[\w-]+(\.[\w-]+)+$")
DIGIT = re.compile(r"\d")
PART = re.compile(r"(?=[^\W_]*[^\W\d_])[^\W_]{2,}")  # a stretch of letters and digits with a letter in it
LONGEST_PARTED, FEWEST_PARTED, MOST_PARTS = 200, 20, 1 << 14
RARE = 0.02
SMALLEST_KEPT = 1 << 14
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
OTHER_ODD = np.uint64(0xBF58476D1CE4E5B9)
BASE = 0x100000001B3  # odd, so that it has an inverse modulo 2^64
AT_ONCE = 1 << 18  # bytes


class Tally(ABC):
    """Counts in one column. `cap`: how many different values are counted exactly."""

    family: Family

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None) -> None:
        self.name, self.type, self.missing = name, str(dtype), 0
        self.distinct = Distinct(cap)
        self._parse_to: Kind | None = parse_to  # what text has to be read as

    def add(self, column: Any, start: int) -> None:
        """The values of some more rows, of which the first has the number `start`."""
        if self._parse_to is not None:
            column = self._parsed(column, self._parse_to, start)
        self._add(column, start)

    def _parsed(self, column: Any, kind: Kind, start: int) -> Any:
        try:
            return parse_text(column, kind, start)
        except NotOfKind as error:
            raise SchemaError(
                f"Column {self.name!r} cannot be {kind!r} as you asked: {error.described} is not {KIND_NAMES[kind]}. Correct the value, "
                "or choose another kind."
            ) from None

    @abstractmethod
    def _add(self, column: Any, start: int) -> None: ...

    def facts(self, rows: int) -> Facts:
        distinct = min(self.distinct.count, rows - self.missing)  # an estimate may be too high
        known = (rows, self.missing, distinct, self.distinct.about)
        return Facts(self.name, self.family, self.type, *known, **self._more())

    def _more(self) -> dict[str, Any]:
        return {}


class NumberTally(Tally):
    """Range, wholeness, order. `classes`: count the rows of each value too, while these may be classes."""

    family = "number"

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None, classes: bool = False) -> None:
        super().__init__(name, dtype, cap, parse_to)
        self._low, self._high, self._infinite = np.inf, -np.inf, 0
        self._whole, self._counter, self._first = True, True, 0.0
        self._counts: Counter[float] | None = Counter() if classes else None

    def _add(self, column: Any, start: int) -> None:
        x = as_numbers(column)
        if self._counter:
            self._counter = self._goes_on(x, start)
        if x.dtype.kind == "f":
            x = self._finite(x)
            self._whole = self._whole and _all_whole(x)
        if not len(x):
            return
        self._low, self._high = min(self._low, float(x.min())), max(self._high, float(x.max()))
        self.distinct.add(hash_numbers(x if x.dtype.kind == "f" else x.astype(np.float64)))
        if self._counts is not None:
            values, counts = np.unique(x, return_counts=True)
            self._counts.update(dict(zip(values.tolist(), counts.tolist())))
            if len(self._counts) > MOST_CLASSES or not self._whole:
                self._counts = None

    def _goes_on(self, x: Array, start: int) -> bool:
        """Whether the rows are still counted in order."""
        if start == 0:
            self._first = float(x[0])
        from_here = self._first + start
        ends_right = self._first in (0.0, 1.0) and x[0] == from_here and x[-1] == from_here + len(x) - 1
        return bool(ends_right and np.array_equal(x, np.arange(from_here, from_here + len(x))))

    def _finite(self, x: Array) -> Array:
        if np.isfinite(x.min()) and np.isfinite(x.max()):  # both carry a NaN on
            return x
        missing = np.isnan(x)
        self.missing += int(missing.sum())
        finite = np.isfinite(x)
        self._infinite += int(len(x) - finite.sum() - missing.sum())
        return x[finite]

    def _more(self) -> dict[str, Any]:
        some = self._low <= self._high
        counts = self._counts
        return {
            "low": self._low if some else None,
            "high": self._high if some else None,
            "infinite": self._infinite,
            "whole": some and self._whole and not self._infinite,
            "counter": some and self._counter,
            "counts": None if counts is None else {str(int(v)): counts[v] for v in sorted(counts)},
        }


def _all_whole(x: Array) -> bool:
    few = x[:64]  # most columns of decimals show it at once
    return bool(np.array_equal(few, np.floor(few)) and np.array_equal(x, np.floor(x)))


class BooleanTally(Tally):
    """How often true, how often false."""

    family = "boolean"

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None) -> None:
        super().__init__(name, dtype, cap, parse_to)
        self._counts = {"false": 0, "true": 0}

    def _add(self, column: Any, start: int) -> None:
        true = compute.sum(column).as_py() or 0
        self.missing += column.null_count
        self._counts["true"] += true
        self._counts["false"] += len(column) - column.null_count - true

    def facts(self, rows: int) -> Facts:
        values = sum(count > 0 for count in self._counts.values())
        return Facts(self.name, self.family, self.type, rows, self.missing, values, counts=self._counts)


class DateTally(Tally):
    """Range in seconds since 1970, and whether there is a time of day."""

    family = "date"

    def __init__(self, name: str, dtype: Any, cap: int, parse_to: Kind | None = None) -> None:
        super().__init__(name, dtype, cap, parse_to)
        self._low, self._high, self._with_time = np.inf, -np.inf, False

    def _add(self, column: Any, start: int) -> None:
        self.missing += column.null_count
        seconds = as_seconds(column.drop_null(), self.name)
        if len(seconds):
            self._low, self._high = min(self._low, float(seconds.min())), max(self._high, float(seconds.max()))
            self._with_time = self._with_time or bool(np.any(seconds % DAY))
            self.distinct.add(hash_numbers(seconds))

    def _more(self) -> dict[str, Any]:
        some = self._low <= self._high
        return {"low": self._low, "high": self._high, "with_time": self._with_time} if some else {}


class EmptyTally(Tally):
    """A column whose type says that it holds nothing, or nothing that can be used."""

    def __init__(self, name: str, dtype: Any, cap: int) -> None:
        super().__init__(name, dtype, cap)
        self.family = "nothing" if types.is_null(dtype) else "other"

    def _add(self, column: Any, start: int) -> None:
        self.missing += column.null_count


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
        self._numbers, self._others, self._first_other = 0, 0, ""
        self._addresses = self._codes = self._whole_parts = 0
        self._parts: Counter[str] = Counter()

    def _add(self, column: Any, start: int) -> None:
        present = without_nan(column).drop_null()
        self.missing += len(column) - len(present)
        texts = as_text(present).combine_chunks()
        sample = texts.slice(0, SAMPLE).to_pylist()
        self._sampled += len(sample)
        self._words += sum(len(text.split()) for text in sample)
        self._length += sum(map(len, sample))
        self._look_inside(sample)
        if sum(map(_is_number, sample)) >= NEARLY_NUMBERS * len(sample) > 0:
            self._count_others(texts)
        self.distinct.add(text_hashes(texts if self._counts is None else self._counted(texts)))

    def _look_inside(self, sample: list[str]) -> None:
        self._addresses += sum(ADDRESS.match(text) is not None for text in sample)
        self._codes += sum(DIGIT.search(text) is not None for text in sample)
        if len(self._parts) < MOST_PARTS:
            found = [set(PART.findall(text[:LONGEST_PARTED].lower())) for text in sample]
            self._whole_parts += len(found)
            self._parts.update(part for parts in found for part in parts)

    @property
    def _parted(self) -> bool:
        """Whether texts are mostly made of parts that recur: each has on average at least half a part in 2 % to 90 % of all."""
        n = self._whole_parts
        recurring = sum(times for times in self._parts.values() if max(2, RARE * n) <= times <= NEARLY_NUMBERS * n)
        return n >= FEWEST_PARTED and 2 * recurring >= n

    def _count_others(self, texts: Any) -> None:
        """What else there is among texts that are numbers."""
        others = texts.filter(compute.invert(compute.match_substring_regex(texts, NUMBER)))
        self._numbers += len(texts) - len(others)
        self._others += len(others)
        if len(others) and not self._first_other:
            self._first_other = others[0].as_py()

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
        inside = {"addresses": self._addresses / sampled, "codes": self._codes / sampled, "parted": self._parted}
        return {**known, **inside, "numbers": self._numbers, "others": self._others, "first_other": self._first_other}


def _is_number(text: str) -> bool:
    return re.fullmatch(NUMBER, text) is not None


class Distinct:
    """How many different values were added: exactly while they are few, then estimated from the smallest hashes.

    Values are hashed to 64 bits, as good as uniform. While at most `cap` different hashes were met, all are kept and the count
    is exact (numbers are hashed one to one; two of 100 000 texts collide with probability 3e-10). Beyond that only the k
    smallest are kept. The k-th smallest of D uniform hashes lies near k / D, hence

        D ≈ (k - 1) / h_k,    relative error 1 / sqrt(k - 2)

    (Bar-Yossef et al. 2002, Beyer et al. 2007): 0.8 % for k = 16 384. The answer does not depend on the order of the rows.
    """

    def __init__(self, cap: int) -> None:
        self._cap, self._kept = cap, np.empty(0, np.uint64)
        self._bound: np.uint64 | None = None  # larger hashes are not kept any more

    def add(self, hashes: Array) -> None:
        """More values, by their hashes."""
        if self._bound is not None:
            hashes = hashes[hashes < self._bound]
            if not len(hashes):
                return
        merged = np.sort(np.concatenate([self._kept, hashes]))
        self._kept = merged[np.concatenate([[True], merged[1:] != merged[:-1]])] if len(merged) else merged
        most = self._cap if self._bound is None else min(SMALLEST_KEPT, self._cap)
        if len(self._kept) > most:
            self._kept = self._kept[: min(SMALLEST_KEPT, self._cap)].copy()
            self._bound = self._kept[-1]

    @property
    def about(self) -> bool:
        """Whether the count is an estimate."""
        return self._bound is not None

    @property
    def count(self) -> int:
        if self._bound is None:
            return len(self._kept)
        return round((len(self._kept) - 1) / (float(self._bound) / 2.0**64))


def hash_numbers(x: Array) -> Array:
    """A hash a number; -0 and 0 have the same, and so have a whole number and its float."""
    bits = (x.astype(np.float64) + 0.0).view(np.uint64) if x.dtype.kind == "f" else x.astype(np.uint64)
    return _mixed(bits)


def text_hashes(texts: Any) -> Array:
    """A hash a text of an Arrow array without missing values."""
    if not len(texts):
        return np.empty(0, np.uint64)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    return hash_texts(np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), ends)


def hash_texts(data: Array, ends: Array) -> Array:
    """A hash a text. `data` are the bytes of all of them one after another; text i is data[ends[i]:ends[i + 1]].

        h(b_0 … b_m) = sum_j b_j p^j + (m + 1) q  mod 2^64

    Of a text longer than AT_ONCE the first bytes count, and the length.
    """
    n, a = len(ends) - 1, 0
    hashes = np.empty(n, np.uint64)
    while a < n:
        b = max(a + 1, int(np.searchsorted(ends, ends[a] + AT_ONCE, side="right")) - 1)
        hashes[a:b] = _polynomial(data[ends[a] : min(ends[b], ends[a] + AT_ONCE)], ends[a : b + 1] - ends[a])
        a = b
    return _mixed(hashes + np.diff(ends).astype(np.uint64) * OTHER_ODD)


def _polynomial(data: Array, ends: Array) -> Array:
    """From the running sum over all bytes: the part of each text, times the inverse power of where it begins."""
    running = np.zeros(len(data) + 1, np.uint64)
    np.cumsum(data * _powers(BASE)[: len(data)], out=running[1:])
    at = np.minimum(ends, len(data))
    sums: Array = (running[at[1:]] - running[at[:-1]]) * _powers(pow(BASE, -1, 1 << 64))[at[:-1]]
    return sums


@cache
def _powers(base: int) -> Array:
    """base^0 … base^AT_ONCE modulo 2^64, by doubling."""
    powers = np.ones(1, np.uint64)
    while len(powers) <= AT_ONCE:
        powers = np.concatenate([powers, powers * np.uint64(pow(base, len(powers), 1 << 64))])
    return powers


def _mixed(h: Array) -> Array:
    h = h * ODD
    h ^= h >> np.uint64(32)
    h *= OTHER_ODD
    h ^= h >> np.uint64(29)
    h *= ODD
    return h
