"""A comparison as HTML for notebooks: the verdict, the ranking with a bar for each risk, and what to worry about, folded.

Styles stand in the elements and bars are SVG: a notebook has no style sheet of ours, and may be dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from assay.assess.verdict import in_unit, shown
from assay.selection.comparison import Comparison, Entry
from assay.selection.text import against, heading

WIDE, HIGH = 180, 14  # pixels of a bar
LEFT = "text-align:left;vertical-align:top;white-space:nowrap"
SOFT = "opacity:.75"
BLUE, RED = "#3f90da", "#bd1f01"  # the colours of figures


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
