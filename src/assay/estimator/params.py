"""Hyper-parameters: each is one line of its model's class; constructor, validation, CLI flags, forms and documentation read it.

C: float = param("one over the strength of the penalty; inf: none", default=1.0, check=Range(low=0, open_low=True))
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from assay.errors import ParameterError, nearest


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond all floats
        return math.inf if value > 0 else -math.inf


@dataclass(frozen=True, kw_only=True)
class Param:
    """What all kinds of hyper-parameter share. `words` are strings (or None) allowed besides the plain values."""

    doc: str = ""
    words: tuple[Any, ...] = ()
    default: Any = None
    kw_only: bool = True
    says: Any = None  # how people say a value: {value: word}, or a text with {} (estimator/titles.py)

    def accepts(self, value: Any) -> bool:
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """The value that a command-line word stands for."""
        return self._word(text, text)

    def _word(self, text: str, otherwise: Any) -> Any:
        if None in self.words and text.lower() == "none":
            return None
        return text if text in self.words else otherwise

    def _allowed(self, plain: str) -> str:
        return " or ".join([plain, *(repr(w) for w in self.words)])


@dataclass(frozen=True)
class Range(Param):
    """A number between `low` and `high`; `open_low`/`open_high` exclude the ends."""

    kind: type = float
    _: KW_ONLY
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) or value is None:
            return value in self.words
        wanted = numbers.Integral if self.kind is int else numbers.Real
        if isinstance(value, bool) or not isinstance(value, wanted):
            return False
        v = _as_float(value)
        above = v > self.low if self.open_low else v >= self.low
        below = v < self.high if self.open_high else v <= self.high
        return above and below

    def describe(self) -> str:
        left, right = "(["[not self.open_low], ")]"[not self.open_high]
        what = "a whole number" if self.kind is int else "a number"
        if self.low == -math.inf and self.high == math.inf:
            return self._allowed(what)
        return self._allowed(f"{what} in {left}{self.low:g}, {self.high:g}{right}")

    def parse(self, text: str) -> Any:
        word = self._word(text, self)
        if word is not self:
            return word
        try:
            return int(text) if self.kind is int else float(text)
        except ValueError:
            return text


@dataclass(frozen=True)
class Choice(Param):
    """One of a few words."""

    options: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return value in self.words if value is None else isinstance(value, str) and value in self.options + self.words

    def describe(self) -> str:
        return self._allowed("one of " + ", ".join(repr(o) for o in self.options))


@dataclass(frozen=True)
class ChoiceOrFunction(Choice):
    """One of a few words, or a function; `function` says in words what it takes and gives."""

    function: str

    def accepts(self, value: Any) -> bool:
        return callable(value) or super().accepts(value)

    def describe(self) -> str:
        return f"{super().describe()} or {self.function}"


@dataclass(frozen=True, kw_only=True)
class Flag(Param):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) or value is None:
            return value in self.words
        return isinstance(value, bool | np.bool_ | numbers.Integral) and value in (0, 1)

    def describe(self) -> str:
        return self._allowed("True or False")

    def parse(self, text: str) -> Any:
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return self._word(text, known.get(text.lower(), text))


@dataclass(frozen=True)
class Free(Param):
    """Anything that `check` accepts, such as an array of priors; `what` says in words what that is."""

    what: str
    check: Callable[[Any], bool] = field(default=lambda value: True)

    def accepts(self, value: Any) -> bool:
        if value is None or isinstance(value, str):
            return value in self.words
        return bool(self.check(value))

    def describe(self) -> str:
        return self._allowed(self.what)

    def parse(self, text: str) -> Any:
        import msgspec

        word = self._word(text, self)
        if word is not self:
            return word
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text


@dataclass(frozen=True)
class Penalties(Range):
    """A number as of `Range`, or an array of such: one for each target."""

    def accepts(self, value: Any) -> bool:
        if isinstance(value, list | tuple | np.ndarray):
            return np.ndim(value) == 1 and len(value) > 0 and all(super(Penalties, self).accepts(v) for v in value)
        return super().accepts(value)

    def describe(self) -> str:
        return f"{super().describe()}, or one for each target"


@dataclass(frozen=True, kw_only=True)
class Seed(Param):
    """What random numbers begin with: a whole number, or a NumPy `RandomState` or `Generator`, of which each fit draws one (`drawn_seed`)."""

    high: int = 1 << 64

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) or value is None:
            return value in self.words
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            return 0 <= int(value) < self.high
        return isinstance(value, np.random.RandomState | np.random.Generator)

    def describe(self) -> str:
        return self._allowed("a whole number ≥ 0 or a NumPy RandomState or Generator")

    def parse(self, text: str) -> Any:
        word = self._word(text, self)
        return word if word is not self else int(text) if text.isdecimal() else text


def drawn_seed(value: Any) -> Any:
    """The seed that a fit uses: drawn from a stream of random numbers where one is given, else the value itself, as a plain number."""
    if isinstance(value, np.random.RandomState):
        return int(value.randint(1 << 31))
    if isinstance(value, np.random.Generator):
        return int(value.integers(1 << 31))
    return int(value) if isinstance(value, np.integer) else value


def param(doc: str, *, default: Any, kw_only: bool = True, check: Param | None = None, says: Any = None) -> Any:
    """A hyper-parameter, as a class declares it: what it means, its default, and what it may be (`check`; True or False needs none).

    `says`: how a verdict says its value (estimator/titles.py). `kw_only=False`: it may be given by position. Type checkers read `default` and `kw_only` (`typing.dataclass_transform`).
    """
    if check is None:
        if not isinstance(default, bool):
            raise TypeError(f"A hyper-parameter whose default is {default!r} needs a check, such as Range(low=0).")
        check = Flag()
    return replace(check, doc=doc, default=default, kw_only=kw_only, says=says)


N_JOBS = param(
    "threads to use; None: all that this process may use", default=None, check=Range(int, low=-1, words=(None,))
)
CLASS_WEIGHT = param(
    "weights of the classes; 'balanced' makes every class count the same",
    default=None,
    check=Free(
        "a dict {class: weight ≥ 0}",
        words=(None, "balanced"),
        check=lambda value: (
            isinstance(value, Mapping)
            and all(isinstance(v, numbers.Real) and 0 <= _as_float(v) < math.inf for v in value.values())
        ),
    ),
)


OF_THE_TABLE = ("features",)  # words that `assay train` uses for columns


def option_of(name: str) -> str:
    """How the command line calls a hyper-parameter.

    >>> option_of("var_smoothing"), option_of("features")
    ('--var-smoothing', '--model-features')
    """
    return ("--model-" if name in OF_THE_TABLE else "--") + name.replace("_", "-")


def defaults(cls: type) -> dict[str, Any]:
    """The hyper-parameters of a model class with their default values, in the order of its signature."""
    return dict(_defaults(cls))


@cache
def _defaults(cls: type) -> dict[str, Any]:
    """Reading a signature takes 0.3 ms, as long as a small fit."""
    return {name: p.default for name, p in inspect.signature(cls).parameters.items()}


def check_params(model: Any) -> None:
    """Raise `ParameterError` for the first hyper-parameter of a model whose value its table does not accept."""
    table: Mapping[str, Param] = type(model).params
    for name, param in table.items():
        value = getattr(model, name)
        if not param.accepts(value):
            raise ParameterError(
                f"{type(model).__name__}: {name}={value!r} is not possible: it must be {param.describe()} ({param.doc})."
            )


def check_names(cls: type, given: Mapping[str, Any]) -> None:
    """Raise `ParameterError` for a name that is not a hyper-parameter of the class."""
    known = list(defaults(cls))
    for name in given:
        if name not in known:
            raise ParameterError(f"Invalid parameter {name!r} for {cls.__name__}. {nearest(name, known)}")
