"""Docstrings as people know them: the sections Parameters and Attributes, written from what a class declares.

They are put before the first section that is written by hand (Certificate, See Also, Examples), when somebody first asks.
"""

from __future__ import annotations

import inspect
import re
from textwrap import fill, indent
from typing import Any

from assay.estimator.layout import Fact, Tensor
from assay.estimator.params import Flag, Param

CERTIFICATE = r"^Certificate\n-{3,}\n.*?(?=^\w[\w ]*\n-{3,}$|\Z)"  # up to the next section
WIDTH = 100
SIZES = {"d": "n_features", "K": "n_classes", "n": "n_rows"}  # letters of the layout that have names people know
ARRAYS = {
    "Floats": "ndarray",
    "Array": "ndarray",
    "Floats | None": "ndarray or None",
    "Array | None": "ndarray or None",
}


class LazyDoc:
    """The docstring of a class, completed when it is first read."""

    def __init__(self, written: str) -> None:
        self.written = written  # as it stands in the file
        self._whole: str | None = None

    def __get__(self, instance: Any, owner: type) -> str:
        if self._whole is None:
            self._whole = _complete(owner, inspect.cleandoc(self.written))
        return self._whole


def _complete(cls: Any, written: str) -> str:
    parts = [_section("Parameters", _parameters(cls)), _section("Attributes", _attributes(cls))]
    made = "".join(part + "\n\n" for part in parts if part)
    first = re.search(r"^\w[\w ]*\n-{3,}$", written, re.MULTILINE)
    at = len(written) if first is None else first.start()
    return f"{written[:at].rstrip()}\n\n{made}{_with_coverage(cls, written[at:])}".rstrip() + "\n"


def _with_coverage(cls: Any, sections: str) -> str:
    """The sections with what is covered at the end of Certificate."""
    section = re.search(CERTIFICATE, sections, re.MULTILINE | re.DOTALL)
    covers = cls.coverage.declared(cls.layout) if hasattr(cls, "coverage") else None
    if covers is None or section is None:
        return sections
    lines = [fill(f"- {line}", WIDTH, subsequent_indent="  ") for line in covers.lines()]
    told = "\n".join(["Learnt numbers are tied to the rows", "", *lines])
    before, after = sections[: section.end()].rstrip(), sections[section.end() :]
    return f"{before}\n\n{told}\n\n{after}"


def _section(title: str, entries: list[tuple[str, str]]) -> str:
    lines = [f"{head}\n{indent(fill(text, WIDTH), '    ')}" for head, text in entries]
    return "\n".join([title, "-" * len(title), *lines]) if lines else ""


def _parameters(cls: Any) -> list[tuple[str, str]]:
    return [(f"{name} : {_type(cls, name)}, default={p.default!r}", _meaning(p)) for name, p in cls.params.items()]


def _meaning(p: Param) -> str:
    return _sentence(p.doc) if isinstance(p, Flag) and not p.words else f"{_sentence(p.doc)} Possible: {p.describe()}."


def _attributes(cls: Any) -> list[tuple[str, str]]:
    return [(f"{name} : {kind}", _sentence(doc)) for name, (kind, doc) in documented(cls).items()]


def documented(cls: Any) -> dict[str, tuple[str, str]]:
    """The public learnt attributes of a model class: (type, what it is) of each."""
    found = {name: (_type(cls, name), doc) for name, doc in cls.attributes.items()}
    for name, part in getattr(cls, "layout", {}).items():
        if name.endswith("_") and not name.startswith("_") and "." not in name:
            found[name] = (_shape(part), part.doc)
    for name, made in ((k, v) for base in reversed(cls.__mro__) for k, v in vars(base).items()):
        if isinstance(made, property) and name.endswith("_") and not name.startswith("_"):
            kind = str(inspect.get_annotations(made.fget).get("return", "object"))  # type: ignore[arg-type]
            found[name] = (_plain(kind), " ".join((made.__doc__ or "").split("\n\n")[0].split()))
    return found


def _shape(part: Tensor | Fact) -> str:
    if isinstance(part, Fact):
        return f"list of {part.kind.__name__}" if part.many else part.kind.__name__
    sizes = ", ".join(SIZES.get(str(dim), str(dim)) for dim in part.dims)
    return f"ndarray of shape ({sizes}{',' if len(part.dims) == 1 else ''})"


def _type(cls: type, name: str) -> str:
    return _plain(next(str(a[name]) for base in cls.__mro__ if name in (a := inspect.get_annotations(base))))


def _plain(annotation: str) -> str:
    for ours, theirs in (("Floats", "ndarray"), ("Array", "ndarray"), (" | ", " or "), ("Any", "object")):
        annotation = annotation.replace(ours, theirs)
    return annotation


def _sentence(text: str) -> str:
    return text if not text else text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
