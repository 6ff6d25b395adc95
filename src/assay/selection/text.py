"""A comparison as text that fits 80 columns, and as HTML for notebooks: the verdict, the ranking with a bar for each risk, and what to worry about, folded.

Styles of the HTML stand in the elements and bars are SVG: a notebook has no style sheet of ours, and may be dark.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from assay.assess.paired import SAME
from assay.assess.score import Score
from assay.assess.verdict import RATES, amount, in_unit, percent, shown
from assay.estimator.search_space import title_of
from assay.families import model_class
from assay.selection.comparison import Comparison, Entry
from assay.selection.judge import NAMES
from assay.selection.sentences import measured_on

WIDTH = 80
BESIDE = {
    "zero-one": ("log loss",),
    "log": ("error",),
    "brier": ("error",),
    "squared": ("MAE", "R²"),
    "absolute": ("RMSE", "R²"),
}
WITHOUT_UNIT = ("log loss", "Brier score", "R²")
SHORT = {"Brier score": "Brier"}
WIDE, HIGH = 180, 14  # pixels of a bar
LEFT = "text-align:left;vertical-align:top;white-space:nowrap"
SOFT = "opacity:.75"
BLUE, RED = "#3f90da", "#bd1f01"  # the colours of figures


def as_text(found: Comparison) -> str:
    """What was asked, verdict, ranking, worries."""
    lines = [*wrap(heading(found), WIDTH), *wrap(found.verdict[0], WIDTH), ""] if found.verdict else []
    lines += ranking_lines(found)
    if found.verdict[1:]:
        lines.append("")
    for sentence in found.verdict[1:]:
        lines += wrap(sentence, WIDTH)
    lines += worry_lines(found)
    lines += left_out_lines(found)
    return "\n".join(lines)


def wrap(text: str, width: int, **options: Any) -> list[str]:
    """The lines of a text; an amount stays on one line with its sign."""
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text.replace(" %", "\u00a0%"), width, **options)]


def heading(found: Comparison) -> str:
    """The table, the target and how it was taken, and how risks were measured."""
    target = found.schema.target
    taken = "a number" if found.data.classes is None else f"{len(found.data.classes)} classes"
    said = f"{found.where}: {len(found.data)} rows, {len(found.schema.used)} columns → {target.name if target else '?'} ({taken})"
    return f"{said}, measured {measured_on(found)}"


def number(score: Score) -> str:
    """A score in the table: a share in per cent, else three digits; a mean of squares as its root.

    >>> number(Score("error", 0.14439, 0.1, 0.2, "exact", "low", 80)), number(Score("MSE", 2.51e9, 1e9, 4e9, "approximate", "low", 80))
    ('14.4 %', '50 100')
    """
    if score.name in WITHOUT_UNIT:
        return f"{score.value:.3f}"
    return percent(score.value) if score.name in RATES else amount(in_unit(score).value, 3)


def interval(score: Score) -> str:
    """low–high, shares in per cent.

    >>> interval(Score("error", 0.05, 0.01, 0.12, "exact", "low", 80))
    '1.0–12.0 %'
    """
    if score.name in RATES:
        return f"{percent(score.low).removesuffix(' %')}–{percent(score.high)}"
    score = in_unit(score)
    return f"{amount(score.low, 3)}–{amount(score.high, 3)}"


def measured_risk(loss: str, value: float) -> str:
    """A risk by the name and in the unit that people know it by, while models are still running.

    >>> measured_risk("zero-one", 0.1444), measured_risk("squared", 2.51e9), measured_risk("log", 0.1234)
    ('error 14.4 %', 'RMSE 50 100', 'log loss 0.123')
    """
    score = Score(NAMES.get(loss, loss), value, value, value, "approximate", "low", 0)
    return f"{in_unit(score).name} {number(score)}"


def titles_of(names: Sequence[str]) -> dict[str, str]:
    """Of each model that will run what people call it; two of one title are told apart by the names that are typed.

    >>> titles_of(["lda", "logistic-regression", "erm"])
    {'lda': 'Linear discriminant', 'logistic-regression': 'Logistic regression', 'erm': 'Logistic regression (erm)'}
    """
    found: dict[str, str] = {}
    for name in names:
        title = title_of(model_class(name), {})
        found[name] = f"{title} ({name})" if title in found.values() else title
    return found


def ranking_lines(found: Comparison) -> list[str]:
    """One line a model, the best first; then the names that are typed."""
    beside = BESIDE.get(found.loss, ())
    done = found.done
    head = ("model", *_head(found, beside), "vs best", "time")
    cells = [_cells(entry, beside) for entry in done]
    widths = [max(len(row[j]) for row in [head[1:], *cells]) for j in range(len(head) - 1)]
    room = WIDTH - 2 - sum(widths) - 2 * len(widths)
    names = [_fitting(entry, room) for entry in done]
    wide = max(map(len, ["model", *names]))
    lines = [_line(" ", head[0].ljust(wide), head[1:], widths)]
    for entry, name, row in zip(done, names, cells):
        lines.append(_line("→" if entry.name == found.recommended else " ", name.ljust(wide), row, widths))
    for entry in found.entries:
        if not entry.done:
            start = f"  {_fitting(entry, room).ljust(wide)}  "
            text = f"{entry.state}: {entry.message}" if entry.message else entry.state
            lines += wrap(text, WIDTH, initial_indent=start, subsequent_indent=" " * (len(start) + 2), max_lines=3)
    typed = ", ".join(entry.name for entry in found.entries)
    return (
        lines
        if len(found.entries) < 2
        else [
            *lines,
            *wrap(
                f"as typed (--models): {typed}",
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            ),
        ]
    )


def _head(found: Comparison, beside: tuple[str, ...]) -> tuple[str, ...]:
    risk = next((in_unit(e.risk).name for e in found.done if e.risk is not None), "error")
    return (SHORT.get(risk, risk), "95 % range", *beside)


def _cells(entry: Entry, beside: tuple[str, ...]) -> tuple[str, ...]:
    assert entry.risk is not None
    known = {score.name: score for score in entry.scores}
    others = [number(known[name]) if name in known else "–" for name in beside]
    return (number(entry.risk), interval(entry.risk), *others, against(entry), f"{entry.seconds:.1f} s")


def _fitting(entry: Entry, room: int) -> str:
    """As much of the name as there is room for: with its settings, without them, the beginning."""
    first = f"{entry.called.split(', ')[0]})" if "(" in entry.called.split(", ")[0] else entry.title
    names = (entry.called, first, entry.title, entry.title.split(",")[0])
    fitting = [name for name in names if len(name) <= room]
    return fitting[0] if fitting else f"{entry.title[: max(1, room - 1)]}…"


def _line(mark: str, name: str, row: Sequence[str], widths: list[int]) -> str:
    aligned = [cell.ljust(w) if j == len(row) - 2 else cell.rjust(w) for j, (cell, w) in enumerate(zip(row, widths))]
    return f"{mark} {'  '.join([name, *aligned])}".rstrip()


def against(entry: Entry) -> str:
    """How a model stands to the best, in a word: 'unsure' is what the rows cannot tell."""
    test = entry.against_best
    if test is None:
        return "best"
    return "unsure" if test.verdict == SAME else "worse"


def worry_lines(found: Comparison) -> list[str]:
    if not found.worries:
        return []
    lines = ["", "to worry about:"]
    for worry in found.worries:
        text = f"{worry.severity}: {worry.title} – {worry.detail} {worry.what_to_do}"
        lines += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    return lines


def left_out_lines(found: Comparison) -> list[str]:
    if not found.left_out:
        return []
    text = "; ".join(f"{name} ({why})" for name, why in found.left_out)
    return ["", *wrap(f"not tried: {text}", WIDTH)]


def as_html(found: Comparison) -> str:
    """What was asked, the verdict, the ranking, and what else should be known."""
    first, *others = found.verdict or ["No model was finished."]
    parts = [
        _paragraph(heading(found), SOFT),
        _paragraph(first, "font-weight:600;font-size:110%"),
        _ranking(found),
        *(_paragraph(sentence) for sentence in others),
        _folded("What to worry about", [f"{w.severity}: {w.title}. {w.detail} {w.what_to_do}" for w in found.worries]),
        _folded("Not tried", [f"{name}: {why}" for name, why in found.left_out]),
    ]
    inside = "".join(parts)
    return f'<div style="max-width:60em">{inside}</div>'


def _ranking(found: Comparison) -> str:
    """One row a model, the best first; the recommended one is bold."""
    head = _row(["model", f"{_measure(found)} (95 % interval)", "", "against the best", "time"], "th")
    return f"<table>{head}{''.join(_ranked(entry, found) for entry in found.entries)}</table>"


def _ranked(entry: Entry, found: Comparison) -> str:
    name = escape(entry.called)
    if entry.risk is None or not entry.done:
        why = escape(f"{entry.state}: {entry.message}" if entry.message else entry.state)
        return f'<tr><td style="{LEFT}">{name}</td><td colspan="4" style="text-align:left;{SOFT}">{why}</td></tr>'
    chosen = entry.name == found.recommended
    cells = [f"<b>→ {name}</b>" if chosen else name, escape(shown(entry.risk)), _bar(entry, found)]
    return _row([*cells, escape(against(entry)), f"{entry.seconds:.1f} s"], "td")


def _bar(entry: Entry, found: Comparison) -> str:
    """The risk as a bar from zero, its interval as a line upon it; the longest interval of all fills the width."""
    assert entry.risk is not None
    risk = in_unit(entry.risk)
    most = max((in_unit(e.risk).high for e in found.done if e.risk is not None), default=0.0)
    if not 0 < most < float("inf") or risk.low < 0:
        return ""
    value, low, high = (f"{WIDE * min(1.0, x / most):.1f}" for x in (risk.value, risk.low, risk.high))
    colour = RED if entry.name == found.recommended else BLUE
    bar = f'<rect width="{value}" height="{HIGH}" fill="{colour}" fill-opacity=".45"/>'
    line = f'<path d="M{low} {HIGH / 2:g}H{high}" stroke="currentColor" stroke-width="2"/>'
    return f'<svg width="{WIDE}" height="{HIGH}" role="img" aria-label="{escape(shown(entry.risk))}">{bar}{line}</svg>'


def _measure(found: Comparison) -> str:
    return escape(next((in_unit(e.risk).name for e in found.done if e.risk is not None), "risk"))


def _row(cells: Iterable[str], tag: str) -> str:
    made = [f'<{tag} style="{LEFT}">{cell}</{tag}>' for cell in cells]
    return f"<tr>{''.join(made)}</tr>"


def _paragraph(sentence: str, style: str = "") -> str:
    return f'<p style="margin:.3em 0;{style}">{escape(sentence)}</p>'


def _folded(title: str, sentences: list[str]) -> str:
    if not sentences:
        return ""
    inside = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<details><summary>{title} ({len(sentences)})</summary><ul>{inside}</ul></details>"
