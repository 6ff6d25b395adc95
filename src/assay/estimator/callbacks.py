"""scikit-learn's callbacks (1.9 and later, experimental there) told of our fits: the one place that knows their protocol.

    model.set_callbacks(sklearn.callback.ProgressBar()).fit(X, y)

A fit is a task; each iteration of an algorithm that has any (`telling`) is a task within it, with the model that answers as the algorithm
would then. A callback whose `on_fit_task_end` returns True ends the iterations. scikit-learn is imported only where callbacks are set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from assay.estimator.steps import answering

Model = TypeVar("Model")
State = TypeVar("State")


def set_callbacks(model: Model, *callbacks: Any) -> Model:
    """Have callbacks of scikit-learn (`sklearn.callback`) told of every fit and of its iterations; without any: of none."""
    from sklearn.callback import CallbackSupportMixin

    CallbackSupportMixin.set_callbacks(model, *callbacks)
    return model


def heard(model: Any, X: Any, y: Any, sample_weight: Any, fit: Callable[[], State]) -> State:
    """`fit()`, told to the model's callbacks as one task."""
    if not vars(model).get("_skl_callbacks") and "_parent_callback_ctx" not in vars(model):
        return fit()
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    weights = None if sample_weight is None else {"sample_weight": sample_weight}
    given = {"estimator": model, "X": X, "y": y, "metadata": weights}

    def told(model: Any) -> State:
        context = CallbackSupportMixin._init_callback_context(model, max_subtasks=None)
        context.call_on_fit_task_begin(**given)
        vars(model)["_told"] = given
        try:
            fitted = fit()
        finally:
            vars(model).pop("_told", None)
        context.call_on_fit_task_end(**given, reconstruction_attributes=partial(_parts, model))
        return fitted

    found: State = with_callbacks(told)(model)
    return found


def telling(
    model: Any, states: Iterable[State], learnt: Callable[[State], Mapping[str, Any]], name: str
) -> Iterator[State]:
    """The states of an iterative algorithm, from where it begins, told to the model's callbacks; `learnt(state)` are the parts of a model that answers
    as the algorithm would then. The attempt to go on from the last state is a task too, an empty one.
    """
    given, context, task = vars(model).get("_told"), vars(model).get("_callback_fit_ctx"), None
    if given is None or context is None:
        yield from states
        return
    for state in states:
        reached = partial(_parts_at, model, partial(learnt, state))
        stop = task is not None and task.call_on_fit_task_end(**given, reconstruction_attributes=reached)
        yield state
        if stop:
            return
        task = context.subcontext(task_name=name)
        task.call_on_fit_task_begin(**given, reconstruction_attributes=reached)
    if task is not None:
        task.call_on_fit_task_end(**given)


def _parts_at(model: Any, learnt: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """What makes a copy of a model under way answer."""
    return _parts(answering(model, learnt)())


def _parts(model: Any) -> dict[str, Any]:
    """What a fit set, of which a copy of the unfitted model is made a fitted one."""
    ours = ("_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx", "_told")
    return {name: part for name, part in vars(model).items() if name not in model.params and name not in ours}
