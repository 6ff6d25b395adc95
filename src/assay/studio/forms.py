"""Forms of the models, read from their tables of hyper-parameters, and models made from what is filled in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay._version import __version__
from assay.datasets import CATALOGUE
from assay.errors import ParameterError, nearest
from assay.estimator.estimator import Estimator
from assay.estimator.params import Choice, Flag, Param, Range, check_names, check_params, defaults
from assay.families import REGISTRY, model_class
from assay.studio.requests import NameRequest

NOT_HERE = ("n_jobs",)
LARGEST = 1 << 62  # whole numbers beyond it are none for compiled loops


def forms() -> list[dict[str, Any]]:
    """The form of every model."""
    return [form(name) for name in REGISTRY]


def form(name: str) -> dict[str, Any]:
    """What the page needs to know to offer a model."""
    cls = model_class(name)
    usual = defaults(cls)
    return {
        "name": name,
        "title": cls.__name__,
        "kinds": kinds_of(cls),
        "about": about(cls),
        "word": getattr(cls, "step_word", "step"),
        "params": [field(key, param, usual[key]) for key, param in cls.params.items() if key not in NOT_HERE],
    }


def about(cls: type[Estimator]) -> str:
    """The first sentence of a model's own description.

    >>> about(model_class("baseline"))[-1]
    '.'
    """
    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."


def kinds_of(cls: type[Estimator]) -> list[str]:
    """What a model can be: a classifier, a regressor, or by its settings either."""
    found = {cls.kind_of({})}
    for key, param in cls.params.items():
        words = (*param.words, *(param.options if isinstance(param, Choice) else ()))
        found |= {cls.kind_of({key: word}) for word in words if isinstance(word, str)}
    return sorted(found)


def field(name: str, param: Param, usual: Any) -> dict[str, Any]:
    """One field of a form."""
    facts: dict[str, Any] = {
        "name": name,
        "kind": _kind(param),
        "default": plain(usual),
        "low": None,
        "high": None,
        "open_low": False,
        "open_high": False,
        "whole": False,
        "options": None,
        "words": [*param.words, *(["inf"] if _speaks_of_infinity(param) else [])],
        "doc": param.doc,
    }
    if isinstance(param, Range):
        ends = {"low": param.low, "high": param.high}
        facts |= {k: v if math.isfinite(v) else None for k, v in ends.items()}
        facts |= {"open_low": param.open_low, "open_high": param.open_high, "whole": param.kind is int}
    elif isinstance(param, Choice):
        facts["options"] = list(param.options)
    return facts


def _speaks_of_infinity(param: Param) -> bool:
    """Whether infinity means something of its own here, which a field for numbers cannot hold."""
    return isinstance(param, Range) and param.accepts(math.inf) and re.search(r"\binf\b", param.doc) is not None


def _kind(param: Param) -> str:
    for kind, word in ((Range, "range"), (Choice, "choice"), (Flag, "flag")):
        if isinstance(param, kind):
            return word
    return "free"


def plain(value: Any) -> Any:
    """A default as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, bool | int | float | str | list | dict) else str(value)


def made(name: str, given: Mapping[str, Any]) -> Estimator:
    """The model of a name with what was filled in, checked."""
    cls = model_class(name)
    check_names(cls, given)
    for key in given:
        if key in NOT_HERE:
            raise ParameterError(f"{key!r} is not set here.")
    for key, value in given.items():
        if isinstance(value, int) and abs(value) > LARGEST:
            raise ParameterError(
                f"{cls.__name__}: {key}={float(value):.3g} is larger than a computer counts: take a smaller one."
            )
    model = cls(**{key: _value(cls.params[key], value) for key, value in given.items()})
    check_params(model)
    return model


def _value(param: Param, value: Any) -> Any:
    """A value of JSON as the table takes it: 5.0 is the whole number 5, text of a field is parsed."""
    if isinstance(value, float) and isinstance(param, Range) and param.kind is int and value.is_integer():
        value = int(value)
    if isinstance(value, list):
        value = tuple(value) if not param.accepts(value) else value
    return param.parse(value) if isinstance(value, str) and not param.accepts(value) else value


# --- what the page can offer: models with their forms, datasets, presets ------------------------------------------------


Message = dict[str, Any]
Presets = Mapping[str, Callable[[], Message]]


def presets() -> Presets:
    """The presets by their ids; they come with the page."""
    from assay.studio.presets import PRESETS

    found: Presets = PRESETS
    return found


def about_everything(_request: None, _place: Any, _files: Any) -> Iterator[Message]:
    """All of it, but for what the server itself knows."""
    shown = ("id", "group", "title", "look")
    yield {
        "version": __version__,
        "models": forms(),
        "datasets": [
            {"name": name, "title": name.replace("-", " ").capitalize(), "about": text}
            for name, (_, text) in CATALOGUE.items()
        ],
        "presets": [{key: made()[key] for key in shown} for made in presets().values()],
    }


def preset(request: NameRequest, _place: Any, _files: Any) -> Iterator[Message]:
    """One preset, with its points."""
    known = presets()
    if request.name not in known:
        raise ParameterError(f"There is no preset {request.name!r}. {nearest(request.name, known)}")
    yield known[request.name]()
