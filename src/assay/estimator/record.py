"""A fitted model as plain data and back: what `save` writes, and what a file must be before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from assay._version import __version__
from assay.certify import Claim
from assay.errors import ModelFileError
from assay.estimator.layout import Tensor, check_layout
from assay.estimator.params import check_names, check_params
from assay.numerics import Array
from assay.store import Record

if TYPE_CHECKING:
    from assay.estimator.estimator import Estimator

Model = TypeVar("Model", bound="Estimator")


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
        classes=getattr(model, "classes_", None),
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
        if len(record.classes) < 2 or np.any(record.classes[1:] <= record.classes[:-1]):
            raise ModelFileError("The model file's classes are fewer than two, or not in order.")
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
