"""Who takes part in a comparison: every registered model that can learn such a target, by what it says of itself.

Questions that no model can answer are refused before any is fitted, with what to ask instead: a target that is missing, that is the same in every
row, that names rows, or of which all classes but one are too rare; numbers for a model that tells classes apart, and classes for one that predicts
numbers; more classes than a model can set against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assay.errors import DataError, OneClassError, ParameterError
from assay.estimator.estimator import Estimator
from assay.estimator.params import check_names, check_params
from assay.estimator.search_space import Categories, SearchSpace, TableTraits, paired
from assay.families import CLASS_NAMES, REGISTRY, model_class
from assay.tables.encoding import EncodingSpec
from assay.tables.encoding.components import due_components
from assay.tables.schema.schema import TEXTUAL, Column, Schema

TOY = 20  # rows that somebody may have written down to see what a model does
OTHERS = (
    ("Classifier", "Regressor"),
    ("SVC", "SVR"),
    ("Baseline", "BaselineRegressor"),
)  # names of one idea for classes and for numbers
ALIASES = {
    "svm": "linear-svc",
    "logistic": "logistic-regression",
    "logreg": "logistic-regression",
    "softmax": "logistic-regression",
    "ols": "linear-regression",
    "least-squares": "linear-regression",
    "nb": "naive-bayes",
    "tree": "decision-tree",
    "forest": "random-forest",
    "decision-tree-regressor": "tree-regressor",
    "random-forest-regressor": "forest-regressor",
    "extra-trees-regressor": "extra-regressor",
}


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


@dataclass(frozen=True)
class Candidate:
    """A model with the settings to search and how it needs a table encoded."""

    name: str
    model: type[Estimator]
    search_space: SearchSpace
    encoding_spec: EncodingSpec
    fixed: Mapping[str, Any]  # hyper-parameters that the user set: they are not searched

    @cached_property
    def key(self) -> str:
        """What tells it from every other candidate."""
        return repr((self.name, self.settings(), dict(self.search_space.rough), dict(self.fixed), self.encoding_spec))

    def alone(self, setting: Mapping[str, Any]) -> Candidate:
        """It with one setting, and nothing rough about its fits."""
        return replace(self, search_space=replace(self.search_space, search=(setting,), rough={}))

    def roughly(self, settings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Settings as they are fitted while they are only compared."""
        return [{**setting, **self.search_space.rough, **self.fixed} for setting in settings]

    def settings(self) -> list[Mapping[str, Any]]:
        """What the search goes through, simplest first."""
        if not self.fixed:
            return [dict(s) for s in self.search_space.search]
        kept: list[Mapping[str, Any]] = []
        for setting in self.search_space.search:
            left = {**setting, **self.fixed}
            if left not in kept:
                kept.append(left)
        return kept


def features_of(schema: Schema, n_classes: int, spread: float = 1.0) -> TableTraits:
    """What decides which models can use a table; `spread` is the deviation of a target that is a number."""
    used = schema.used
    return TableTraits(
        rows=schema.n_rows,
        classes=n_classes,
        only_categories=all(c.kind in ("category", "boolean") for c in used),
        never_negative=not any(c.kind == "date" or (c.kind == "number" and (c.low is None or c.low < 0)) for c in used),
        columns=sum(_numbers_of(c, schema.n_rows) for c in used),
        text=any(c.kind in TEXTUAL for c in used),
        spread=spread,
    )


def _numbers_of(column: Column, rows: int) -> int:
    """How many dense numbers a column becomes, about."""
    if column.kind in TEXTUAL:
        return due_components(rows) + 2 * (column.kind == "string")
    return min(len(column.levels or ()), 64) if column.kind == "category" else 1


def registered(name: str) -> str:
    """The name in the registry of a model that may go by another one."""
    return ALIASES.get(name.lower(), name)


def _other_kind(cls: type[Estimator], schema: Schema) -> str:
    """Why a model of the other kind than the target cannot take part, and what could."""
    target = schema.target
    assert target is not None
    task = "regression" if cls.kind_of({}) == "regressor" else "classification"
    asked = target.kind == "number" and (target.whole or task == "regression")
    return wrong_kind("it", cls, target) + (f", or ask for task={task!r} (--task {task})" if asked else "")


def candidates(
    schema: Schema,
    n_classes: int,
    *,
    spread: float = 1.0,
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    categories: Categories | None = None,
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """(those who take part, [(name, why not)]). `n_classes` 0: the target is a number."""
    kind = "classifier" if n_classes else "regressor"
    features = features_of(schema, n_classes, spread)
    wanted = list(
        dict.fromkeys(REGISTRY if only is None else map(registered, only))
    )  # one that is named twice takes part once
    set_aside = {registered(name) for name in without}
    own = {registered(name): dict(given) for name, given in (fixed or {}).items()}
    for name in (*wanted, *set_aside, *own):
        model_class(name)  # an unknown name is refused, with the nearest
    for name, given in own.items():
        check_names(model_class(name), given)
        check_params(model_class(name)(**given))
    found: list[Candidate] = []
    left_out: list[tuple[str, str]] = []
    for name in wanted:
        cls = model_class(name)
        search_space = cls.search_space(kind, features)
        if search_space is None:
            if only is not None:
                left_out.append((name, _other_kind(cls, schema)))
        elif search_space.when_named and only is None and name not in own:
            continue
        elif name in set_aside:
            left_out.append((name, "set aside"))
        elif search_space.unfit is not None:
            left_out.append((name, search_space.unfit))
        else:
            encoding_spec = EncodingSpec.of(cls, search_space, kind, categories)
            found.append(Candidate(name, cls, search_space, encoding_spec, own.get(name, {})))
    if not found:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out)
        raise ParameterError(f"No model is left to compare. {reasons}")
    return found, left_out
