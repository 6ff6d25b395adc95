"""A fitted model out of a state under way: no refit, and no copy of the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.errors import DataError
from assay.learner.step import Step

if TYPE_CHECKING:
    from assay.learner.learner import Learner

Learnt = Mapping[str, Any]


def answering(model: Learner, learnt: Learnt | Callable[[], Learnt | None]) -> Callable[[], Learner | None]:
    """What makes the model that answers with `learnt` (a function: worked out when it is asked for; None: no answer yet).

    `model` knows the columns and classes; it may learn on, as it is copied at once, but arrays in `learnt` must stay as they are.
    """
    return answering_like(copy(model), learnt)


def answering_like(model: Learner, learnt: Learnt | Callable[[], Learnt | None]) -> Callable[[], Learner | None]:
    """As `answering`, of a model that stays as it is."""
    return partial(_settled, model, learnt)


def nothing_yet() -> None:
    """The state of a step that cannot answer."""


def _settled(model: Learner, learnt: Learnt | Callable[[], Learnt | None]) -> Learner | None:
    found = learnt() if callable(learnt) else learnt
    if found is None:
        return None
    fitted = copy(model)
    vars(fitted).update(found)
    fitted._fitted_with = fitted.get_params()
    fitted._claims, fitted._under_way = (), True
    return fitted


def model_at(model: Learner, step: Any) -> Any:
    """The fitted model of a step of `model.steps`; None where nothing could be answered yet."""
    if not isinstance(step, Step) or step.state is None:
        raise DataError("at(step) takes a step of this model's steps(X, y), as it came from there.")
    found = step.state()
    if found is not None and type(found) is not type(model):
        raise DataError(
            f"The step is of a {type(found).__name__}, and this is a {type(model).__name__}: ask the model that made it."
        )
    return found
