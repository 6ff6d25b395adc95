"""How a hypothesis class takes part in a comparison. The class says so itself: there is no list of models elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Categories = Literal["one-hot", "reference", "native", "codes"]
MOST_PAIRED = 100  # classes that are set against each other: 4950 problems


@dataclass(frozen=True)
class TableTraits:
    """What the columns of a table are, as far as it decides which models can use them."""

    rows: int
    classes: int  # 0: the target is a number
    only_categories: bool  # every column is a category or true/false
    never_negative: bool  # no number below zero, no dates
    text: bool  # some column is running text, which becomes many sparse columns, or a few dense ones
    spread: float = 1.0  # the standard deviation of a target that is a number
    columns: int = 1  # numbers that a row becomes, about


@dataclass(frozen=True)
class SearchSpace:
    """What a class wants of the encoding, and which of its hyper-parameters a search goes through.

    `search` lists settings from the simplest hypothesis to the most complex: Occam's rule and warm starts follow that order.
    `categories`: "one-hot" (a column a category), "reference" (all but the most frequent one: no column is the sum of others),
    "native" (the model takes categories itself), "codes" (0, 1, 2, … in one column).
    `scaled`: the mathematics depends on units, so numbers are brought to mean 0 and deviation 1.
    `dense`: text is to become a few dense columns, though the class takes sparse ones.
    `unfit` says why the class cannot use the table at hand.
    `when_named`: the class adds nothing to those that are there anyway, and takes part only where somebody names it.
    `cost`: how long a setting takes, a linear model's being 1; about, and on usual tables, so that the longest are begun first.
    """

    search: tuple[Mapping[str, Any], ...] = ({},)
    categories: Categories = "one-hot"
    scaled: bool = False
    rough: Mapping[str, Any] = field(
        default_factory=dict
    )  # what is changed while settings are only compared, to save time
    unfit: str | None = None
    dense: bool = False
    when_named: bool = False
    cost: float = 1.0


def paired(classes: int) -> str | None:
    """Why so many classes are not set against each other; None where they may be.

    >>> paired(1000)
    'each of 1000 classes against each other are 499500 problems'
    """
    many = f"each of {classes} classes against each other are {classes * (classes - 1) // 2} problems"
    return many if classes > MOST_PAIRED else None
