"""A schema for people: a table of 80 characters' width, and the same as HTML for notebooks."""

from __future__ import annotations

import html
import textwrap
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from assay.tables.schema.schema import USED

if TYPE_CHECKING:
    from assay.tables.schema.schema import Column, Schema

WIDTH = 80
MOST_SHOWN = 100
LONGEST_NAME = 22
PLURAL = {
    "number": "numbers",
    "category": "categories",
    "boolean": "booleans",
    "date": "dates",
    "text": "texts",
    "string": "strings",
}
HEAD = ("column", "kind", "missing", "distinct", "values")


def as_text(schema: Schema) -> str:
    """The columns one a line, the target last, and how many of each kind."""
    shown = schema.columns[:MOST_SHOWN]
    lines = [_cells(column, column.name) for column in shown]
    share = [missing_share(column, schema.n_rows) for column in shown]
    if schema.target is not None:
        lines.append(_cells(schema.target, f"→ {schema.target.name}"))
        share.append(missing_share(schema.target, schema.n_rows))
    rows = [HEAD, *((line[0], line[1], part, line[2], line[3]) for line, part in zip(lines, share))]
    table = _aligned(rows)
    hidden = len(schema.columns) - len(shown)
    if hidden:
        table.insert(1 + len(shown), f"… and {hidden} more columns")
    return "\n".join([*table, *textwrap.wrap(summary(schema), WIDTH), *written_lines(schema)])


def _cells(column: Column, name: str) -> tuple[str, str, str, str]:
    return name, column.kind, f"{'~' if column.about else ''}{column.distinct}", values_text(column)


def missing_share(column: Column, rows: int) -> str:
    """Missing values in percent: "" for none, and never 0 % or 100 % where that is not exact."""
    if not column.missing or not rows:
        return ""
    percent = 100 * column.missing / rows
    if column.missing == rows:
        return "100 %"
    return "<0.1 %" if percent < 0.1 else f"{min(percent, 99.9):.1f} %"


def values_text(column: Column) -> str:
    """The values of a column in a few words: range, categories, or why it is not used."""
    if column.kind == "category" and column.levels is not None:
        return ", ".join(_clean(level) for level in column.levels[:12]) + (", …" if len(column.levels) > 12 else "")
    if column.low is not None and column.high is not None and column.kind in ("number", "date"):
        if column.kind == "date":
            return f"{moment(column.low, column.with_time)} … {moment(column.high, column.with_time)}"
        return f"{number(column.low)} … {number(column.high)}"
    if column.kind == "boolean" and column.counts:
        return f"{column.counts.get('true', 0)} true, {column.counts.get('false', 0)} false"
    return column.why


def number(x: float) -> str:
    """Whole numbers in full, others with six digits.

    >>> number(1490400.0), number(2 / 3)
    ('1490400', '0.666667')
    """
    return str(int(x)) if x == int(x) and abs(x) < 1e12 else f"{x:.6g}"


def moment(seconds: float, with_time: bool) -> str:
    """A date in ISO's form; dates before year 1 or after 9999 as seconds."""
    try:
        when = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    except OverflowError:
        return f"{seconds:.6g} s"
    return when.isoformat(" ", "minutes") if with_time else when.date().isoformat()


def summary(schema: Schema) -> str:
    """One sentence: rows, features by kind, what is left out, columns with other roles."""
    counted = Counter(column.kind for column in schema.columns)
    used = [f"{counted[kind]} {PLURAL[kind] if counted[kind] > 1 else kind}" for kind in USED if counted[kind]]
    left = [_clean(column.name) for column in schema.columns if column.kind not in USED]
    beside = " besides the target" if schema.target is not None else ""
    text = f"{_many(schema.n_rows, 'row')}, {_many(len(schema.columns), 'column')}{beside}: {', '.join(used) or 'none of use'}."
    if left:
        text += f" Left out: {', '.join(left[:5])}{f' and {len(left) - 5} more' if len(left) > 5 else ''}."
    roles = ", ".join(f"{role} {_clean(name)!r}" for role, name in schema.roles.items())
    return text + (f" Besides: {roles}." if roles else "")


def written_lines(schema: Schema) -> list[str]:
    """How columns of text are read, each with an example before and after."""
    width = min(max((len(name) for name in schema.written), default=0), LONGEST_NAME)
    shown = list(schema.written.items())[:MOST_SHOWN]
    lines = [f"  {_cut(name, width):<{width}}  {_cut(str(how), WIDTH - width - 4)}" for name, how in shown]
    return ["Read as they are written:", *lines] if lines else []


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _aligned(rows: list[tuple[str, str, str, str, str]]) -> list[str]:
    widths = [max(len(_clean(row[j])) for row in rows) for j in range(4)]
    widths[0] = min(widths[0], LONGEST_NAME)
    lines = []
    for name, kind, missing, distinct, values in rows:
        line = f"{_cut(name, widths[0]):<{widths[0]}}  {kind:<{widths[1]}}  {missing:>{widths[2]}}  {distinct:>{widths[3]}}  "
        lines.append((line + _cut(values, WIDTH - len(line))).rstrip())
    return lines


def _cut(text: str, most: int) -> str:
    text = _clean(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _clean(text: str) -> str:
    """Without line breaks or control characters, which would break the table."""
    return "".join(c if c.isprintable() else " " for c in text)


def as_html(schema: Schema) -> str:
    """The same table with the reasons and how columns of text are read, for notebooks."""
    head = "".join(f"<th>{title}</th>" for title in (*HEAD, "why"))
    columns = list(schema.columns[:MOST_SHOWN]) + ([schema.target] if schema.target is not None else [])
    body = []
    for column in columns:
        name, kind, distinct, values = _cells(column, ("→ " if column is schema.target else "") + column.name)
        cells = (name, kind, missing_share(column, schema.n_rows), distinct, values, column.why)
        body.append("<tr>" + "".join(f"<td>{html.escape(_clean(cell))}</td>" for cell in cells) + "</tr>")
    hidden = len(schema.columns) - MOST_SHOWN
    more = f" {hidden} more columns are not shown." if hidden > 0 else ""
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        f"<p>{html.escape(summary(schema) + more)}</p>{_written_html(schema)}"
    )


def _written_html(schema: Schema) -> str:
    """How columns of text are read, each with an example before and after; nothing where none is."""
    rows = [
        f"<tr><td>{html.escape(_clean(name))}</td><td>{html.escape(_clean(str(how)))}</td></tr>"
        for name, how in list(schema.written.items())[:MOST_SHOWN]
    ]
    return f"<p>Read as they are written:</p><table><tbody>{''.join(rows)}</tbody></table>" if rows else ""
