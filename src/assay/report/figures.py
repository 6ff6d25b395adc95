"""Figures as parts of the page: drawn by `assay.plots`, turned into SVG, with a caption."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assay.errors import AssayError, MissingExtraError
from assay.report.markup import UNSEEN, Html, el, join

WIDTH = re.compile(r'^<svg[^>]* width="(\d+)"')
UNDRAWABLE = (AssayError, ArithmeticError, LookupError, TypeError, ValueError)


def figure(title: str, description: str, draw: Callable[[], Any], *, key: str = "", caption: str | None = None) -> Html:
    """A figure with its caption: the description, which a screen reader says, unless a shorter one is given.

    Where drawing fails the page says so and goes on: one picture is no reason to have no report.
    """
    from assay import plots

    try:
        picture: Any = Html(UNSEEN.sub("", plots.svg(draw(), title=title, description=description, key=key)))
    except MissingExtraError:
        raise
    except UNDRAWABLE as error:
        picture = el("p", f"This figure could not be drawn: {error}", class_="soft")
    else:
        drawn = WIDTH.search(picture)  # on a phone a figure is no narrower than readable, and no wider than drawn
        wide = None if drawn is None else f"--w:{drawn[1]}px"
        picture = el("div", picture, class_="scroll", style=wide, tabindex="0", role="region", aria_label=title)
    return el(
        "figure", el("figcaption", el("strong", title), el("br"), description if caption is None else caption), picture
    )


def optional(title: str, description: str, draw: Callable[[], Any], *, key: str = "") -> Html | None:
    """A figure of what only some models have: nothing where the model, the columns or the classes do not allow it."""
    try:
        axes = draw()
    except MissingExtraError:
        raise
    except AssayError:
        return None
    return figure(title, description, lambda: axes, key=key)


def side_by_side(*figures: Html | None) -> Html | None:
    """Figures next to each other where the page is wide enough."""
    found = [f for f in figures if f is not None]
    if not found:
        return None
    return el("div", join(*found), class_="figures" if len(found) > 1 else "figures one")
