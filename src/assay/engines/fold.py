"""`fold`: absorb every block, merge the states in a tree that depends on the order of the blocks alone.

The merge works like a binary counter: two neighbouring states that stand for equally many blocks are merged as soon as
both are there. An engine may hand several blocks to one task (`engine.group`, a power of two): such a group is a whole
subtree, so the tree, and with it every bit of the result, stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from assay.engines.rows import Block, Part

if TYPE_CHECKING:
    from assay.engines.engine import Engine

State = TypeVar("State")


def merge_in_order(states: Iterable[State], merge: Callable[[State, State], State]) -> State | None:
    """Merge states pairwise like a binary counter; None where there are none.

    >>> merge_in_order("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    counter: list[tuple[int, State]] = []
    for state in states:
        level = 0
        while counter and counter[-1][0] == level:
            state = merge(counter.pop()[1], state)
            level += 1
        counter.append((level, state))
    if not counter:
        return None
    total = counter.pop()[1]
    while counter:
        total = merge(counter.pop()[1], total)
    return total


def _absorb_group(
    absorb: Callable[[Block], State], merge: Callable[[State, State], State], group: tuple[Part, ...]
) -> State | None:
    return merge_in_order((absorb(part.load()) for part in group), merge)


def _groups(parts: Iterable[Part], size: int) -> Iterator[tuple[Part, ...]]:
    iterator = iter(parts)
    while group := tuple(islice(iterator, size)):
        yield group


def fold(
    engine: Engine,
    parts: Iterable[Part],
    absorb: Callable[[Block], State],
    merge: Callable[[State, State], State],
) -> State | None:
    """The merged state of all blocks; the same bits on every engine. `absorb` and `merge` must be picklable."""
    work = partial(_absorb_group, absorb, merge)
    states: Iterator[Any] = engine.map(work, _groups(parts, engine.group))
    return merge_in_order(states, merge)
