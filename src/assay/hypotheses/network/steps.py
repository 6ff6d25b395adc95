"""A network in the making, for teaching: weights and losses after each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from assay.engines import ArrayRows, engine_for
from assay.engines.blas import one_thread_blas
from assay.inputs import as_rows
from assay.learner import Step
from assay.networks import Layer
from assay.params import check_params

if TYPE_CHECKING:
    from assay.hypotheses.network.model import NetworkModel


def steps_of(model: NetworkModel, X: Any, y: Any, sample_weight: Any, every: int) -> Iterator[Step]:
    """Every `every`-th epoch, and the fitted model as the last step."""
    fresh = type(model)(**model.get_params())
    check_params(fresh)
    rows = as_rows(X, y, sample_weight).in_memory()
    assert isinstance(rows, ArrayRows)
    fresh._forget()
    fresh._remember_columns(rows)
    engine = engine_for(rows, fresh.n_jobs)
    with one_thread_blas():
        work = fresh._begin(engine, rows, True, None)
    number, epochs, shape, standard = 0, [], work.task.shape, work.task.standard
    for epoch in work.runner.run(work.first):
        epochs.append(epoch._replace(flat=epoch.flat[:0]))
        if epoch.number % every == 0:
            number += 1
            values = _weights(standard.folded(shape.layers(epoch.flat)))
            values |= {"epoch": epoch.number, "loss": epoch.loss * standard.target_scale**2}
            if work.task.labels is not None:
                values["zero_one"] = epoch.wrong
            if epoch.score is not None:
                values["validation_score"] = epoch.score
            yield Step(number, len(rows.X), values)
    with one_thread_blas():
        fresh._finish(engine, rows, work, epochs)
    learnt = {name: getattr(fresh, name) for name in fresh.layout if getattr(fresh, name, None) is not None}
    yield Step(number + 1, len(rows.X), {**_weights(fresh._layers()), **learnt})


def _weights(layers: list[Layer]) -> dict[str, Any]:
    return {"coefs": [W for W, _ in layers], "intercepts": [b for _, b in layers]}
