"""Several targets of one table: each is a question of its own, and the other targets are no columns to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from time import monotonic
from typing import Any

from assay.errors import ParameterError
from assay.numerics import Array
from assay.selection.compare import compare
from assay.selection.comparison import Comparison
from assay.selection.loading import named_source
from assay.tables.answers import library_of
from assay.tables.sources.source import Source, check_known

LEAST_SHARE = 1.0  # second of a budget, for a target whose turn comes when it is spent


class Comparisons(dict[str, Comparison]):
    """The outcome of `assay.compare_targets`: a `Comparison` for each target, by its name."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n\n\n".join(map(str, self.values()))

    def _repr_html_(self) -> str:
        return "".join(found._repr_html_() for found in self.values())

    def predict(self, data: Any) -> dict[str, Array]:
        """The answers of the recommended models for the rows of a table, by target."""
        return {target: found.predict(data) for target, found in self.items()}


def compare_targets(
    data: Any,
    targets: Sequence[str],
    *,
    features: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    budget: float | None = None,
    **asked: Any,
) -> Comparisons:
    """Compare all models on each of several targets, and recommend one for each.

    What is predicted of the other targets is not known when a row is new, so none of them is a column to learn from. `budget` (seconds) is for all
    targets together; everything else is asked as of `compare`.

    >>> found = compare_targets("papayas", ["taste", "colour"], models=["baseline", "baseline-regressor"], folds=2)
    >>> [(target, each.task) for target, each in found.items()]
    [('taste', 'classification'), ('colour', 'regression')]
    """
    opening = {key: asked.pop(key) for key in list(asked) if key not in signature(compare).parameters}
    source = named_source(data, **opening)
    check_targets(source, targets, features)
    found = Comparisons()
    for target, columns in each_target(targets, features, kinds, budget):
        found[target] = compare(source, target, **columns, **asked)
        found[target].library = library_of(data)
    return found


def check_targets(source: Source, targets: Sequence[str], features: Sequence[str] | None) -> None:
    """Before the first is begun: every target is a column, once, and none is a feature."""
    check_known(targets, source.types, "a target", source.where)
    if not targets:
        raise ParameterError("Which columns should be predicted? Give their names: targets=['a', 'b'].")
    for name in targets:
        if list(targets).count(name) > 1:
            raise ParameterError(f"The target {name!r} is named twice: name each column once.")
        if name in (features or ()):
            raise ParameterError(f"Column {name!r} cannot be both a target and a feature: leave it out of one of them.")


def each_target(
    targets: Sequence[str], features: Sequence[str] | None, kinds: Mapping[str, str] | None, budget: float | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The targets with what is asked for each: the others are ignored, and it has an equal share of the time that is left."""
    least, end = (0.0, None) if budget is None else (min(budget, LEAST_SHARE), monotonic() + budget)
    for number, target in enumerate(targets):
        others = [] if features is not None else [name for name in targets if name != target]
        share = None if end is None else max((end - monotonic()) / (len(targets) - number), least)
        asked = {name: kind for name, kind in (kinds or {}).items() if name == target or name not in targets}
        yield target, {"features": features, "kinds": {**asked, **dict.fromkeys(others, "ignored")}, "budget": share}
