"""How to get the same numbers again: command, call, seed, versions, fingerprint of the rows."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from assay.report.markup import Html, el, facts, folded, items, join, paragraphs, section
from assay.report.wording import place, plain
from assay.select.comparison import Comparison

SHELL = {  # how `assay compare` calls what `assay.compare` is given
    "target": "target",
    "task": "task",
    "loss": "loss",
    "resampling": "resampling",
    "folds": "folds",
    "repeats": "repeats",
    "share": "holdout",
    "seed": "seed",
    "weight": "weight",
    "group": "group",
    "time": "time",
    "models": "models",
    "without": "without",
    "features": "features",
    "categories": "categories",
}
LINE = 90  # letters of a command that stays on one line
NOT_ASKED = ("data", "command")
USED_BY = {
    "holdout": ("share",),
    "k-fold": ("folds",),
    "repeated": ("folds", "repeats"),
    "bootstrap": ("repeats",),
    "time": ("folds",),
}
WORDS = {
    "assay": "Assay",
    "python": "Python",
    "numpy": "NumPy",
    "fingerprint": "fingerprint of the rows",
    "seconds": "seconds taken",
}


def reproduce_section(found: Comparison) -> Html | None:
    """Everything that decides the numbers."""
    asked = _told(found.question)
    saved = "judged_on" in found.question  # a model that was saved, not a comparison
    shell = found.question.get("command") or (None if saved else _command(place(found.where), asked))
    call = _judging(place(found.where)) if saved else _call(place(found.where), asked)
    told = {key: value for key, value in found.provenance.items() if key != "notes" and value not in (None, "", [], {})}
    pairs = [(WORDS.get(key, key), _shown(value)) for key, value in told.items()]
    notes = found.provenance.get("notes") or []
    return section(
        "How to reproduce",
        join(el("h3", "In the shell"), el("pre", el("code", shell))) if shell else None,
        el("h3", "In Python"),
        el("pre", el("code", call)),
        paragraphs("The same rows, seed and version give the same numbers to the last bit, on any number of threads."),
        facts(pairs if saved else [("seed", plain(found.question.get("seed", found.resampling.seed))), *pairs]),
        folded("Notes on how the table was read", items(str(n) for n in notes)) if notes else None,
        id_="reproduce",
    )


def _told(question: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked, without what the way of splitting does not look at."""
    kind = str(question.get("resampling", ""))
    idle = {"folds", "repeats", "share"} - set(USED_BY.get(kind, ()))
    return {k: v for k, v in question.items() if k not in NOT_ASKED and k not in idle}


def _command(where: str, asked: Mapping[str, Any]) -> str | None:
    """The command line; None where the table is no file or database that a shell could name."""
    if not _named(where) or asked.get("resampling") == "given":
        return None
    words = [shlex.quote(where)]
    for key, value in asked.items():
        if key in SHELL:
            words.append(_option(SHELL[key], ",".join(map(str, value)) if isinstance(value, list | tuple) else value))
        elif key == "params":
            words += [_option("param", f"{model}.{k}={v}") for model, own in value.items() for k, v in own.items()]
        elif key == "kinds":
            words += [_option("kind", f"{column}={kind}") for column, kind in value.items()]
        else:
            words.append(_option(key.replace("_", "-"), value))
    line = "assay compare " + " ".join(words)
    return line if len(line) <= LINE else "assay compare " + " \\\n    ".join(words)


def _option(name: str, value: Any) -> str:
    return f"--{name} {shlex.quote(str(value))}"


def _named(where: str) -> bool:
    """Whether a table can be opened by what it is called."""
    return "://" in where or os.path.exists(where)


def _call(where: str, asked: Mapping[str, Any]) -> str:
    table = repr(where) if _named(where) else "data"
    named = "".join(f",\n    {key}={value!r}" for key, value in asked.items())
    note = "" if _named(where) else f"  # {' '.join(where.split())}"
    first = f"    {table},{note}" if named else f"    {table}{note}"
    rest = named.removeprefix(",")
    return f"import assay\n\nfound = assay.compare(\n{first}{rest},\n)\nprint(found)\nfound.report('report.html')"


def _judging(where: str) -> str:
    table = repr(where) if _named(where) else "data"
    return (
        "import assay\nfrom assay.select.of_model import comparison_of\n\nmodel = assay.load('MODEL')  # the file of the model\n"
        f"found = comparison_of(model, {table})\nprint(found)\nfound.report('report.html')"
    )


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
