"""A state that an algorithm passes through, how far its certificate has filled there, and which of many states are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

from assay.errors import ParameterError

if TYPE_CHECKING:
    from assay.learner.learner import Learner


@dataclass(frozen=True)
class Measure:
    """A number that tells how far an algorithm has come; `of` is the bound or goal that the certificate sets it."""

    name: str
    value: float
    of: float | None = None
    text: str = ""  # the same in words
    scale: str = "linear"  # or "log"
    better: str | None = "down"  # or "up"; None: neither


@dataclass(frozen=True)
class Step:
    """A state that an algorithm passed through: its number, the rows seen so far, what it had learnt, and how far that was.

    `model.at(step)` is the model that answers as the algorithm would have here; `state` makes it.
    """

    number: int
    rows: int
    values: Mapping[str, Any]
    measures: tuple[Measure, ...] = ()
    state: Callable[[], Learner | None] | None = field(default=None, repr=False, compare=False)


def checked(every: int | None) -> int | None:
    """`every` as it is, where it is possible: None, or a whole number from 1 on."""
    if every is not None and (isinstance(every, bool) or not isinstance(every, Integral) or every < 1):
        raise ParameterError(f"every={every!r} is not possible: it must be a whole number of at least 1, or None.")
    return every


def some_of(steps: Iterator[Step], every: int | None) -> Iterator[Step]:
    """Every `every`-th step (None: each), and the last."""
    return steps if checked(every) is None else _thinned(steps, int(every or 1))


def _thinned(steps: Iterator[Step], every: int) -> Iterator[Step]:
    held = None
    for step in steps:
        held = step
        if step.number % every == 0:
            yield step
            held = None
    if held is not None:
        yield held


def shown_of(steps: int, every: int | None) -> int:
    """How many of so many steps `some_of` leaves.

    >>> shown_of(10, None), shown_of(10, 3), shown_of(9, 3)
    (10, 4, 3)
    """
    return -(-steps // (checked(every) or 1))


def measures(*found: Measure | None) -> tuple[Measure, ...]:
    """Those that are there and finite."""
    return tuple(m for m in found if m is not None and abs(m.value) < float("inf"))
