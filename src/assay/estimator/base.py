"""Hyper-parameters and tags: scikit-learn's protocol, implemented without importing scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform

from assay.estimator.docstrings import Attribute, LazyDoc, attribute
from assay.estimator.params import Param, check_names, defaults, param


@dataclass_transform(kw_only_default=True, field_specifiers=(param, attribute))
class BaseEstimator:
    """Something with hyper-parameters, each declared by one line `name: type = param(…)` of its class or of a class above it.

    From these lines come the table `params`, the constructor with its signature, and the section Parameters of the docstring. Those of
    the classes above come first; one that is declared again keeps its place.
    """

    params: ClassVar[Mapping[str, Param]] = MappingProxyType({})
    attributes: ClassVar[Mapping[str, str]] = MappingProxyType(
        {}
    )  # sentences of learnt attributes that are not in the layout
    takes_missing: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False  # scipy's sparse matrices stay sparse
    fills_sparse: ClassVar[bool] = False  # it takes them, and fills their zeros in block by block
    positive_only: ClassVar[bool] = False
    _kind: ClassVar[str]
    _declares: ClassVar[tuple[Mapping[str, Param], Mapping[str, str]]]  # of this class alone

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
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
            setattr(cls, "__init__", _constructor(cls))  # noqa: B010
        if own.get("__doc__"):
            setattr(cls, "__doc__", LazyDoc(own["__doc__"]))  # noqa: B010

    @classmethod
    def kind_of(cls, params: Mapping[str, Any]) -> str:
        """The kind of model, "classifier" or "regressor", that these hyper-parameters make; most classes are one for good."""
        return cls._kind

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return {name: getattr(self, name) for name in defaults(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters; they take effect at the next fit."""
        check_names(type(self), params)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = defaults(type(self))
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if not _same(v, usual[k])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind = self.kind_of(self.get_params())
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(
                sparse=self.takes_sparse, allow_nan=self.takes_missing, positive_only=self.positive_only
            ),
        )


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a is b or a == b)
    except ValueError:
        return False


def _constructor(cls: type[BaseEstimator]) -> Callable[..., None]:
    """An `__init__` that sets every hyper-parameter, to what is given or to its default."""
    usual = {name: p.default for name, p in cls.params.items()}
    by_place = tuple(name for name, p in cls.params.items() if not p.kw_only)

    def __init__(self: BaseEstimator, *args: Any, **given: Any) -> None:
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


def _placed(
    model: BaseEstimator, names: tuple[str, ...], args: tuple[Any, ...], given: Mapping[str, Any]
) -> dict[str, Any]:
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


def _signature(cls: type[BaseEstimator]) -> inspect.Signature:
    """By position what may be so, the rest by name."""
    types = {k: v for base in reversed(cls.__mro__) for k, v in inspect.get_annotations(base).items()}
    found = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for kw_only in (False, True):
        kind = inspect.Parameter.KEYWORD_ONLY if kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        some = ((name, p.default) for name, p in cls.params.items() if p.kw_only is kw_only)
        found += [inspect.Parameter(name, kind, default=usual, annotation=types[name]) for name, usual in some]
    return inspect.Signature(found, return_annotation=None)
