"""Hyper-parameters: each is one line of its model's class; constructor, validation, CLI flags, forms and documentation read it.

    C: float = param("one over the strength of the penalty; inf: none", default=1.0, check=Range(low=0, open_low=True))

Those of the classes above come first; one that is declared again keeps its place. `Estimator` and `Transformer` share the functions of scikit-learn's
protocol as their methods; scikit-learn itself is not imported.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache
from html import escape
from types import MappingProxyType, MethodType
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

import numpy as np

from assay.errors import ParameterError, nearest
from assay.estimator.tags import sklearn_tags

Model = TypeVar("Model")
UNSET: Any = object()


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
    says: Any = None  # how people say a value: {value: word}, or a text with {} (estimator/search_space.py)

    def accepts(self, value: Any) -> bool:
        raise NotImplementedError

    def describe(self) -> str:
        raise NotImplementedError

    def refusal(self, name: str, value: Any) -> str:
        return f"{name}={value!r} is not possible: it must be {self.describe()} ({self.doc})."

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
    or_infinity: bool = False  # of whole numbers: "without end" as well

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) or value is None:
            return value in self.words
        if self.or_infinity and isinstance(value, float) and value == math.inf:
            return True
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
            return int(text) if self.kind is int and not (self.or_infinity and text == "inf") else float(text)
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

    or_number: bool = False  # any whole number but 0 says yes, as where scikit-learn asks how much to say

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str) or value is None:
            return value in self.words
        if self.or_number and isinstance(value, numbers.Integral):
            return int(value) >= 0
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


@dataclass(frozen=True)
class Several(Free):
    """A number as of `each`, or an array of such; `alone`: what a single number is, where it is something else, such as how many."""

    each: Range = field(kw_only=True)
    alone: Range | None = field(default=None, kw_only=True)

    def accepts(self, value: Any) -> bool:
        if isinstance(value, list | tuple | np.ndarray):
            return np.ndim(value) == 1 and len(value) > 0 and all(self.each.accepts(v) for v in value)
        return value in self.words if value is None else (self.alone or self.each).accepts(value)


@dataclass(frozen=True, kw_only=True)
class Seed(Param):
    """What random numbers begin with: a whole number, or a NumPy `RandomState` or `Generator`, of which each fit draws one (`drawn_seed`)."""

    high: float = math.inf

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


@contextmanager
def seeded(model: Any) -> Iterator[None]:
    """The model with a plain number as its seed: certificate and file know which was drawn, the user keeps the stream that was given."""
    given = vars(model).get("random_state")
    drawn = drawn_seed(given)
    if drawn is not given:
        model.random_state = drawn
    yield
    if drawn is not given:
        model.random_state = given


def param(doc: str, *, default: Any, kw_only: bool = True, check: Param | None = None, says: Any = None) -> Any:
    """A hyper-parameter, as a class declares it: what it means, its default, and what it may be (`check`; True or False needs none).

    `says`: how a verdict says its value (estimator/search_space.py). `kw_only=False`: it may be given by position. Type checkers read `default` and `kw_only` (`typing.dataclass_transform`).
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
            raise ParameterError(f"{type(model).__name__}: {param.refusal(name, value)}")


def check_names(cls: type, given: Mapping[str, Any]) -> None:
    """Raise `ParameterError` for a name that is not a hyper-parameter of the class."""
    known = list(defaults(cls))
    for name in given:
        if name not in known:
            raise ParameterError(f"Invalid parameter {name!r} for {cls.__name__}. {nearest(name, known)}")


@dataclass(frozen=True)
class Attribute:
    """An attribute of a model that is no hyper-parameter, and what is told of it."""

    doc: str
    default: Any

    @property
    def has_default(self) -> bool:
        """Whether it is there before any fit."""
        return self.default is not UNSET


def attribute(doc: str = "", *, default: Any = UNSET, init: Literal[False] = False) -> Any:
    """An attribute that fits set; `default` is what it is before. What the layout holds is explained there, without `doc` here.

    Type checkers read `init`: it is no argument of the constructor.
    """
    return Attribute(doc, default)


def declare(cls: Any) -> None:
    """Gather what a new class declares: its table of hyper-parameters, its constructor, its docstring."""
    from assay.estimator.docstrings import LazyDoc  # it reads this page

    own = dict(vars(cls))
    declared = {name: value for name, value in own.items() if isinstance(value, Param)}
    other = {name: value for name, value in own.items() if isinstance(value, Attribute)}
    for name in (*declared, *other):
        delattr(cls, name)
    for name, value in other.items():
        if value.has_default:
            setattr(cls, name, value.default)
    sentences = {name: value.doc for name, value in other.items() if value.doc}
    cls._declares = declared, sentences
    above = [vars(base)["_declares"] for base in reversed(cls.__mro__) if "_declares" in vars(base)]
    cls.params = MappingProxyType({name: p for params, _ in above for name, p in params.items()})
    cls.attributes = MappingProxyType({name: doc for _, docs in above for name, doc in docs.items()})
    if "__init__" not in own:
        cls.__init__ = _constructor(cls)
    if own.get("__doc__"):
        cls.__doc__ = LazyDoc(own["__doc__"])


def get_params(model: Any, deep: bool = True) -> dict[str, Any]:
    """The hyper-parameters by name."""
    return {name: getattr(model, name) for name in defaults(type(model))}


def set_params(model: Model, **params: Any) -> Model:
    """Change hyper-parameters; they take effect at the next fit."""
    check_names(type(model), params)
    for name, value in params.items():
        setattr(model, name, value)
    return model


def representation(model: Any) -> str:
    """The call that makes the model, with what differs from the defaults."""
    usual = defaults(type(model))
    changed = [f"{k}={v!r}" for k, v in get_params(model).items() if not _same(v, usual[k])]
    return f"{type(model).__name__}({', '.join(changed)})"


def notebook_html(model: Any) -> str:
    """A model in a notebook: the call that makes it and, once it is fitted, its certificate."""
    claims = model.certificate_._repr_html_() if is_fitted(model) else "<p>Not fitted yet.</p>"
    return f"<p><code>{escape(repr(model))}</code></p>{claims}"


def is_fitted(model: Any) -> bool:
    """What scikit-learn asks of a model."""
    return hasattr(model, "n_features_in_")


@dataclass_transform(kw_only_default=True, field_specifiers=(param, attribute))
class Transformer:
    """What maps rows to other rows, and has hyper-parameters; no target, no certificate, no file."""

    params: ClassVar[Mapping[str, Param]] = MappingProxyType({})
    attributes: ClassVar[Mapping[str, str]] = MappingProxyType({})  # sentences of learnt attributes
    takes_missing: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        declare(cls)

    @classmethod
    def kind_of(cls, params: Mapping[str, Any]) -> str:
        """What scikit-learn's tags call it."""
        return "transformer"

    get_params = get_params
    set_params = set_params
    __repr__ = representation
    __sklearn_is_fitted__ = is_fitted
    __sklearn_tags__ = sklearn_tags


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a is b or a == b)
    except ValueError:
        return False


def _constructor(cls: Any) -> Callable[..., None]:
    """An `__init__` that sets every hyper-parameter, to what is given or to its default."""
    usual = {name: p.default for name, p in cls.params.items()}
    by_place = tuple(name for name, p in cls.params.items() if not p.kw_only)

    def __init__(self: Any, *args: Any, **given: Any) -> None:
        values = self.__dict__
        values.update(usual)
        if args:
            values.update(_placed(self, by_place, args, given))
        if given:
            if not given.keys() <= usual.keys():
                unknown = next(name for name in given if name not in usual)
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument {unknown!r}")
            values.update(given)

    __init__.__qualname__, __init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    setattr(__init__, "__signature__", _signature(cls))  # noqa: B010
    return __init__


def _placed(model: Any, names: tuple[str, ...], args: tuple[Any, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments given by position, by name."""
    where = f"{type(model).__name__}.__init__()"
    if len(args) > len(names):
        raise TypeError(
            f"{where} takes {len(names)} arguments by position but {len(args)} were given: name the others."
        )
    placed = dict(zip(names, args))
    for name in placed.keys() & given.keys():
        raise TypeError(f"{where} got multiple values for argument {name!r}")
    return placed


def _signature(cls: Any) -> inspect.Signature:
    """By position what may be so, the rest by name."""
    types = {k: v for base in reversed(cls.__mro__) for k, v in inspect.get_annotations(base).items()}
    found = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for kw_only in (False, True):
        kind = inspect.Parameter.KEYWORD_ONLY if kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        some = ((name, p.default) for name, p in cls.params.items() if p.kw_only is kw_only)
        found += [inspect.Parameter(name, kind, default=usual, annotation=types[name]) for name, usual in some]
    return inspect.Signature(found, return_annotation=None)


class AvailableIf:
    """A method that exists where `condition(model)` holds; elsewhere the AttributeError says `why` not."""

    def __init__(
        self, method: Callable[..., Any], condition: Callable[[Any], bool], why: str | Callable[[Any], str]
    ) -> None:
        self.method, self.condition, self.why = method, condition, why
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self.method
        if not self.condition(model):
            why = self.why if isinstance(self.why, str) else self.why(model)
            lacks = f"This {type(model).__name__!r} has no attribute {self.method.__name__!r}"
            raise AttributeError(f"{lacks}: {why}.") from AttributeError(why)
        return MethodType(self.method, model)
