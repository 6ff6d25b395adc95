"""Fits that nobody asks for a certificate: those of a search and of folds answer some rows and are gone.

Such a fit makes its claims when somebody asks for them all the same. What it would measure for them alone, and cannot measure later without the
rows, is left out, and so are the claims that rest on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_unclaimed: ContextVar[bool] = ContextVar("unclaimed", default=False)


@contextmanager
def unclaimed() -> Iterator[None]:
    """Within, fits of this thread leave out what only their claims need.

    >>> with unclaimed():
    ...     claims_are_wanted()
    False
    """
    before = _unclaimed.set(True)
    try:
        yield
    finally:
        _unclaimed.reset(before)


def claims_are_wanted() -> bool:
    """Whether somebody may ask for the certificate of a fit that is made now."""
    return not _unclaimed.get()
