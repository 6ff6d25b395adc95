"""Which of many steps are shown, decided as they come: the first, the last, and no more than asked for."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import TypeVar

Item = TypeVar("Item")
STAGES = 8  # strides double after each
LONG = 0.05  # seconds


def thinned(steps: Iterator[Item], most: int, total: int | None) -> Iterator[Item | None]:
    """At most so many steps: evenly, where it is known how many there are (at most), else half of them one by one and the
    others with ever longer strides. Where steps go by unshown for long, None says that it goes on.

    >>> list(thinned(iter(range(10)), 4, 10)), list(thinned(iter(range(300)), 8, None))
    ([0, 4, 8, 9], [0, 1, 2, 4, 8, 16, 32, 299])
    """
    wanted = _doubling(most - 1) if total is None else _even(most, total)
    following, held, told = next(wanted, None), None, monotonic()
    for number, step in enumerate(steps):
        held = step
        if number == following:
            following, held = next(wanted, None), None
            yield step
        elif monotonic() > told + LONG:
            told = monotonic()
            yield None
    if held is not None:
        yield held


def _even(most: int, total: int) -> Iterator[int]:
    stride = 1 if total <= most else -(-total // max(1, most - 1))
    return iter(range(0, total, stride))


def _doubling(most: int) -> Iterator[int]:
    first = most // 2
    at, stride, stage = 0, 1, max(1, (most - first) // STAGES)
    for shown in range(1, most + 1):
        yield at
        if shown >= first and (shown - first) % stage == 0:
            stride *= 2
        at += stride
