"""Markup that cannot be broken by what it holds: every text is escaped unless it is `Html` already; and figures as
parts of the page: drawn by `assay.plots`, turned into SVG, with a caption.

>>> el("p", "1 < 2 ", el("b", "&"), lang="en")
'<p lang="en">1 &lt; 2 <b>&amp;</b></p>'
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from assay.assess import Score
from assay.assess.verdict import percent
from assay.errors import AssayError, MissingExtraError
from assay.selection.comparison import Comparison, Entry
from assay.selection.sentences import TESTED

INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
EMPTY = frozenset(("br", "meta", "hr"))
QUOTED = re.compile(r"'([^']+)'")
SHARES = frozenset(("error", "balanced error", "zero-one", "train", "test", "share true", "precision", "recall", "F1"))
LOSSES = {
    "zero-one": "error",
    "log": "log loss",
    "brier": "Brier score",
    "squared": "squared error",
    "absolute": "absolute error",
}


class Html(str):
    """Markup, to be put into the page as it is."""

    __slots__ = ()


def text(value: Any) -> Html:
    """Any value as text of the page: escaped, and without control and direction marks, which could disguise what it says."""
    if isinstance(value, Html):
        return value
    return Html(html.escape(INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True))


def join(*parts: Any) -> Html:
    """Parts one after the other; None is nothing."""
    return Html("".join(text(part) for part in parts if part is not None))


def el(tag: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; an attribute's trailing underscore is dropped (class_), None leaves it out, True gives it no value."""
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{tag}{given}>" if tag in EMPTY else f"<{tag}{given}>{join(*children)}</{tag}>")


def paragraphs(*sentences: Any) -> Html:
    """A paragraph each; empty ones are left out."""
    return join(*(el("p", s) for s in sentences if s))


def items(entries: Iterable[Any]) -> Html | None:
    """A list, or nothing."""
    found = [el("li", entry) for entry in entries]
    return el("ul", *found) if found else None


def table(
    caption: str,
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: Sequence[int] = (),
    wide: Sequence[int] = (),
    screen: Sequence[int] = (),
) -> Html:
    """A table in a box of its own that scrolls where it is too wide. The first cell names its row; the last cell of a row with
    fewer cells than the head spans the rest.

    `numbers` are columns set to the right, `wide` those of long text, which keep a readable width on a phone, `screen` those that a sheet of
    paper has no room for.
    """
    marks = {"n": numbers, "w": wide, "s": screen}
    classes = {j: " ".join(c for c, columns in marks.items() if j in columns) or None for j in range(len(head))}
    top = [el("th", cell, scope="col", class_=classes.get(j)) for j, cell in enumerate(head)]
    body = [el("tr", *_cells(row, classes, len(head))) for row in rows]
    whole = el("table", el("caption", el("span", caption)), el("thead", el("tr", *top)), el("tbody", *body))
    return el("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cells(row: Sequence[Any], classes: dict[int, str | None], columns: int) -> Iterator[Html]:
    for j, cell in enumerate(row):
        spans = columns - j if j == len(row) - 1 and j < columns - 1 else None
        yield el(
            "th" if j == 0 else "td",
            cell,
            scope="row" if j == 0 else None,
            class_=classes.get(j) if spans is None else None,
            colspan=spans,
        )


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Names and values, one pair a line."""
    return el("dl", *(join(el("dt", name), el("dd", value)) for name, value in pairs))


def folded(summary: Any, *content: Any, open_: bool = False, class_: str | None = None) -> Html | None:
    """Content that is folded away until it is asked for; what is folded is not printed."""
    inside = join(*content)
    return el("details", el("summary", summary), inside, open=open_, class_=class_) if inside else None


def section(
    title: Any, *content: Any, id_: str | None = None, level: int = 2, class_: str | None = None
) -> Html | None:
    """A section with its heading; nothing where it has no content."""
    inside = join(*content)
    return el("section", el(f"h{level}", title), inside, id_=id_, class_=class_) if inside else None


def anchor(name: str) -> str:
    """An id for a name.

    >>> anchor("linear SVC <1>")
    'model-linear-svc-1'
    """
    return "model-" + (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed")


def figure(title: str, description: str, draw: Callable[[], Any], *, key: str = "", caption: str | None = None) -> Html:
    """A figure with its caption: the description, which a screen reader says, unless a shorter one is given.

    Where drawing fails the page says so and goes on: one picture is no reason to have no report.
    """
    from assay import plots

    try:
        picture: Any = Html(INVISIBLE.sub("", plots.svg(draw(), title=title, description=description, key=key)))
    except MissingExtraError:
        raise
    except Exception as error:
        picture = el("p", f"This figure could not be drawn: {in_words(error)}", class_="soft")
    return el(
        "figure", el("figcaption", el("strong", title), el("br"), description if caption is None else caption), picture
    )


def optional(title: str, description: str, draw: Callable[[], Any], *, key: str = "") -> Html | None:
    """A figure of what only some models have: nothing where the model, the columns or the classes do not allow it."""
    refused = []

    def drawn() -> Any:
        try:
            return draw()
        except AssayError as error:
            refused.append(error)
            raise

    found = figure(title, description, drawn, key=key)
    return None if refused else found


def part(make: Callable[..., Html | None], *given: Any) -> Html | None:
    """A part of the page. Where making it fails the page says so and goes on."""
    try:
        return make(*given)
    except MissingExtraError:
        raise
    except Exception as error:
        return el("p", f"This part could not be made: {in_words(error)}", class_="soft")


def in_words(error: Exception) -> str:
    """What went wrong; errors that are not our own say so by their name, too."""
    return str(error) if isinstance(error, AssayError) else f"{type(error).__name__}: {error}"


def side_by_side(*figures: Html | None) -> Html | None:
    """Figures next to each other where the page is wide enough."""
    found = [f for f in figures if f is not None]
    if not found:
        return None
    return el("div", join(*found), class_="figures" if len(found) > 1 else "figures one")


def plain(value: Any) -> str:
    """A number with four digits that matter, grouped by thousands where it is whole; other values as they are.

    >>> plain(1234567), plain(0.123456), plain(None), plain(float("nan"))
    ('1 234 567', '0.1235', '–', '–')
    """
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}".replace(",", " ")
    if isinstance(value, float | np.floating):
        return f"{float(value):.4g}"
    return str(value)


def alone(found: Comparison) -> Entry | None:
    """The only model of a comparison, which then is a report on that model; None of several."""
    return found.entries[0] if len(found.entries) == 1 and not found.left_out else None


def of_fit(found: Comparison) -> bool:
    """Whether a saved model is judged on the rows it was fitted on."""
    return bool(found.question.get("judged_on") == "rows of the fit")


def tested_rows(found: Comparison) -> str:
    """What the rows are that the numbers come from: `judged_on` says so where a model that was saved is judged."""
    return TESTED.get(found.question.get("judged_on", ""), "rows that the fits never saw")


def place(where: str) -> str:
    """Where a table lies, without the quotes that messages put around a path.

    >>> place("'trees.csv'")
    'trees.csv'
    """
    quoted = len(where) > 2 and where[0] == where[-1] and where[0] in "'\""
    return where[1:-1] if quoted and where[0] not in where[1:-1] else where


def file_name(where: str) -> str:
    """Where a table lies as a title says it: a file by its name, without the folders above it.

    >>> file_name("'/data/2024/trees.csv'"), file_name("Table 'oaks' of '/data/all.duckdb'"), file_name("the DataFrame")
    ('trees.csv', "Table 'oaks' of all.duckdb", 'the DataFrame')
    >>> file_name("'parts/*.parquet'"), file_name("postgresql://me@host/trees")
    ('parts/*.parquet', 'postgresql://me@host/trees')
    """
    if place(where) != where:
        return _last(place(where))
    return QUOTED.sub(lambda found: _last(found[1]) if "/" in found[1] else found[0], where)


def _last(path: str) -> str:
    """The last part of a path; of a pattern such as *.csv the folder too, for it says more."""
    parts = PurePath(path).parts
    pattern = bool(parts) and any(mark in parts[-1] for mark in "*?[")
    return path if "://" in path or not parts else "/".join(parts[-2 if pattern else -1 :])


def is_share(score: Score, loss: str = "") -> bool:
    """Whether a score is a share of rows, to be said in per cent."""
    return (score.name in SHARES or loss == "zero-one") and score.low >= 0 and score.high <= 1


def amount(score: Score, value: float, loss: str = "") -> str:
    """One of the numbers of a score."""
    if math.isnan(value):
        return "–"
    return percent(value) if is_share(score, loss) else f"{value:.4g}"


def interval(score: Score, loss: str = "") -> str:
    """From low to high."""
    return f"{amount(score, score.low, loss)} to {amount(score, score.high, loss)}"


def exactness(score: Score) -> str:
    """How far the interval can be trusted."""
    return "exact" if score.kind == "exact" else "approximate"


def setting_words(setting: Mapping[str, Any]) -> str:
    """Hyper-parameters in a line.

    >>> setting_words({"C": 10.0, "penalty": "l1"})
    'C = 10, penalty = l1'
    """
    return ", ".join(f"{name} = {_value(value)}" for name, value in setting.items()) or "as it stands"


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def span_of_time(seconds: float) -> str:
    """A duration.

    >>> span_of_time(0.0123), span_of_time(75.0)
    ('0.01 s', '1 min 15 s')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def pill(word: str, tone: str = "") -> Html:
    """A word with a border, in a tone: good, mild or bad."""
    return el("span", word, class_=f"pill {tone}".strip())


def with_interval(score: Score, loss: str = "") -> Html:
    """Value and interval in one cell."""
    return join(el("strong", amount(score, score.value, loss)), f" ({interval(score, loss)})")
