"""Hyper-parameters and tags: scikit-learn's protocol, implemented without importing scikit-learn.

`Estimator` and `Transformer` share these functions as their methods: a hyper-parameter is one line `name: type = param(…)` of a class or of
a class above it. From these lines come the table `params`, the constructor with its signature, and the section Parameters of the
docstring. Those of the classes above come first; one that is declared again keeps its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from html import escape
from types import MappingProxyType, MethodType
from typing import Any, ClassVar, TypeVar, dataclass_transform

from assay.estimator.docstrings import Attribute, LazyDoc, attribute
from assay.estimator.params import Param, check_names, defaults, param

Model = TypeVar("Model")


def declare(cls: Any) -> None:
    """Gather what a new class declares: its table of hyper-parameters, its constructor, its docstring."""
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


def sklearn_tags(model: Any) -> Any:
    """What scikit-learn wants to know of a model; asked by scikit-learn alone, which is then there."""
    from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

    kind = model.kind_of(get_params(model))
    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(required=True, multi_output=getattr(model, "multi_output", False)),
        transformer_tags=TransformerTags() if hasattr(model, "transform") else None,
        classifier_tags=ClassifierTags() if kind == "classifier" else None,
        regressor_tags=RegressorTags() if kind == "regressor" else None,
        input_tags=InputTags(
            sparse=model.takes_sparse, allow_nan=model.takes_missing, positive_only=model.positive_only
        ),
    )


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
            raise AttributeError(f"{model!r} has no {self.method.__name__}: {why}.")
        return MethodType(self.method, model)
