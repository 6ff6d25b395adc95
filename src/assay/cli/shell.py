"""What a verb says, and where: results on standard output as text or JSON, notes on standard error."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import click

LONG = 10.0  # seconds between notes where there is no terminal


@dataclass(frozen=True)
class Shell:
    """How one run of a verb talks."""

    verb: str
    as_json: bool
    quiet: bool
    json_lines: bool = False  # the result is the last of several lines of JSON

    def note(self, message: str) -> None:
        """Something worth knowing that is no result."""
        if not self.quiet:
            _say(message, "dim")

    @contextmanager
    def warnings_noted(self) -> Iterator[None]:
        """Within, warnings become notes."""
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            for meant_for_developers in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning, ImportWarning):
                warnings.simplefilter("ignore", meant_for_developers)
            warnings.showwarning = lambda message, *_, **__: self.note(f"warning: {message}")
            yield

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Within, a terminal shows what is going on, and what the function that is given says of it; warnings become notes."""
        with self.warnings_noted():
            if self.quiet or not sys.stderr.isatty():
                yield self._now_and_then(what)
                return
            from rich.console import Console

            with Console(stderr=True).status(what) as status:
                yield lambda line: status.update(f"{what}: {line}")

    def _now_and_then(self, what: str) -> Callable[[str], None]:
        """Notes of something long, one in LONG seconds."""
        last = time.monotonic()

        def say(line: str) -> None:
            nonlocal last
            if time.monotonic() - last >= LONG:
                last = time.monotonic()
                self.note(f"{what}: {line}")

        return say

    def result(self, data: dict[str, Any], text: str) -> None:
        """The outcome, as JSON with its schema or as text for people."""
        if self.as_json:
            document = {"schema": f"assay.{self.verb}/1", **data}
            show(json.dumps(document, default=plain, ensure_ascii=False))
        else:
            show(text)


def show(text: str) -> None:
    """A result on standard output. Where nobody reads on (`assay schema … | head`) the rest is for nobody, and no failure: what a verb has
    still to write into files is written."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        nobody_reads()


def nobody_reads() -> None:
    """From here on standard output goes nowhere; else the interpreter complains of what it could not write when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays, and paths, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def complain(message: str) -> None:
    """An error on standard error: red where that is a terminal that takes colours. Passwords of addresses are not repeated."""
    from assay.tables.sources.databases import masked

    _say(f"assay: {masked(message)}", "bold red")


def _say(message: str, style: str) -> None:
    if not sys.stderr.isatty():
        with suppress(BrokenPipeError):  # nobody reads what is said beside
            print(message, file=sys.stderr)
        return
    from rich.console import Console

    Console(stderr=True, highlight=False).print(message, style=style, markup=False)  # honours NO_COLOR


def command_line(context: click.Context) -> str:
    """The command line as it was typed, so that a report can say how to get it again; a password in an address is not repeated."""
    from assay.tables.sources.databases import masked

    words = context.find_root().obj or []
    return "assay " + " ".join(shlex.quote(masked(word)) for word in words)
