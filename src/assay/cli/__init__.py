"""The command line `assay`. It parses, calls and shows; no numerics here."""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import NoReturn


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. Were it a plain KeyboardInterrupt, one that passes through an `exec` would let the interpreter end by signal."""


def main() -> NoReturn:
    """The entry point `assay`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a parent has it ignored
        signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit like any other: temporary files are removed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without arrows gets question marks, not a crash
    if os.environ.get("ASSAY_DEBUG", "") in ("", "0"):  # what an interrupt caught half-made complains as it vanishes
        sys.unraisablehook = lambda _: None
    from assay.cli.app import run

    sys.exit(run(sys.argv[1:]))


def _interrupt(*_: object) -> NoReturn:
    raise Interrupted
