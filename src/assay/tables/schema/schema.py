"""The schema of a table: what each column is, found in one pass, shown, overridden, stored with a model, held to later.

The rules stand here, the pass over the rows in `survey.py`, the enforcement at predict time in `compatible.py`. As plain JSON
a schema goes into files; what comes back is checked in full: it may come out of a damaged or forged file.

The rules by which a column gets its kind look at its Arrow type, its values and its name, in this order:

- no value at all, or one single value: **constant**;
- truth values: **boolean**; dates and timestamps: **date**; a dictionary (categories of a frame): **category**;
- numbers: **number**, but **id** where they count the rows (0, 1, 2, … or 1, 2, 3, … in order, from 20 rows on), and
  where they are whole, all different and the column is called like an id (id, uuid, …_id, …Id);
- text of several words (3 on average) or of 50 characters (but no addresses), mostly different: **text**;
- text with at most 1000 different values, and either at most 20 of them or 5 rows to each on average: **category**;
- text that is nearly all numbers (90 %) but not quite is never an id: a typing error may have made it text;
- text without spaces that differs in nearly every row (95 %): **id**, unless its parts recur (addresses, codes made of parts);
- all other text: **string** (names, codes, addresses), which is learnt from by its letters and by its values;
- lists, records, bytes, times of day and spans of time: **ignored**.

A CSV file's dates, truth values and numbers have types when its reader recognised them, and are text otherwise: text is
never parsed here unless an override asks for it. Constants, ids and ignored columns are not learnt from. Numbers that look
like ids stay numbers where they are all there is to learn from, or where the user names them as features.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from assay.errors import DataError, ModelFileError, ParameterError, SchemaError, nearest
from assay.tables.arrow_columns import Family
from assay.tables.written.writing import Writing, writing_from_data

if TYPE_CHECKING:
    from assay.tables.sources.source import Source

Kind = Literal["number", "category", "boolean", "date", "text", "string", "id", "constant", "ignored"]
Task = Literal["classification", "regression"]
KINDS: tuple[Kind, ...] = get_args(Kind)
USED: tuple[Kind, ...] = ("number", "category", "boolean", "date", "text", "string")
TEXTUAL: tuple[Kind, ...] = ("text", "string")  # what becomes counts of words or letters
CHOOSABLE: tuple[Kind, ...] = (*USED, "id", "ignored")  # a constant is found, not chosen
MOST_CLASSES = 20
ROWS_A_CLASS = 5
MOST_LEVELS = 1000
FEW_TEXTS = 20
ROWS_A_LEVEL = 5
NEARLY_ALL = 0.95
NEARLY_NUMBERS = 0.9
SEVERAL_WORDS = 3
LONG_TEXT = 50
MOSTLY = 0.9
FEWEST_COUNTED = 20
MOST_WORDS = 2000  # of all texts of a table together that hashed columns are called by
LONGEST_WORD = 40
BUT_FOR = "numbers but for"  # so begins the reason of text that a typing error may have made
CALLED_ID = re.compile(r"(?i:^(id|uuid|guid|rowid|index|key)$|[_\W](id|uuid|guid)$)|[a-z](Id|ID)$")
TREATMENT: dict[Kind, str] = {
    "number": "used as it is, scaled where the model needs it",
    "category": "a column for each frequent category, or as the model takes it",
    "boolean": "used as 0 and 1",
    "date": "split into days since 1970, month, weekday and hour",
    "text": "its words weighed, sparse or as at most 30 components, as the model takes them",
    "string": "its letters weighed likewise, how frequent its value is, and the mean target of the other rows with it",
    "id": "left out, for it names rows",
    "constant": "left out, for it tells no rows apart",
    "ignored": "left out",
}
VERSION = "assay.schema/1"
ROLES = ("weight", "group", "time")


@dataclass(frozen=True)
class Facts:
    """What the pass over the rows found in a column."""

    name: str
    family: Family
    type: str
    rows: int
    missing: int = 0
    distinct: int = 0
    about: bool = False
    low: float | None = None
    high: float | None = None
    infinite: int = 0
    whole: bool = False
    counter: bool = False  # 0, 1, 2, … or 1, 2, 3, … in order
    words: float = 0.0  # on average
    length: float = 0.0
    numbers: int = 0  # texts that are numbers, counted where nearly all of them are
    others: int = 0  # texts among them that are none, and the first of these
    first_other: str = ""
    addresses: float = 0.0  # shares of the texts looked at that are addresses of the web or of mail
    codes: float = 0.0  # … that have digits in them
    parted: bool = False  # most are made of parts that recur in others, though not in nearly all
    with_time: bool = False
    counts: dict[str, int] | None = None  # None: not counted, or too many to count

    @property
    def present(self) -> int:
        return self.rows - self.missing

    @property
    def all_differ(self) -> bool:
        """Every value is another one; of an estimate, as far as it can tell."""
        return self.distinct >= self.present if not self.about else self.distinct >= NEARLY_ALL * self.present


def is_plain_word(word: str) -> bool:
    """Whether a word can stand in a column's name: neither long nor with anything that needs quoting.

    >>> is_plain_word("excellent"), is_plain_word('"'), is_plain_word("z" * 41)
    (True, False, False)
    """
    return 1 < len(word) <= LONGEST_WORD and not any(
        c <= " " or c in '"\\\x7f' or "\ud800" <= c <= "\udfff" for c in word
    )


def decide(facts: Facts) -> tuple[Kind, str]:
    """(kind, why) of a feature.

    >>> decide(Facts("sex", "text", "string", rows=344, missing=11, distinct=2))
    ('category', '2 different texts')
    """
    if facts.family == "other":
        return "ignored", f"holds {facts.type}: no number, text or date"
    if facts.present == 0:
        return "constant", "no value at all"
    if facts.distinct == 1 and not facts.infinite:
        return "constant", "one value and missing ones" if facts.missing else "one value in all rows"
    if facts.family == "boolean":
        return "boolean", "true or false"
    if facts.family == "date":
        return "date", "dates with time of day" if facts.with_time else "dates"
    if facts.family == "number":
        return _of_number(facts)
    if facts.family == "dictionary" and not (facts.distinct > MOST_LEVELS and _nearly_all_differ(facts)):
        return "category", f"stored as categories, {amount(facts)} of them"
    return _of_text(facts)


def _of_number(facts: Facts) -> tuple[Kind, str]:
    if facts.counter and facts.rows >= FEWEST_COUNTED:
        return "id", "counts the rows"
    if facts.whole and facts.all_differ and facts.present > 1 and CALLED_ID.search(facts.name):
        return "id", f"called an id, and all {facts.present} values differ"
    if facts.infinite:
        return "number", f"numbers, {facts.infinite} of them infinite"
    return "number", "whole numbers" if facts.whole else "numbers"


def _of_text(facts: Facts) -> tuple[Kind, str]:
    wordy = facts.words >= SEVERAL_WORDS or (facts.length >= LONG_TEXT and facts.addresses < MOSTLY)
    if wordy and 2 * facts.distinct > facts.present:
        return "text", f"texts of {facts.words:.0f} words on average"
    few = facts.distinct <= min(MOST_LEVELS, max(FEW_TEXTS, facts.present / ROWS_A_LEVEL))
    if facts.others and facts.numbers >= NEARLY_NUMBERS * facts.present:
        values = "1 value" if facts.others == 1 else f"{facts.others} values"
        return "category" if few else "string", f"{BUT_FOR} {values} such as {facts.first_other[:20]!r}"
    if few:
        return "category", f"{facts.distinct} different texts"
    if _nearly_all_differ(facts) and facts.words < 2 and not facts.parted:
        which = "all" if facts.all_differ else "nearly all"
        return "id", f"{which} {facts.present} values differ: an id"
    return "string", f"{amount(facts)} different {_called(facts)} in {facts.present} rows"


def _called(facts: Facts) -> str:
    """What strings are, in a word."""
    if facts.addresses >= MOSTLY:
        return "addresses"
    return "codes" if facts.codes >= MOSTLY else "names" if facts.codes <= 1 - MOSTLY else "strings"


def _nearly_all_differ(facts: Facts) -> bool:
    return facts.distinct >= NEARLY_ALL * facts.present


def decide_target(facts: Facts) -> tuple[Kind, str]:
    """(kind, why) of the target: the same, but that a target is never an id, and text always has classes."""
    kind, why = decide(facts)
    if kind in ("id", *TEXTUAL):
        if facts.family == "number":
            return "number", "whole numbers" if facts.whole else "numbers"
        return "category", f"{amount(facts)} different texts"
    return kind, why


def amount(facts: Facts) -> str:
    """How many different values, with a sign where that is an estimate."""
    return f"{'~' if facts.about else ''}{facts.distinct}"


def are_classes(distinct: int, whole: bool, rows: int) -> tuple[bool, str]:
    """Whether the numbers of a target are classes, and why: two whole numbers, or up to 20 with five rows or more to each.

    Sixteen years with a row each are no classes.

    >>> are_classes(3, True, 150)
    (True, 'the target has 3 different whole numbers')
    """
    if not whole or distinct > MOST_CLASSES:
        return False, "the target is a number"
    if distinct > 2 and distinct * ROWS_A_CLASS > rows:
        return False, f"the target is a number, {distinct} different ones in {rows} rows"
    return True, f"the target has {distinct} different whole numbers"


@dataclass(frozen=True)
class Column:
    """One column: its kind, why it is taken for that, and what it held."""

    name: str
    kind: Kind
    type: str  # Arrow's name of the type as found
    missing: int  # rows without a value
    distinct: int  # exact up to a cap, beyond it an estimate (then `about` is True)
    about: bool
    levels: tuple[str, ...] | None  # sorted categories, at most MOST_LEVELS by count: the rest is "other"
    low: float | None  # of numbers; of dates in seconds since 1970
    high: float | None
    why: str
    whole: bool = False  # numbers that are all whole
    with_time: bool = False  # dates that have a time of day
    counts: Mapping[str, int] | None = None  # rows a category or truth value; of a number only if it is a class target
    words: tuple[str, ...] | None = (
        None  # of texts the most frequent words, of strings stretches of letters: by these their hashed columns are called
    )


@dataclass(frozen=True)
class Schema:
    """What a table holds: the features in the order of the table, the target, and columns with another role."""

    columns: tuple[Column, ...]
    n_rows: int
    target: Column | None = None
    roles: Mapping[str, str] = field(default_factory=dict, hash=False)  # {"weight": "w", "group": "patient"}
    written: Mapping[str, Writing] = field(default_factory=dict, hash=False)  # how text columns write numbers and dates

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that a model learns from."""
        return tuple(column for column in self.columns if column.kind in USED)

    def __getitem__(self, name: str) -> Column:
        """The feature or target of this name."""
        known = {column.name: column for column in (*self.columns, *([self.target] if self.target else []))}
        if name not in known:
            raise SchemaError(f"The schema has no column {name!r}. {nearest(name, known)}")
        return known[name]

    def to_data(self) -> dict[str, Any]:
        """The schema as plain JSON, with its version."""
        return to_data(self)

    @classmethod
    def from_data(cls, data: Any) -> Schema:
        """The schema of `to_data`; everything is checked, for a file may hold anything."""
        return from_data(data)

    def __str__(self) -> str:
        from assay.tables.schema.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from assay.tables.schema.text import as_html

        return as_html(self)


def infer(
    source: Source,
    *,
    target: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    features: Iterable[str] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Schema:
    """The schema of a source, from one pass over its rows in bounded memory.

    `weight`, `group` and `time` name columns that are no features. `features`: the columns to look at (default: all the
    others). `kinds` overrides what is found: {"zip": "category", "notes": "ignored"}.
    """
    from assay.tables.schema.survey import survey

    roles = {role: name for role, name in (("weight", weight), ("group", group), ("time", time)) if name is not None}
    return survey(source, target, roles, features, dict(kinds or {}))


def task_of(schema: Schema, task: str | None = None) -> tuple[Task, str]:
    """(task, why): text, truth values and few whole numbers are classes; the rest is a regression. `task` overrides."""
    column = schema.target
    if column is None:
        raise ParameterError("The schema has no target: infer it with target='column'.")
    if task is not None and task not in ("classification", "regression"):
        raise ParameterError(f"task={task!r} is not possible: it is 'classification' or 'regression'.")
    if column.kind in ("date", "ignored"):
        raise DataError(
            f"The target {column.name!r} holds {column.type}, which is neither classes nor numbers. Derive a number from it (days since "
            "a date), or name another target."
        )
    number = column.kind == "number" or (column.kind == "constant" and column.low is not None)
    if task == "regression":
        if not number:
            raise ParameterError(
                f"The target {column.name!r} is no number ({column.type}), so that regression is not possible."
            )
        return "regression", "as you asked"
    if task == "classification":
        return "classification", "as you asked"
    if not number:
        return "classification", "the target is text or true/false"
    classes, why = are_classes(column.distinct, column.whole, schema.n_rows - column.missing)
    return ("classification" if classes else "regression"), why


def to_data(schema: Schema) -> dict[str, Any]:
    """The schema as plain JSON."""
    return {
        "schema": VERSION,
        "n_rows": schema.n_rows,
        "columns": [_column_data(column) for column in schema.columns],
        "target": None if schema.target is None else _column_data(schema.target),
        "roles": dict(schema.roles),
        **({"written": {name: how.to_data() for name, how in schema.written.items()}} if schema.written else {}),
    }


def _column_data(column: Column) -> dict[str, Any]:
    data = {field.name: getattr(column, field.name) for field in fields(column)}
    data["levels"] = None if column.levels is None else list(column.levels)
    data["counts"] = None if column.counts is None else dict(column.counts)
    words = data.pop("words")
    return data if words is None else {**data, "words": list(words)}


def from_data(data: Any) -> Schema:
    """The schema that `to_data` wrote."""
    _is(isinstance(data, Mapping), "it is no object")
    _is(data.get("schema") == VERSION, f"its version is {data.get('schema')!r}, and this Assay reads {VERSION!r}")
    _has_keys({**data, "written": None}, {"schema", "n_rows", "columns", "target", "roles", "written"}, "it")
    n_rows = _whole(data["n_rows"], "n_rows")
    _is(isinstance(data["columns"], list), "columns is no list")
    columns = tuple(_column(each, n_rows) for each in data["columns"])
    target = None if data["target"] is None else _column(data["target"], n_rows)
    roles = data["roles"]
    _is(isinstance(roles, Mapping), "roles is no object")
    for role, name in roles.items():
        _is(role in ROLES and isinstance(name, str), f"the role {role!r} is unknown or names no column")
    names = [column.name for column in columns] + ([target.name] if target else []) + list(roles.values())
    _is(len(set(names)) == len(names), "two columns have the same name")
    written = data.get("written", {})
    _is(isinstance(written, Mapping) and set(written) <= set(names), "it says how columns are written that it has not")
    return Schema(columns, n_rows, target, dict(roles), {n: writing_from_data(how, n) for n, how in written.items()})


def _column(data: Any, n_rows: int) -> Column:
    _is(isinstance(data, Mapping), "a column is no object")
    _has_keys({**data, "words": data.get("words")}, {field.name for field in fields(Column)}, "a column")
    name = data["name"]
    for key in ("name", "kind", "type", "why"):
        _is(isinstance(data[key], str), f"{key} of the column {name!r} is no text")
    for key in ("about", "whole", "with_time"):
        _is(isinstance(data[key], bool), f"{key} of the column {name!r} is neither true nor false")
    _is(data["kind"] in KINDS, f"the column {name!r} is of the unknown kind {data['kind']!r}")
    missing, distinct = (_whole(data[key], f"{key} of {name!r}") for key in ("missing", "distinct"))
    _is(missing <= n_rows, f"the column {name!r} misses {missing} of {n_rows} values")
    _is(data["about"] or distinct <= n_rows, f"the column {name!r} has {distinct} different values in {n_rows} rows")
    levels = _levels(data["levels"], data["kind"], name)
    low, high = _range(data["low"], data["high"], name)
    checked = {
        "levels": levels,
        "low": low,
        "high": high,
        "counts": _counts(data["counts"], levels, n_rows, name),
        "words": _words(data.get("words"), data["kind"], name),
    }
    return Column(**{**data, **checked})


def _levels(levels: Any, kind: str, name: str) -> tuple[str, ...] | None:
    if kind != "category":
        _is(levels is None, f"the column {name!r} has levels, but is no category")
        return None
    _is(isinstance(levels, list) and len(levels) <= MOST_LEVELS, f"the levels of {name!r} are no list, or too many")
    _is(all(isinstance(level, str) for level in levels), f"a level of {name!r} is no text")
    _is(all(a < b for a, b in pairwise(levels)), f"the levels of {name!r} are not in order, or repeat")
    return tuple(levels)


def _counts(counts: Any, levels: tuple[str, ...] | None, n_rows: int, name: str) -> dict[str, int] | None:
    if counts is None:
        return None
    _is(isinstance(counts, Mapping), f"the counts of {name!r} are no object")
    _is(levels is None or tuple(counts) == levels, f"the counts of {name!r} are not those of its levels")
    found = {str(level): _whole(count, f"a count of {name!r}") for level, count in counts.items()}
    _is(sum(found.values()) <= n_rows, f"the counts of {name!r} are more than the {n_rows} rows")
    return found


def _words(words: Any, kind: str, name: str) -> tuple[str, ...] | None:
    if words is None:
        return None
    _is(kind in TEXTUAL, f"the column {name!r} has words, but is no text")
    _is(isinstance(words, list) and len(words) <= MOST_WORDS, f"the words of {name!r} are no list, or too many")
    _is(all(isinstance(w, str) and is_plain_word(w) for w in words), f"a word of {name!r} is none")
    _is(len(set(words)) == len(words), f"the words of {name!r} repeat")
    return tuple(words)


def _range(low: Any, high: Any, name: str) -> tuple[float | None, float | None]:
    if low is None and high is None:
        return None, None
    for end in (low, high):
        number = isinstance(end, int | float) and not isinstance(end, bool)
        _is(number and abs(end) <= sys.float_info.max, f"the range of {name!r} is not two finite numbers")
    _is(low <= high, f"the range of {name!r} goes from {low} to {high}")
    return float(low), float(high)


def _whole(value: Any, what: str) -> int:
    _is(isinstance(value, int) and not isinstance(value, bool) and value >= 0, f"{what} is {value!r}, not a count")
    return int(value)


def _has_keys(data: Mapping[str, Any], wanted: set[str], what: str) -> None:
    _is(set(data) == wanted, f"{what} has not the entries {', '.join(sorted(wanted))}")


def _is(right: bool, wrong: str) -> None:
    if not right:
        raise ModelFileError(
            f"The stored schema cannot be used: {wrong}. The file is damaged, or written by another version."
        )
