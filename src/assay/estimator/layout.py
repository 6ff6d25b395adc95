"""What a model's learnt parts look like, declared once; a fitted model as plain data and back, held to it when a file is loaded.

A dimension is a number or a letter; a letter must mean the same everywhere in a model (d columns, K classes). Whole numbers by which a loop
or NumPy reads are declared as such, with the dimension that they are places of (`index`) or add up to (`most`): a file is refused before
anything is read by a number that it made up.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assay._version import __version__
from assay.certify import Claim
from assay.errors import ModelFileError
from assay.estimator.params import check_names, check_params
from assay.estimator.shown import kept
from assay.inputs.refusals import refuse_extreme
from assay.numerics import Array
from assay.store import Record

if TYPE_CHECKING:
    from assay.engines import Rows
    from assay.estimator.estimator import Estimator

Model = TypeVar("Model", bound="Estimator")
MOST_CHECKED = 1 << 20  # numbers: larger parts are rows themselves, which were looked at


@dataclass(frozen=True)
class Tensor:
    """A learnt array: dimensions, type, the range of its values, and what it is (`doc`, for public ones).

    index="K": places among K things, 0 … K − 1; with `mirrored` also −1 … −1 − K, for −1 and for each place in another role.
    most="m": amounts of m things, at most m each. Either names a dimension, or the `Fact` that says how many there are.
    """

    dims: tuple[str | int, ...]
    dtype: str = "<f8"
    low: float = -math.inf
    high: float = math.inf
    finite: bool = True
    optional: bool = False
    doc: str = ""
    index: str = ""
    mirrored: bool = False
    most: str = ""


@dataclass(frozen=True)
class Fact:
    """A learnt value that is no array: a number, a word, or a flat list of such (`many`); `doc` says what it is."""

    kind: type
    many: bool = False
    low: float = -math.inf
    optional: bool = False
    doc: str = ""


Layout = Mapping[str, Tensor | Fact]


def check_layout(layout: Layout, sizes: dict[str, int], arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
    """Raise `ModelFileError` unless the parts are exactly what the layout declares. `sizes` binds the letters."""
    _check_names(layout, arrays, facts)
    for name, field in layout.items():
        if isinstance(field, Tensor):
            if name in arrays:
                _check_tensor(name, field, sizes, arrays[name])
            elif not field.optional:
                raise ModelFileError(f"The file lacks the array {name!r}.")
        elif name in facts:
            _check_fact(name, field, facts[name])
        elif not field.optional:
            raise ModelFileError(f"The file lacks the value {name!r}.")
    _check_places(layout, {**facts, **sizes}, arrays)  # when every letter is known


def _check_names(layout: Layout, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
    """Raise for a part that the model does not have, or has as the other kind: a list must never stand in for a checked array."""
    for names, kind, word in ((arrays, Tensor, "an array"), (facts, Fact, "a value")):
        for name in names:
            if name not in layout:
                raise ModelFileError(f"The file holds a part {name!r} that its model does not have.")
            if not isinstance(layout[name], kind):
                raise ModelFileError(f"The file holds {name!r} as {word}, which its model does not.")


def _check_places(layout: Layout, sizes: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Raise unless every number that others are read by is a place, or an amount, of what there is."""
    for name, array in arrays.items():
        field = layout[name]
        if not isinstance(field, Tensor) or not array.size or not (field.index or field.most):
            continue
        many: int = sizes.get(field.index or field.most, 0)
        low = -1 - many if field.mirrored else 0
        high = many - 1 if field.index else many
        if int(array.min()) < low or int(array.max()) > high:
            raise ModelFileError(f"The array {name!r} holds places or amounts beyond what there is ({many}).")


def _check_tensor(name: str, field: Tensor, sizes: dict[str, int], array: Array) -> None:
    if array.dtype.str != field.dtype:
        raise ModelFileError(f"The array {name!r} holds {array.dtype.str} where {field.dtype} is due.")
    if array.ndim != len(field.dims):
        raise ModelFileError(f"The array {name!r} has {array.ndim} dimension(s) where {len(field.dims)} are due.")
    for dim, size in zip(field.dims, array.shape):
        wanted = dim if isinstance(dim, int) else sizes.setdefault(dim, size)
        if size != wanted:
            raise ModelFileError(f"The array {name!r} has shape {array.shape} where {dim} = {wanted} is due.")
    if array.dtype.kind == "f" and array.size:
        if field.finite and not np.all(np.isfinite(array)):
            raise ModelFileError(f"The array {name!r} holds NaN or infinity.")
        with np.errstate(invalid="ignore"):
            if np.any(array < field.low) or np.any(array > field.high):
                raise ModelFileError(f"The array {name!r} holds values outside [{field.low:g}, {field.high:g}].")
    elif array.size and (array.min() < field.low or array.max() > field.high):
        raise ModelFileError(f"The array {name!r} holds values outside [{field.low:g}, {field.high:g}].")


def _check_fact(name: str, field: Fact, value: Any) -> None:
    if field.many and not isinstance(value, list):
        raise ModelFileError(f"The value {name!r} is no list.")
    for item in value if field.many else [value]:
        good = isinstance(item, field.kind) and not (field.kind is not bool and isinstance(item, bool))
        if field.kind is float and isinstance(item, int) and not isinstance(item, bool):
            good = True
        if not good:
            raise ModelFileError(f"The value {name!r} is {item!r} where {field.kind.__name__} is due.")
        most = {int: 1 << 63, float: sys.float_info.max}.get(field.kind)
        if most is not None and not (abs(item) <= most and item >= field.low):
            raise ModelFileError(f"The value {name!r} is {item!r}, outside its range.")


def as_declared(field: Tensor | Fact, value: Any) -> Any:
    """A checked value; numbers with a fraction are so even where a file writes them without."""
    if isinstance(field, Tensor) or field.kind is not float:
        return value
    return [float(item) for item in value] if field.many else float(value)


def record_of(model: Estimator) -> Record:
    """The fitted model as plain data."""
    arrays: dict[str, Array] = {}
    facts: dict[str, Any] = {}
    for name, field in model._layout().items():
        value = model._part(name)
        if value is None and field.optional:
            continue
        (arrays if isinstance(field, Tensor) else facts)[name] = value
    names = model._column_names()
    params = {k: v for k, v in model._fitted_with.items() if k != "n_jobs"}
    return Record(
        model=model.name,
        params=params,
        n_features=int(model.n_features_in_),
        arrays=arrays,
        facts=facts,
        classes=kept(model, "classes_"),
        names=None if names is None else list(names),
        categories=None if model._categories is None else [None if c is None else list(c) for c in model._categories],
        target=model._provenance.get("target"),
        claims=[claim_data(c) for c in model._claims],
        provenance={"assay": __version__, **model._provenance},
    )


def model_of(cls: type[Model], record: Record) -> Model:
    """A fitted model of the class from plain data that has not been trusted yet."""
    model = _with_params(cls, record)
    check_layout(cls.layout_of(record), _sizes(cls, record), record.arrays, record.facts)
    _check_provenance(record.provenance)
    model._forget()
    try:
        with np.errstate(all="ignore"):  # numbers at the ends of their range are no harm
            model._restore(record)
    except ModelFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise ModelFileError(f"The model file's parts do not fit together: {error}") from None
    return model


def _with_params(cls: type[Model], record: Record) -> Model:
    try:
        if "n_jobs" in record.params:
            raise ValueError("the number of threads is no part of a model")
        check_names(cls, record.params)
        model = cls(**record.params)
        check_params(model)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"The model file's hyper-parameters are not possible: {error}") from None
    return model


def _sizes(cls: type[Estimator], record: Record) -> dict[str, int]:
    """What the letters of the layout stand for: d columns, K classes."""
    if not 1 <= record.n_features <= 1 << 31:
        raise ModelFileError(f"The model file claims {record.n_features} columns.")
    for what in (record.names, record.categories):
        if what is not None and len(what) != record.n_features:
            raise ModelFileError(f"The model file describes {len(what)} columns where {record.n_features} are due.")
    sizes = {"d": record.n_features}
    if (record.classes is not None) != (cls.kind_of(record.params) == "classifier"):
        raise ModelFileError("The model file's classes do not fit its kind of model.")
    if record.classes is not None:
        sizes["K"] = len(record.classes)
        if len(record.classes) < cls.least_classes or np.any(record.classes[1:] <= record.classes[:-1]):
            raise ModelFileError("The model file's classes are too few, or not in order.")
    return sizes


def claim_data(claim: Claim) -> dict[str, Any]:
    return {f: getattr(claim, f) for f in claim.__dataclass_fields__}


def _check_provenance(facts: Mapping[str, Any]) -> None:
    """Raise unless what a file says of its data can be used as this module uses it."""
    split = facts.get("split")
    good = split is None or (
        isinstance(split, dict)
        and isinstance(split.get("fraction"), float)
        and 0 < split["fraction"] < 1
        and isinstance(split.get("seed"), int)
        and 0 <= split["seed"] < 1 << 64
    )
    mark = facts.get("fingerprint", "")
    good = (
        good
        and isinstance(mark, str)
        and len(mark) <= 64
        and set(mark) <= set("0123456789abcdef")
        and len(mark) % 2 == 0
    )
    if not good or not isinstance(facts.get("target", ""), str | None):
        raise ModelFileError("The model file's facts about its data (fingerprint, split, target) cannot be read.")


def refuse_unbounded(model: Estimator, layout: Layout, rows: Rows) -> None:
    """Raise where what was learnt overflowed: a file could not hold it, and answers would be no numbers."""
    for name, field in layout.items():
        part = None if name.startswith("state.") or not isinstance(field, Tensor) else model._part(name)
        if not isinstance(part, np.ndarray) or part.dtype.kind != "f" or part.size > MOST_CHECKED:
            continue
        if getattr(field, "finite", False) and not np.isfinite(part).all():
            refuse_extreme(rows, None)
