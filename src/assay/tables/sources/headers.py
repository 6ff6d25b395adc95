"""Where the table begins in a file, and what its columns are called: titles above the header, names that repeat, totals below.

Offices put a title, a date and a blank line above the header. These lines are skipped by themselves where that is plain: they fill at most half
of the columns, and the line below them names nearly all columns, none by a number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

LOOKED_AT = 20  # rows
MOST_TITLES = 10
NEARLY_ALL = 0.8
LONGEST_SHOWN = 40
NUMBER = re.compile(r"[-+(]?[\d.,' ]*\d[\d.,' ]*%?\)?")
TOTALS = re.compile(r"(?i)(grand )?totals?|summen?|gesamt(summe)?|insgesamt|sums?|somme|totale|total général|suma")


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
    return place if named and not any(NUMBER.fullmatch(cell) for cell in header) else 0


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
