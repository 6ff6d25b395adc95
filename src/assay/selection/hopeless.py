"""Questions that no model can answer: refused before any is fitted, with what to ask instead.

A target that is missing, that is the same in every row, that names rows, or of which all classes but one are too rare; numbers for a model that tells
classes apart, and classes for one that predicts numbers; more classes than a model can set against each other.
"""

from __future__ import annotations

from assay.errors import DataError, OneClassError, ParameterError
from assay.estimator.estimator import Estimator
from assay.estimator.search_space import paired
from assay.families import CLASS_NAMES
from assay.tables.schema.schema import Column, Schema

TOY = 20  # rows that somebody may have written down to see what a model does
OTHERS = (
    ("Classifier", "Regressor"),
    ("SVC", "SVR"),
    ("Baseline", "BaselineRegressor"),
)  # names of one idea for classes and for numbers


def check_target(schema: Schema, task: str, where: str, toy: int = 0) -> None:
    """Raise where nothing can be learnt of the target, whatever the model; of a table of at most `toy` rows each may be a class."""
    assert schema.target is not None
    _check_missing(schema.target, schema.n_rows)
    if task == "classification":
        _check_classes(schema.target, schema.n_rows, toy)
    elif schema.target.low is not None and schema.target.low == schema.target.high:
        raise DataError(
            f"The target {schema.target.name!r} is {schema.target.low:g} in all {schema.n_rows} rows of {where}: there is nothing to predict. "
            "Choose a column whose values differ (assay schema DATA shows them)."
        )


def _check_missing(target: Column, rows: int) -> None:
    if target.missing == rows:
        raise DataError(
            f"The target {target.name!r} is missing in all {rows} rows, so that nothing can be learnt: name another column as the target (assay "
            "schema DATA shows them), or check how the table was read."
        )
    if target.missing:
        raise DataError(
            f"The target {target.name!r} is missing in {target.missing} of {rows} rows: leave these rows out, for they "
            f'teach nothing (a frame: dropna(subset=[{target.name!r}]); a file: --sql "select * from data where {target.name} is not null").'
        )


def _check_classes(target: Column, rows: int, toy: int) -> None:
    if target.distinct < 2:
        raise OneClassError(
            f"The target {target.name!r} holds a single class in all {rows} rows: there is nothing to tell apart."
        )
    if 2 * target.distinct > rows > toy:
        raise DataError(
            f"The target {target.name!r} has {target.distinct} classes in {rows} rows: it names rows, and of what occurs once nothing can "
            "be learnt. Choose a column whose values repeat (assay schema DATA shows them); numbers are learnt with task='regression' (--task regression)."
        )


def check_rare(schema: Schema) -> None:
    """Raise where all classes but one have a single row: what is tested on cannot have been learnt."""
    assert schema.target is not None
    counts = dict(schema.target.counts or {})
    rare = [name for name, count in counts.items() if count < 2]
    if len(counts) == schema.target.distinct and len(counts) - len(rare) < 2:
        raise DataError(
            f"Class {rare[0]!r} of the target {schema.target.name!r} has a single row: it cannot be learnt from some rows and tested on others. Add rows "
            "of it, join it with another class, or leave it out."
        )


def check_model(model: Estimator, schema: Schema) -> None:
    """Raise where a model that was asked for by name is of the wrong kind for the target, or would take for ever for its classes."""
    assert schema.target is not None
    target, kind = schema.target, model.kind_of(model.get_params())
    if kind == "classifier" and target.kind == "number" and not target.whole:
        make = f"make classes of the numbers (--kind {target.name}=category)"
        raise DataError(f"{wrong_kind(model.name, type(model), target)}, or {make}.")
    if kind == "regressor" and target.kind in ("category", "text", "id"):
        raise DataError(f"{wrong_kind(model.name, type(model), target)}.")
    check_target(schema, "classification" if kind == "classifier" else "regression", "the table", TOY)
    too_many = paired(target.distinct) if getattr(model, "multi_class", None) == "ovo" else None
    if too_many is not None:
        raise ParameterError(
            f"{model.name}: {too_many}. Set each against the rest (multi_class='ovr', --multi-class ovr), or take linear-svc or random-forest."
        )


def wrong_kind(model: str, cls: type[Estimator], target: Column) -> str:
    """That a model is of the wrong kind for a target, and which one to take."""
    numbers = cls.kind_of({}) == "regressor"
    does, holds = ("predicts numbers", "classes") if numbers else ("tells classes apart", "numbers")
    return f"{model} {does}, and the target {target.name!r} holds {holds}: take {counterpart(cls)}"


def counterpart(cls: type[Estimator]) -> str:
    """The name of the model of the same idea for the other kind of target; the usual one where there is none.

    >>> from assay.families import model_class
    >>> [counterpart(model_class(name)) for name in ("svc", "forest-regressor", "lda", "ridge", "baseline")]
    ['svr', 'random-forest', 'linear-regression', 'logistic-regression', 'baseline-regressor']
    """
    for here, there in (*OTHERS, *(pair[::-1] for pair in OTHERS)):
        stem = cls.__name__.removesuffix(here)
        if stem != cls.__name__ and stem + there in CLASS_NAMES:
            return CLASS_NAMES[stem + there]
    return "logistic-regression" if cls.kind_of({}) == "regressor" else "linear-regression"
