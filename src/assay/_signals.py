"""Ctrl-C and SIGTERM of the command `assay`: exit code 130 or 143 from its first line to its last, and never a traceback.

- While the command starts there is nothing to tidy up: the process ends at once (`at_start`).
- While it works the signal becomes an exception, so that temporary files go and what is finished is shown (`at_work`). Within an import it
  waits until that is done, since packages half imported fail in ways of their own; and where it was raised in a finaliser, which
  swallows exceptions, it is raised again.
- While the interpreter ends, the process ends at once again (`at_end`).

Nothing is imported that Python has not loaded already: `signal` itself takes milliseconds in which Ctrl-C would still be Python's own.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

SIGINT, SIGTERM = int(_signal.SIGINT), int(_signal.SIGTERM)
SOON = 0.005  # seconds until a signal that cannot be raised now is tried again
GOODBYE = b"assay: interrupted; nothing was left half-written.\n"
IMPORTING = "<frozen importlib._bootstrap>"

received = 0  # the first signal that was handled here


class Interrupted(KeyboardInterrupt):
    """Ctrl-C. Were it a plain KeyboardInterrupt, one that passes through an `exec` would let the interpreter end by signal."""


class Terminated(SystemExit):
    """SIGTERM: an exit like any other."""


def at_start() -> None:
    """End at once, from now on."""
    _handle(_end_with_words)


def at_work() -> None:
    """Raise, from now on."""
    if os.environ.get("ASSAY_DEBUG", "") in ("", "0"):
        sys.unraisablehook = _swallowed
    if hasattr(_signal, "SIGALRM"):
        _signal.signal(_signal.SIGALRM, _again)
    _handle(_raise)


def at_end() -> None:
    """End at once, without a word: all has been said."""
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    _handle(_end)


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    """Handle both signals so, unless a parent has them ignored."""
    for number in (SIGINT, SIGTERM):
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None, leave: Callable[[int], Any] = os._exit) -> None:
    leave(128 + number)


def _end_with_words(number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, GOODBYE)
    finally:
        os._exit(128 + number)


def _raise(number: int, frame: FrameType | None) -> None:
    global received
    received = received or number
    if _importing(frame) and hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, SOON)
    elif received == SIGTERM:
        raise Terminated(128 + SIGTERM)
    else:
        raise Interrupted


def _again(_number: int, _frame: FrameType | None) -> None:
    """Send the signal once more, to whoever handles it by now."""
    _signal.raise_signal(received)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != IMPORTING:
        frame = frame.f_back
    return frame is not None


def _swallowed(unraisable: Any) -> None:
    """What could not be raised where it came up: an interrupt is tried again, anything else is not worth a word to users."""
    if isinstance(unraisable.exc_value, (Interrupted, Terminated)) and hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_REAL, SOON)
