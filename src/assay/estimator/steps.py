"""A state that an algorithm passes through, how far its certificate has filled there, and which of many states are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

from assay.errors import DataError, ParameterError

if TYPE_CHECKING:
    from assay.estimator.estimator import Estimator


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
    state: Callable[[], Estimator | None] | None = field(default=None, repr=False, compare=False)


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


# A fitted model out of a state under way: no refit, and no copy of the rows.

Learnt = Mapping[str, Any]


def answering(model: Estimator, learnt: Learnt | Callable[[], Learnt | None]) -> Callable[[], Estimator | None]:
    """What makes the model that answers with `learnt` (a function: worked out when it is asked for; None: no answer yet).

    `model` knows the columns and classes; it may learn on, as it is copied at once, but arrays in `learnt` must stay as they are.
    """
    return answering_like(copy(model), learnt)


def answering_like(model: Estimator, learnt: Learnt | Callable[[], Learnt | None]) -> Callable[[], Estimator | None]:
    """As `answering`, of a model that stays as it is."""
    return partial(_settled, model, learnt)


def nothing_yet() -> None:
    """The state of a step that cannot answer."""


def _settled(model: Estimator, learnt: Learnt | Callable[[], Learnt | None]) -> Estimator | None:
    found = learnt() if callable(learnt) else learnt
    if found is None:
        return None
    fitted = copy(model)
    vars(fitted).update(found)
    fitted._fitted_with = fitted.get_params()
    fitted._claims, fitted._under_way = (), True
    return fitted


def model_at(model: Estimator, step: Any) -> Any:
    """The fitted model of a step of `model.steps`; None where nothing could be answered yet."""
    if not isinstance(step, Step) or step.state is None:
        raise DataError("at(step) takes a step of this model's steps(X, y), as it came from there.")
    found = step.state()
    if found is not None and type(found) is not type(model):
        raise DataError(
            f"The step is of a {type(found).__name__}, and this is a {type(model).__name__}: ask the model that made it."
        )
    return found
