"""Who takes part in a comparison: every registered model that can learn such a target, by what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from assay.errors import ParameterError
from assay.estimator.estimator import Estimator
from assay.estimator.params import check_names, check_params
from assay.estimator.search_space import Categories, SearchSpace, TableTraits
from assay.families import REGISTRY, model_class
from assay.selection.hopeless import wrong_kind
from assay.tables.encoding import EncodingSpec
from assay.tables.encoding.components import due_components
from assay.tables.schema.kinds import TEXTUAL
from assay.tables.schema.schema import Column, Schema

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
