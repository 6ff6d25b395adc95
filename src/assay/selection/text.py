"""A comparison as text that fits 80 columns."""

from __future__ import annotations

from textwrap import wrap

from assay.assess.paired import SAME
from assay.assess.score import Score
from assay.assess.verdict import percent
from assay.selection.comparison import Comparison, Entry

WIDTH = 80


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


def heading(found: Comparison) -> str:
    """The table, the target and how it was taken, and how rows were set aside."""
    target = found.schema.target
    taken = "number" if found.data.classes is None else f"{len(found.data.classes)} classes"
    several = f"{len(found.splits)} splits ({found.resampling.kind})"
    tested = f"{len(found.tested)} held out" if len(found.splits) == 1 else several
    return f"{found.where}: {len(found.data)} rows, {len(found.schema.used)} columns → {target.name if target else '?'} ({taken}); {tested}"


def number(value: float, rate: bool) -> str:
    """A risk in the table: a share in per cent, else three digits.

    >>> number(0.14439, True), number(5.08e9, False)
    ('14.4 %', '5.08e+09')
    """
    return percent(value) if rate else f"{value:.3g}"


def interval(score: Score, rate: bool) -> str:
    """[low, high], shares in per cent.

    >>> interval(Score("error", 0.05, 0.01, 0.12, "exact", "low", 80), True)
    '1.0–12.0 %'
    """
    if not rate:
        return f"{score.low:.3g}–{score.high:.3g}"
    return f"{number(score.low, rate).removesuffix(' %')}–{number(score.high, rate)}"


def ranking_lines(found: Comparison) -> list[str]:
    """One line a model, the best first."""
    rate = found.loss == "zero-one"
    risk = "error" if rate else {"log": "log loss", "brier": "Brier", "squared": "MSE", "absolute": "MAE"}[found.loss]
    cells = [("model", risk, "95 % interval", "training", "vs the best", "time")]
    for entry in found.done:
        assert entry.risk is not None
        assert entry.train_risk is not None
        shown = number(entry.risk.value, rate), interval(entry.risk, rate), number(entry.train_risk.value, rate)
        cells.append((entry.name, *shown, against(entry), f"{entry.seconds:.1f} s"))
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    lines = []
    for row in cells:
        mark = "→" if row[0] == found.recommended else " "
        aligned = [
            row[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(row[1:4], widths[1:4])),
            row[4].ljust(widths[4]),
        ]
        lines.append(f"{mark} {'  '.join([*aligned, row[5].rjust(widths[5])])}"[:WIDTH].rstrip())
    for entry in found.entries:
        if not entry.done:
            head = f"  {entry.name.ljust(widths[0])}  "
            text = f"{entry.state}: {entry.message}" if entry.message else entry.state
            lines += wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * (len(head) + 2), max_lines=3)
    return lines


def against(entry: Entry) -> str:
    """How a model stands to the best, in two words."""
    test = entry.against_best
    if test is None:
        return "best"
    if test.verdict == SAME:
        return "cannot tell"
    return f"worse p={test.p:.1g}" if test.p >= 1e-4 else "worse p<1e-4"


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
