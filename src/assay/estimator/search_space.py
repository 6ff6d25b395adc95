"""How a hypothesis class takes part in a comparison, and what it is called there. The class says so itself: there is no list of models elsewhere.

    Logistic regression, L1 (C=0.1)        Random forest (200 trees)        Support vector machine, RBF (C=10, gamma=0.1)

A hyper-parameter says how (`says` of its declaration): a mapping of values to words that follow the title, or a text with {} for an amount.
Of a mapping the word is always said; an amount where it was set, and of hyper-parameters that may be given by position always, since these
are what a model is known by. Of the others those that a search went through are said as name=value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from assay.estimator.params import Param

if TYPE_CHECKING:
    from assay.estimator.estimator import Estimator

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


def title_of(cls: type[Estimator], setting: Mapping[str, Any]) -> str:
    """The title with the words of the settings.

    >>> from assay.families import model_class
    >>> title_of(model_class("svc"), {"C": 10.0}), title_of(model_class("erm"), {"loss": "log", "penalty": "l1"})
    ('Support vector machine, RBF', 'Logistic regression, L1')
    """
    values = {**{name: p.default for name, p in cls.params.items()}, **setting}
    words = [p.says[values[name]] for name, p in cls.params.items() if _has_word(p, values[name])]
    return ", ".join([cls.titled(values), *words])


def _has_word(param: Param, value: Any) -> bool:
    return isinstance(param.says, Mapping) and isinstance(value, str) and value in param.says


def amounts_of(cls: type[Estimator], setting: Mapping[str, Any], searched: Iterable[str]) -> list[str]:
    """The amounts of the settings, in the order of the hyper-parameters; `searched`: those that a search went through.

    >>> from assay.families import model_class
    >>> amounts_of(model_class("random-forest"), {"min_samples_leaf": 5}, ["min_samples_leaf"])
    ['100 trees', 'leaves of 5+ rows']
    """
    values = {
        **{name: p.default for name, p in cls.params.items() if isinstance(p.says, str) and not p.kw_only},
        **setting,
    }
    said = {name for name in values if isinstance(cls.params[name].says, str)} | (set(searched) & set(setting))
    found = [_amount(name, cls.params[name], values[name]) for name in cls.params if name in said]
    return [words for words in found if words]


def _amount(name: str, param: Param, value: Any) -> str:
    if isinstance(param.says, Mapping) or value is None or isinstance(value, bool):
        return ""
    if isinstance(param.says, str):
        return "" if isinstance(value, str) else param.says.format(_number(value))
    return "" if isinstance(value, str) else f"{name}={_number(value)}"


def _number(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "+".join(map(_number, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
