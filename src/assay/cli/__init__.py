"""The command line `assay`. It parses, calls and shows; no numerics here."""

from __future__ import annotations

import sys
from typing import NoReturn

from assay import _signals


def main() -> NoReturn:
    """The entry point `assay`."""
    _signals.at_start()
    import io

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without arrows gets question marks, not a crash
    from assay.cli.app import run

    _signals.at_work()
    try:
        code = run(sys.argv[1:])
    except BaseException:
        if not _signals.received:
            raise
        code = 0
    finally:
        _signals.at_end()
    sys.exit(code or (_signals.received and 128 + _signals.received))  # it may have come too late to stop anything
