"""Axes as a self-contained SVG text for an HTML page: same bytes every time, light or dark page, no id twice on a page."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections import Counter
from functools import partial
from typing import Any
from xml.dom import minidom

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from assay.errors import ParameterError
from assay.plots.canvas import INK

PX = 96 / 72  # pixels of a page in a point
NUMBER = re.compile(r"-?\d+\.\d+")
FAMILY = re.compile(r"\s*font-family:[^;]*;?")
REFERENCE = re.compile(r"url\(#([^)]+)\)")
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")  # what no XML may hold, but a name of a column can
LONG = 1000  # letters of a path that is a curve and no mark: a tenth of a point is fine enough
INKS = (INK, "#000000")  # ours, and matplotlib's own


def svg(figure: Any, *, title: str, description: str, key: str = "") -> str:
    """The SVG of a figure, of axes or of an array of axes (then of their figure).

    `title` and `description` are what a screen reader says. Text stays text in the page's sans-serif, ink is the page's text
    colour, the background is clear. Ids are made of the content, so that figures share a page without clashes; give `key` to
    tell apart two figures that are equal to the last byte.
    """
    if not title.strip():
        raise ParameterError("title is empty: say in a few words what the figure shows.")
    tree = minidom.parseString(_drawn(_figure(figure)))
    root = tree.documentElement
    assert root is not None
    for tag in ("metadata", "style"):
        for node in root.getElementsByTagName(tag):
            node.parentNode.removeChild(node)  # type: ignore[union-attr]
    _tidy(root)
    text = "".join(node.toxml() for node in root.childNodes)
    name = "a" + hashlib.sha256(f"{key}\n{title}\n{description}\n{text}".encode()).hexdigest()[:8]
    _rename(root, name)
    _describe(tree, root, name, title, description)
    return root.toxml()


def _figure(shown: Any) -> Figure:
    if isinstance(shown, np.ndarray | list | tuple) and np.size(shown):
        shown = np.asarray(shown, dtype=object).ravel()[0]
    while isinstance(shown, Axes | SubFigure):
        shown = shown.figure
    if not isinstance(shown, Figure):
        raise ParameterError(f"svg takes a matplotlib Figure or Axes, got {type(shown).__name__}.")
    return shown


def _drawn(figure: Figure) -> bytes:
    target = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "assay", "svg.image_inline": True}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # the page's font draws the text
        figure.savefig(target, format="svg", transparent=True, metadata=nothing)
    return CONTROL.sub(b"", target.getvalue())


def _tidy(node: minidom.Element) -> None:
    """Short numbers, ink as the page's colour, no font lists, no groups without a purpose."""
    for child in list(node.childNodes):
        if not isinstance(child, minidom.Element):
            if not (isinstance(child, minidom.Text) and child.data.strip()):
                node.removeChild(child)
            continue
        _tidy(child)
        _shorten(child)
        if child.tagName in ("g", "defs") and not child.childNodes:
            node.removeChild(child)
    _share_style(node)


def _shorten(node: minidom.Element) -> None:
    for name in ("d", "x", "y", "width", "height", "points"):
        if node.hasAttribute(name):
            value = node.getAttribute(name)
            places = 1 if len(value) > LONG else 2
            node.setAttribute(name, " ".join(NUMBER.sub(partial(_rounded, places), value).split()))
    if node.hasAttribute("transform"):
        turned = re.sub(r"rotate\(-?0(\.0+)?( [^)]*)?\)", "", node.getAttribute("transform")).strip()
        node.setAttribute("transform", turned) if turned else node.removeAttribute("transform")
    if node.hasAttribute("xlink:href"):
        node.setAttribute("href", node.getAttribute("xlink:href"))
        node.removeAttribute("xlink:href")
    for name in ("style", "fill", "stroke"):
        if node.hasAttribute(name):
            value = FAMILY.sub("", node.getAttribute(name))
            for ink in INKS:
                value = value.replace(ink, "currentColor")
            node.setAttribute(name, value.strip("; "))


def _rounded(places: int, number: re.Match[str]) -> str:
    return f"{float(number[0]):.{places}f}".rstrip("0").rstrip(".")


def _share_style(node: minidom.Element) -> None:
    """Marks of one look say it once, in their group."""
    marks = [c for c in node.childNodes if isinstance(c, minidom.Element) and c.tagName == "use"]
    if node.tagName != "g" or len(marks) < 2 or len(marks) < len(node.childNodes) or node.hasAttribute("style"):
        return
    styles = {m.getAttribute("style") for m in marks}
    if len(styles) == 1:
        node.setAttribute("style", styles.pop())
        for mark in marks:
            mark.removeAttribute("style")


def _rename(root: minidom.Element, name: str) -> None:
    """Ids that are referred to become name-1, name-2, …; the others go."""
    nodes = root.getElementsByTagName("*")
    wanted = Counter[str]()
    for node in nodes:
        for value in node.attributes.values():  # type: ignore[union-attr]
            wanted.update(REFERENCE.findall(value.value))
        if node.getAttribute("href").startswith("#"):
            wanted[node.getAttribute("href")[1:]] += 1
    new = {old: f"{name}-{k}" for k, old in enumerate(wanted, 1)}
    for node in nodes:
        if node.hasAttribute("id"):
            old = node.getAttribute("id")
            node.setAttribute("id", new[old]) if old in new else node.removeAttribute("id")
        for attribute in ("style", "clip-path", "fill", "mask", "filter"):
            if node.hasAttribute(attribute):
                node.setAttribute(
                    attribute, REFERENCE.sub(lambda m: f"url(#{new[m[1]]})", node.getAttribute(attribute))
                )
        if node.getAttribute("href").startswith("#"):
            node.setAttribute("href", "#" + new[node.getAttribute("href")[1:]])


def _describe(tree: minidom.Document, root: minidom.Element, name: str, title: str, description: str) -> None:
    for tag, text in (("desc", description), ("title", title)):
        node = tree.createElement(tag)
        node.setAttribute("id", f"{name}-{tag}")
        node.appendChild(tree.createTextNode(CONTROL.sub(b"", text.encode()).decode()))
        root.insertBefore(node, root.firstChild)
    for attribute in ("version", "xmlns:xlink"):
        if root.hasAttribute(attribute):
            root.removeAttribute(attribute)
    for side in ("width", "height"):
        root.setAttribute(side, f"{float(root.getAttribute(side).removesuffix('pt')) * PX:.0f}")
    root.setAttribute("role", "img")
    root.setAttribute("aria-labelledby", f"{name}-title {name}-desc")
    root.setAttribute("fill", "currentColor")  # what matplotlib draws in black it leaves unsaid
    root.setAttribute("style", "font-family: sans-serif; stroke-linejoin: round; max-width: 100%; height: auto")
