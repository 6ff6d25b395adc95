"""The pass over a table that finds its schema: which columns, read as what, counted how, and what they turn out to be.

The hashed columns of texts are called by the most frequent words, on which nothing else depends. For these the first rows are looked
at, and of the different words the first ones counted: time and memory stay bounded, and the same rows give the same words whatever
file they come from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from assay.errors import ParameterError, SchemaError, nearest
from assay.tables.arrow_columns import Family, as_text, family_of, without_nan
from assay.tables.encoding.words import terms_in
from assay.tables.schema.schema import (
    CHOOSABLE,
    KINDS,
    MOST_LEVELS,
    MOST_WORDS,
    TEXTUAL,
    USED,
    Column,
    Facts,
    Kind,
    Schema,
    decide,
    decide_target,
    infer,
    is_plain_word,
)
from assay.tables.schema.tallies import BooleanTally, DateTally, EmptyTally, NumberTally, Tally, TextTally
from assay.tables.sources.recognise import table_source
from assay.tables.sources.source import Reading, Source, choose_features, cut

EXACT_IN_ALL = 1 << 24  # hashes kept for all columns together: 128 MB at most
MOST_EXACT, FEWEST_EXACT = 100_000, 1024
VALUES_AT_ONCE, MOST_ROWS, FEWEST_ROWS = 1 << 22, 1 << 16, 1 << 10
WORD_ROWS = 1 << 13  # whose words are counted
WORD_BATCH = 1 << 12
DISTINCT_WORDS = 1 << 17  # counted, of all columns together
OF_TARGETS: tuple[Kind, ...] = ("number", "category", "boolean")
POSSIBLE: dict[Family, tuple[Kind, ...]] = {
    "number": ("number", "category", "boolean", "text", "string", "id"),
    "boolean": ("boolean", "number", "category", "text", "string", "id"),
    "date": ("date", "category", "text", "string", "id"),
    "dictionary": CHOOSABLE,
    "text": CHOOSABLE,
    "nothing": CHOOSABLE,
    "other": (),
}


def schema(
    data: Any,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    **opening: Any,
) -> Schema:
    """The schema of a table: a path, a database's address, a frame, an array.

    >>> print(schema({"size": [1.5, 2.0, 2.5], "colour": ["red", "blue", "red"]}))
    column  kind      missing  distinct  values
    size    number                    3  1.5 … 2.5
    colour  category                  2  blue, red
    3 rows, 2 columns: 1 number, 1 category.
    """
    return infer(table_source(data, **opening), target=target, features=features, kinds=kinds)


def survey(
    source: Source, target: str | None, roles: Mapping[str, str], features: Iterable[str] | None, kinds: dict[str, str]
) -> Schema:
    """The schema of a source; see `assay.tables.schema.schema.infer`."""
    names = choose_features(source, {**({} if target is None else {"target": target}), **roles}, features)
    weight = roles.get("weight")
    if weight is not None and family_of(source.types[weight]) not in ("number", "boolean"):
        raise SchemaError(f"The weight {weight!r} holds {source.types[weight]}, but weights are numbers.")
    looked_at = [*names, *([target] if target is not None else [])]
    chosen = _checked_kinds(source, looked_at, kinds)
    if chosen.get(target or "") not in (None, *OF_TARGETS):
        raise ParameterError(
            f"The target {target!r} cannot be {chosen[target or '']!r}: it is one of {', '.join(OF_TARGETS)}."
        )
    read = [name for name in looked_at if chosen.get(name) != "ignored"]
    cap = max(FEWEST_EXACT, min(MOST_EXACT, EXACT_IN_ALL // max(len(read), 1)))
    tallies = {name: _tally(name, source, chosen.get(name), cap, name == target) for name in read}
    rows = _count_columns(source, tallies, {name: _reading(source, name, chosen.get(name)) for name in read})
    columns = []
    for name in looked_at:
        if name not in tallies:
            columns.append(_unread(name, source.types[name]))
        else:
            columns.append(_column(tallies[name].facts(rows), chosen.get(name), name == target))
    found = with_words(source, columns[: len(names)])
    if features is not None or not any(column.kind in USED for column in found):
        why = "you named it" if features is not None else "there is nothing else to learn from"
        found = [_kept_counter(column, why) if column.name not in chosen else column for column in found]
    converted = {c.name for c in columns if c.kind in ("number", "date")} | set(roles.values())
    written = {name: how for name, how in source.written.items() if name in converted}
    return Schema(tuple(found), rows, columns[-1] if target is not None else None, dict(roles), written)


def _checked_kinds(source: Source, names: list[str], kinds: dict[str, str]) -> dict[str, Kind]:
    """The overrides, each of a column that is looked at and of a kind that its type can become."""
    chosen: dict[str, Kind] = {}
    for name, wanted in kinds.items():
        if name not in names:
            raise SchemaError(f"There is no column {name!r} to be {wanted!r}. {nearest(name, names)}")
        if wanted not in CHOOSABLE:
            why = "a constant is found, not chosen: say 'ignored'" if wanted == "constant" else nearest(wanted, KINDS)
            raise ParameterError(f"Column {name!r} cannot be {wanted!r}: {why}")
        kind: Kind = wanted
        family = family_of(source.types[name])
        if kind != "ignored" and kind not in POSSIBLE[family]:
            possible = ", ".join((*POSSIBLE[family], "ignored"))
            raise SchemaError(
                f"Column {name!r} holds {source.types[name]} and cannot be {kind!r}. Possible: {possible}."
            )
        chosen[name] = kind
    return chosen


def _reading(source: Source, name: str, kind: Kind | None) -> Reading:
    """How the file is asked for a column: a number that shall be a category is read as text, so that "01" stays "01"."""
    family = family_of(source.types[name])
    if kind in ("category", *TEXTUAL):
        return "text"
    if kind == "number" or family in ("number", "boolean", "nothing"):
        return "number"
    return "text" if family in ("text", "dictionary") else "as it is"


def _tally(name: str, source: Source, kind: Kind | None, cap: int, target: bool) -> Tally:
    dtype = source.types[name]
    family = family_of(dtype)
    textual = family in ("text", "dictionary")
    if kind in ("category", *TEXTUAL) or (textual and kind in (None, "id")):
        return TextTally(name, dtype, cap, all_levels=kind == "category" or (target and kind is None))
    if family == "nothing" and source.typed:
        return EmptyTally(name, dtype, cap)
    if family == "boolean" or (textual and kind == "boolean"):
        return BooleanTally(name, dtype, cap, "boolean" if textual else None)
    if family == "date" or (textual and kind == "date"):
        return DateTally(name, dtype, cap, "date" if textual else None)
    if family == "other":
        return EmptyTally(name, dtype, cap)
    return NumberTally(name, dtype, cap, "number" if textual and source.typed else None, classes=target)


def _count_columns(source: Source, tallies: Mapping[str, Tally], readings: dict[str, Reading]) -> int:
    """Let all rows pass; how many there were."""
    if not readings:
        return source.n_rows or 0
    step = rows_at_once(len(readings))
    rows = 0
    for start, batches in cut(source.batches(readings, step), step):
        table = pa.Table.from_batches(batches)
        for name, column in zip(table.column_names, table.columns):
            tallies[name].add(column, start)
        rows = start + table.num_rows
    return rows


def rows_at_once(columns: int) -> int:
    """Rows of a step: fewer where there are many columns, for all of them are held in memory together."""
    return max(FEWEST_ROWS, min(MOST_ROWS, VALUES_AT_ONCE // columns))


def _unread(name: str, dtype: Any) -> Column:
    return Column(name, "ignored", str(dtype), 0, 0, False, None, None, None, "as you asked, and not read")


def _column(facts: Facts, chosen: Kind | None, target: bool) -> Column:
    kind, why = decide_target(facts) if target else decide(facts)
    if chosen is not None:
        kind, why = _as_asked(facts, chosen)
    levels = counts = None
    if kind == "category":
        levels, counts = _levels(facts.counts or {})
    elif kind == "boolean" or (target and kind == "number"):
        counts = facts.counts
    known = (facts.missing, facts.distinct, facts.about, levels, facts.low, facts.high, why, facts.whole)
    return Column(facts.name, kind, facts.type, *known, facts.with_time, counts)


def _as_asked(facts: Facts, chosen: Kind) -> tuple[Kind, str]:
    truths = facts.whole and facts.low in (0.0, 1.0) and facts.high in (0.0, 1.0)
    if chosen == "boolean" and facts.family == "number" and facts.present and not truths:
        some = "" if facts.low is None else f" (they go from {facts.low:g} to {facts.high:g})"
        raise SchemaError(
            f"Column {facts.name!r} cannot be 'boolean': its numbers are not all 0 and 1{some}. Make it a 'category'."
        )
    return chosen, "as you asked"


def _levels(counts: dict[str, int]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The most frequent categories in alphabetical order, with their counts."""
    frequent = sorted(counts, key=lambda text: (-counts[text], text))[:MOST_LEVELS]
    levels = tuple(sorted(frequent))
    return levels, {level: counts[level] for level in levels}


def _kept_counter(column: Column, why: str) -> Column:
    if column.kind != "id" or column.low is None:
        return column
    return replace(column, kind="number", why=f"{column.why}, but {why}")


def with_words(source: Source, columns: Sequence[Column]) -> list[Column]:
    """The columns, those of texts with their most frequent words (strings: letters); of equal ones the first in the alphabet."""
    texts = {column.name: column.kind for column in columns if column.kind in TEXTUAL}
    if not texts:
        return list(columns)
    counts = {name: Counter[str]() for name in texts}
    for start, batches in cut(source.batches(dict.fromkeys(texts, "text"), WORD_BATCH), WORD_BATCH):
        if start >= WORD_ROWS:
            break
        table = pa.Table.from_batches(batches)
        for name, kind in texts.items():
            found = terms_in(as_text(without_nan(table[name])), kind)[1]
            _count(counts[name], found, DISTINCT_WORDS // len(texts))
    most = MOST_WORDS // len(texts)
    return [
        replace(column, words=_frequent(counts[column.name], most)) if column.name in counts else column
        for column in columns
    ]


def _count(counts: Counter[str], terms: Any, most: int) -> None:
    found = terms.value_counts()
    for word, times in zip(found.field("values").to_pylist(), found.field("counts").to_pylist()):
        if word in counts or len(counts) < most:
            counts[word] += times


def _frequent(counts: Counter[str], most: int) -> tuple[str, ...]:
    plain = [word for word in counts if is_plain_word(word)]
    return tuple(sorted(plain, key=lambda word: (-counts[word], word))[:most])
