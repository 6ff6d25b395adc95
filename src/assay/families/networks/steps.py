"""A network in the making, for teaching: weights and losses after each epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from assay.engines import engine_for
from assay.engines.engine import one_thread_blas
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.networks.architecture import Layer
from assay.families.networks.training_data import packed

if TYPE_CHECKING:
    from assay.families.networks.fit import NetworkModel


def steps_of(model: NetworkModel, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The epochs, and the fitted model as the last step."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    rows = fresh._filled(rows)
    n, engine = rows.n_rows or 0, engine_for(rows, fresh.n_jobs)
    with one_thread_blas():
        work = fresh._begin(engine, rows, True, None)
    epochs, shape, standard = [], work.task.shape, work.task.standard
    fresh.mean_, fresh.scale_ = standard.mean, standard.scale
    fresh._keep_target(standard)
    for number, epoch in enumerate(work.runner.run(work.first), 1):
        epochs.append(epoch.told())
        layers = shape.layers(epoch.flat)
        values = _weights(standard.folded(layers))
        values |= {"epoch": epoch.number, "loss": epoch.loss * standard.target_scale**2}
        if work.task.labels is not None:
            values["zero_one"] = epoch.wrong
        if epoch.score is not None:
            values["validation_score"] = epoch.score
        state = answering(fresh, {"weights_": packed(layers), "_net": None})
        yield Step(number, n, values, _measures(values, "during the epoch"), state)
    with one_thread_blas():
        fresh._finish(engine, rows, work, epochs)
    learnt = {name: getattr(fresh, name) for name in fresh.layout if getattr(fresh, name, None) is not None}
    values = {**_weights(fresh._layers()), **learnt}
    measured = {"loss": fresh.loss_, "zero_one": getattr(fresh, "error_", None)}
    yield Step(number + 1, n, values, _measures(measured, "after the fit"), answering(fresh, {}))


def _measures(found: Mapping[str, Any], when: str) -> tuple[Measure, ...]:
    loss, wrong, score = (found.get(name) for name in ("loss", "zero_one", "validation_score"))
    return measures(
        None if loss is None else Measure("training loss", loss, None, f"loss {loss:.6g} {when}", scale="log"),
        None if wrong is None else Measure("training error", wrong, 0.0, f"{wrong:.2%} of the rows wrong {when}"),
        None
        if score is None
        else Measure("validation score", score, None, f"{score:.4f} on rows held out", better="up"),
    )


def _weights(layers: list[Layer]) -> dict[str, Any]:
    return {"coefs": [W for W, _ in layers], "intercepts": [b for _, b in layers]}
