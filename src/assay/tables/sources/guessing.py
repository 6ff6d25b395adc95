"""Where the table begins in a text file, what its columns are called, and what they hold, guessed from its first megabytes.

Offices put a title, a date and a blank line above the header. These lines are skipped by themselves where that is plain: they fill at most half
of the columns, and the line below them names nearly all columns, none by a number.

The rules, for a column's values in the first megabytes (quotes around a value change nothing):
- missing: an empty cell, a blank, ?, NA, N/A, #N/A, n/a, NaN, nan, null, NULL, None, <NA> and their kin, in every column;
  in a column that holds numbers otherwise also -, --, . and *;
- numbers: 12, -1.5, 2e3, inf; with a decimal comma (1,5) where more columns prove a comma than a point (`tables/written`);
- codes: whole numbers of which one begins with a zero (01050) stay text, with a note; so do those of one length that are called zip or phone;
- truth values: true and false in any case. Yes and no are text, that is a category of two values;
- dates: ISO 8601 (2026-01-31, 2026-01-31 10:00:00, with T or a zone); any other spelling of a date is text here;
- text: everything else, also a column of which a single value is no number. What text writes numbers or dates in another way
  (1.234,50, $1,234, 09.02.2021) is found later, over all rows (`tables/written/source.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as arrow_csv
import pyarrow.types as types

from assay.tables.written.evidence import UNSURE_NUMBER, ShapeCounts, elected, may_be_numbers, number_evidence
from assay.tables.written.writing import LONGEST_ODD, Writing, WritingOptions

MISSING = (
    *("", " ", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
MISSING_AMONG_NUMBERS = ("-", "--", ".", "*")
NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
CALLED_CODE = re.compile(
    r"(?i)zip([ _-]?codes?)?|plz|postleitzahl|post(al)?[ _-]?code|code[ _-]?postal|npa|(tele)?phone([ _-]?(number|no))?|telefon(nummer)?|tel|fax|mobile"
)
SHORTEST_CODE = 4
FEW_ROWS = 1 << 12
LOOKED_AT = 1 << 14  # values of a column that show what a point or a comma means
LINES_LOOKED_AT = 20  # rows
MOST_TITLES = 10
NEARLY_ALL = 0.8
LONGEST_SHOWN = 40
NUMBER_LIKE = re.compile(r"[-+(]?[\d.,' ]*\d[\d.,' ]*%?\)?")
TOTALS = re.compile(r"(?i)(grand )?totals?|summen?|gesamt(summe)?|insgesamt|sums?|somme|totale|total général|suma")


class ColumnGuess(NamedTuple):
    """Arrow types by column, the decimal sign and whether it is proved, spellings of missing values beyond the usual, and notes.

    `written`: of columns that are numbers by their decimal comma, how they are written.
    """

    types: dict[str, Any]
    decimal: str
    proved: bool
    missing_numbers: tuple[str, ...]
    written: dict[str, Writing]
    notes: list[str]
    first_texts: Any  # the first rows of text columns


class Parse(Protocol):
    """The table of a sample, by convert options; not `whole`: of its first lines."""

    def __call__(self, how: Any, whole: bool = True) -> Any: ...


def _numbers(count: int) -> pa.Int64Array:
    """0, 1, 2, … as Arrow has them; `pa.array` would load pandas to see whether it is given some of it."""
    return pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(np.arange(count, dtype=np.int64))])


def guess(parse: Parse, text: bytes, delimiter: str, said: WritingOptions) -> ColumnGuess:
    """The guess for a sample `text`; `parse(convert options)` gives its table. `said` is what the user says of its numbers."""
    table = parse(options(decimal_point=said.point or "."))
    point, proved, notes = (said.point, True, []) if said.point else _decimal_sign(parse, table)
    assert point is not None
    written = {}
    if point == ",":
        by_point = table if not said.point else parse(options())
        table = parse(options(decimal_point=","))
        written = _comma_columns(by_point, table)
        notes += ["Numbers are read with a decimal comma: 1,5 is one and a half."] if written else []
    found, spellings = dict(zip(table.column_names, table.schema.types)), set()
    for name, dtype in found.items():
        if types.is_string(dtype) and (missing := _missing_among_numbers(table[name], point)):
            found[name] = pa.float64()
            spellings |= missing
    codes, more = _codes(parse, text, delimiter, found)
    found |= codes
    texts = table.select([name for name in _of(table, types.is_string) if types.is_string(found[name])])
    first = texts.slice(0, FEW_ROWS).take(_numbers(min(FEW_ROWS, len(texts))))  # a copy: the rest is let go
    return ColumnGuess(found, point, proved, tuple(sorted(spellings)), written, [*notes, *more], first)


def _decimal_sign(parse: Parse, table: Any) -> tuple[str, bool, list[str]]:
    """(the decimal sign that the columns prove, whether they do, notes where it is in doubt)."""
    evidence = [e for name in _of(table, types.is_string) if (e := _evidence(name, table[name], ".")) is not None]
    decimals = _of(table, types.is_floating)
    shown = parse(options(dict.fromkeys(decimals, pa.string()), decimals), whole=False) if decimals else {}
    for name in decimals:  # the first that proves the point is enough
        each = _evidence(name, shown[name], "")
        evidence += [each] if each is not None else []
        if each is not None and each.vote:
            break
    votes = [e.vote for e in evidence]
    sign = elected(votes) if any(votes) else elected([e.leaning for e in evidence])
    doubtful = [e for e in evidence if e.name in decimals and not e.vote and not sign and e.separated]
    notes = [UNSURE_NUMBER.format(name=e.name, writing=e.settle(".")) for e in doubtful]
    return sign or ".", bool(sign), notes


def _of(table: Any, is_type: Callable[[Any], bool]) -> list[str]:
    return [name for name, dtype in zip(table.column_names, table.schema.types) if is_type(dtype)]


def _evidence(name: str, column: Any, native: str) -> Any:
    """What the first values of a column show of how numbers are written."""
    column = column.slice(0, LOOKED_AT)
    if native and not may_be_numbers(column):
        return None
    shapes = ShapeCounts()
    shapes.add(column)
    return number_evidence(name, shapes, WritingOptions(), native)


def _comma_columns(by_point: Any, by_comma: Any) -> dict[str, Writing]:
    """How the columns are written that are numbers by their decimal comma, each with an example."""
    changed = [name for name in _of(by_comma, types.is_floating) if name in _of(by_point, types.is_string)]
    found = {}
    for name in changed:
        texts = compute.unique(by_point[name].slice(0, LOOKED_AT).drop_null()).to_pylist()
        commas = [text.strip() for text in texts if "," in text and text.strip() not in MISSING_AMONG_NUMBERS]
        if commas:
            found[name] = Writing("number", ",", example=max(commas, key=lambda text: (len(text), text))[:LONGEST_ODD])
    return found


def _codes(parse: Parse, text: bytes, delimiter: str, found: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(text as the type of columns of whole numbers that are codes: one begins with a zero, or the name says so; a note on each)."""
    whole = [name for name, dtype in found.items() if types.is_integer(dtype)]
    before = (delimiter.encode(), b"\n", b'"')
    zeros = bool(whole) and any(re.search(re.escape(sign) + rb"0[0-9]", text) for sign in before)
    looked_at = whole if zeros else [name for name in whole if CALLED_CODE.fullmatch(name)]
    shown = parse(options(dict.fromkeys(looked_at, pa.string()), looked_at)) if looked_at else {}
    codes, notes = {}, []
    for name in looked_at:
        if (code := _code(name, shown[name])) is not None:
            codes[name] = pa.string()
            notes.append(
                f"Column {name!r} holds codes such as {code!r}: it is read as text. If they are numbers, say so: "
                f"kinds={{{name!r}: 'number'}} (--kind {name}=number)."
            )
    return codes, notes


def _code(name: str, column: Any) -> str | None:
    """A value that shows that whole numbers are codes: its leading zero, or its length where all are as long and the column is called so."""
    column = compute.utf8_trim_whitespace(column.drop_null())
    zero = compute.index(compute.match_substring_regex(column, r"^0\d+$"), True).as_py()
    if zero >= 0:
        return str(column[zero].as_py())
    lengths = compute.unique(compute.utf8_length(column)).to_pylist()
    alike = CALLED_CODE.fullmatch(name) is not None and len(lengths) == 1 and lengths[0] >= SHORTEST_CODE
    return str(column[0].as_py()) if alike else None


def options(
    column_types: dict[str, Any] | None = None,
    include: list[str] | None = None,
    decimal_point: str = ".",
    missing_numbers: tuple[str, ...] = (),
) -> Any:
    """How cells become values. With `missing_numbers`, text is left as it is: see `without_missing`."""
    return arrow_csv.ConvertOptions(
        column_types=column_types,
        include_columns=include,
        null_values=[*MISSING, *missing_numbers],
        strings_can_be_null=not missing_numbers,
        decimal_point=decimal_point,
    )


def without_missing(table: Any) -> Any:
    """Text columns with the usual spellings of missing values turned into missing values."""
    usual = pa.array(MISSING)
    for j, dtype in enumerate(table.schema.types):
        if types.is_string(dtype):
            column = table.column(j)
            kept = compute.if_else(compute.is_in(column, value_set=usual), pa.scalar(None, dtype), column)
            table = table.set_column(j, table.field(j), kept)
    return table


def _missing_among_numbers(column: Any, point: str) -> set[str]:
    """The spellings in a column of text that only stand for missing numbers; none where there is any other text, or no number."""
    column = column.drop_null()
    number = compute.match_substring_regex(column, NUMBER.replace(r"\.", r"[,]") if point == "," else NUMBER)
    others = column.filter(compute.invert(number))
    if not len(others) or len(others) == len(column):  # none: numbers beside odd blanks
        return set()
    known = pa.array(MISSING_AMONG_NUMBERS)
    return set(compute.unique(others).to_pylist()) if compute.all(compute.is_in(others, known)).as_py() else set()


def header_place(rows: Sequence[Sequence[str]]) -> int:
    """The place of the header among the first rows of a file, blank ones included; 0 where no title stands plainly above it.

    >>> header_place([["Sales 2021"], [], ["city", "sold", "price"], ["Bern", "3", "1.5"], ["Basel", "4", "2"]])
    2
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    said = [len(row) for row, count in zip(rows, filled) if count]
    width = max(Counter(said).most_common(), key=lambda pair: (pair[1], pair[0]), default=(0, 0))[0]
    place = next((k for k, count in enumerate(filled) if 2 * count > width), 0)
    titles = [row for row, count in zip(rows[:place], filled) if count]
    if width < 2 or not titles or len(titles) > MOST_TITLES or place + 1 >= len(rows):
        return 0
    if width == 2 and any(len(row) > 1 for row in titles):  # a column without a name is no title
        return 0
    header = [cell.strip() for cell in rows[place]]
    named = len(header) == width and filled[place] >= NEARLY_ALL * width
    return place if named and not any(NUMBER_LIKE.fullmatch(cell) for cell in header) else 0


def skipped_note(where: str, titles: Sequence[str]) -> list[str]:
    """What was skipped above the header, and how not to."""
    shown = [title for title in titles if title.strip()]
    if not shown:
        return []
    first = shown[0][:LONGEST_SHOWN] + ("…" if len(shown[0]) > LONGEST_SHOWN or len(shown) > 1 else "")
    lines = "The first line" if len(titles) == 1 else f"The first {len(titles)} lines"
    return [
        f"{lines} of {where} ({first!r}) stand above the header and are skipped (skip=0, --skip 0: they are the table)."
    ]


def numbered_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the names, those that repeat with a number behind, and columns without one by their place; which of them repeat).

    >>> numbered_names(["x", "", "x"])
    (['x', 'column 2', 'x (2)'], ['x'])
    """
    found: list[str] = []
    taken = set(names)
    repeated: list[str] = []
    seen: set[str] = set()
    for j, name in enumerate(names):
        base = name or f"column {j + 1}"
        if base in seen:
            repeated.append(base)
        chosen, k = base, 2
        while chosen in seen or (chosen != name and chosen in taken):
            chosen, k = f"{base} ({k})", k + 1
        seen.add(chosen)
        found.append(chosen)
    return found, list(dict.fromkeys(repeated))


def repeats_note(where: str, repeated: Sequence[str]) -> list[str]:
    """How columns of the same name are told apart."""
    if not repeated:
        return []
    shown, first = ", ".join(map(repr, repeated)), repeated[0]
    return [f"{where} has several columns named {shown}: they are numbered, {first!r}, {f'{first} (2)'!r} and so on."]


def totals_note(where: str, cells: Sequence[str]) -> list[str]:
    """A note where the last row seems to be a total of the others."""
    named = next((cell.strip() for cell in cells if TOTALS.fullmatch(cell.strip().rstrip(":"))), None)
    if named is None:
        return []
    return [
        f"The last row of {where} says {named!r}: if it adds up the others, delete it, for it is read like any row."
    ]
