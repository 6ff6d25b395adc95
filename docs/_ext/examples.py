"""The examples of the pages run: `>>>` in blocks called pycon as Python, `$ assay …` in blocks called console as commands.

What is printed must be what stands there, with `…` for any text. The build runs them, and so does `tests/docs/test_examples.py`.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
doctest.ELLIPSIS_MARKER = "\\u2026"  # the pages say it with one sign, …, which doctest spells out in ASCII


def blocks_of(text: str) -> Iterator[tuple[str, int, str]]:
    """(language, line, code) of every block that runs."""
    for found in FENCE.finditer(text):
        yield found[1], text.count("\n", 0, found.start()) + 2, found[2]


def failures(page: Path) -> list[str]:
    """What does not hold of a page's examples; they share their names, and a folder of their own to write into."""
    told: list[str] = []
    names: dict[str, Any] = {}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for language, line, code in blocks_of(page.read_text(encoding="utf-8")):
                run = _python if language == "pycon" else _commands
                told += run(code, names, page.name, line)
        finally:
            os.chdir(before)
    return told


def _python(code: str, names: dict[str, Any], page: str, line: int) -> list[str]:
    test = doctest.DocTestParser().get_doctest(code, names, page, page, line)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    return ["".join(said)] if said else []


def _commands(code: str, names: dict[str, Any], page: str, line: int) -> list[str]:
    told = []
    for command, due in commands_of(code):
        status, got = _output(command)
        if status:
            told.append(f"{page}, line {line}: $ {command}\nended with exit code {status}: {got}")
        elif not doctest.OutputChecker().check_output(due or "…\n", got, FLAGS) and due:
            told.append(f"{page}, line {line}: $ {command}\nexpected:\n{due}\ngot:\n{got}")
    return told


def commands_of(code: str) -> Iterator[tuple[str, str]]:
    """(command, what it prints) of a block; a command without output is run, and anything may come."""
    for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, due = part.partition("\n")
        yield command.split("  #")[0].strip(), due


def _output(command: str) -> tuple[int, str]:
    """Exit code and standard output (after a failure: error) of an assay command, run here; a command that waits for people is only read."""
    from assay.cli.app import assay as verbs
    from assay.cli.app import run

    words = shlex.split(command)
    assert words[0] == "assay", f"a console block runs assay, not {words[0]!r}"
    if words[1] in ("studio", "serve", "docs"):
        context = verbs.make_context("assay", words[1:], resilient_parsing=False)
        verb = verbs.get_command(context, words[1])
        assert verb is not None, f"there is no command {words[1]!r}"
        verb.make_context(words[1], words[2:])  # refuses options that are not there
        return 0, ""
    said, noted = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(noted):
        status = run(words[1:])
    return status, noted.getvalue() if status else said.getvalue()


def _at_build(app: Any) -> None:
    from sphinx.util import logging

    logger = logging.getLogger(__name__)
    for name in sorted(app.env.found_docs):
        page = Path(app.env.doc2path(name))
        if page.suffix == ".md" and "made" not in page.parts:
            for told in failures(page):
                logger.warning("%s", told, location=name)


def setup(app: Any) -> dict[str, Any]:
    app.connect("env-updated", lambda app, env: _at_build(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
