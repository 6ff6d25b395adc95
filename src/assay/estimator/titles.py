"""What a model is called among people: the title of its class, the words of its settings, and its amounts.

    Logistic regression, L1 (C=0.1)        Random forest (200 trees)        Support vector machine, RBF (C=10, gamma=0.1)

A hyper-parameter says how (`says` of its declaration): a mapping of values to words that follow the title, or a text with {} for an amount.
Of a mapping the word is always said; an amount where it was set, and of hyper-parameters that may be given by position always, since these
are what a model is known by. Of the others those that a search went through are said as name=value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.estimator.estimator import Estimator
from assay.estimator.params import Param


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
