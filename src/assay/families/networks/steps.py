"""A network in the making: weights and losses after each epoch, a line a second of a long fit, and warnings of what went otherwise than asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from assay.engines import engine_for
from assay.engines.engine import one_thread_blas
from assay.errors import ConvergenceWarning, as_seen_by_sklearn, warn
from assay.estimator.estimator import fresh_and_rows
from assay.estimator.progress import EVERY, INTERRUPTED, OUT_OF_TIME, Say, Stopping, time_left, to_stderr
from assay.estimator.steps import Measure, Step, answering, measures
from assay.families.networks.architecture import Layer, packed

if TYPE_CHECKING:
    from assay.families.networks.epochs import Epoch
    from assay.families.networks.fit import NetworkModel


def steps_of(model: NetworkModel, X: Any, y: Any, sample_weight: Any) -> Iterator[Step]:
    """The epochs, and the fitted model as the last step."""
    fresh, rows = fresh_and_rows(model, X, y, sample_weight)
    rows = fresh._filled(rows)
    n, engine = rows.n_rows or 0, engine_for(rows, fresh.n_jobs)
    with one_thread_blas():
        work = fresh._prepare_fit(engine, rows, True, None)
    epochs, shape, standard = [], work.task.shape, work.task.standard
    fresh.mean_, fresh.scale_ = standard.mean, standard.scale
    fresh._keep_target(standard)
    for number, epoch in enumerate(work.runner.run(work.first), 1):
        epochs.append(epoch.without_weights())
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


class TrainingProgress:
    """Hears of every epoch; the time left is that of all epochs, as a loss that stays may end them earlier."""

    def __init__(
        self, most: int, until: float | None, say: Say | None = None, clock: Callable[[], float] = time.monotonic
    ):
        self.most, self.until, self.clock = most, until, clock
        self.emit: Say = say or to_stderr
        self.began = self.last = clock()
        self.epochs = 0

    def epoch_ended(self, epoch: Epoch) -> None:
        """An epoch ended."""
        self.epochs += 1
        now = self.clock()
        if now - self.last < EVERY:
            return
        self.last = now
        left = (now - self.began) / self.epochs * (self.most - self.epochs)
        left = left if self.until is None else min(left, self.until - now)
        wrong = f", {100 * epoch.wrong:.2f} % wrong" if epoch.wrong else ""
        held = "" if epoch.score is None else f", validation {epoch.score:.4f}"
        self.emit(
            f"epoch {epoch.number} of at most {epoch.number - self.epochs + self.most}: loss {epoch.loss:.4g}{wrong}{held}, at most "
            f"{time_left(max(0.0, left) if math.isfinite(left) else math.nan)}"
        )


def warn_of_ignored(model: Any) -> None:
    """Say that hyper-parameters of mini-batches do nothing where every step sees all rows."""
    asked = [
        word for word, there in (("dropout", model.dropout > 0), ("early_stopping", model.early_stopping)) if there
    ]
    if asked:
        warn(
            f"{type(model).__name__}: {' and '.join(asked)} {'are' if len(asked) > 1 else 'is'} of mini-batches and left out, as solver='lbfgs' sees all "
            "rows in every step: use solver='adam' or 'sgd', or leave it out.",
            UserWarning,
        )


def warn_of_long_steps(model: Any, halved: int, rate: float) -> None:
    """Say that steps were too long."""
    warn(
        f"{type(model).__name__}: the loss grew beyond all bounds, so steps were made half as long {halved} time(s), to {rate:.2g}, each time from the last "
        f"good epoch on: lower learning_rate_init={model.learning_rate_init:g}.",
        as_seen_by_sklearn(ConvergenceWarning),
    )


def warn_at_end(model: Any, stopping: Stopping) -> None:
    """Say that the fit ended before its loss stayed."""
    name = type(model).__name__
    if model.converged_:
        return
    if stopping.why == INTERRUPTED:
        why, what = "was interrupted", "Fit again with warm_start=True to go on."
    elif stopping.why == OUT_OF_TIME:
        why, what = f"ran out of its max_seconds={model.max_seconds:g}", "Raise max_seconds, or allow a larger tol."
    else:
        limit = f"max_fun={model.max_fun} or max_iter" if model.solver == "lbfgs" else "max_iter"
        why, what = f"stopped at {limit}={model.max_iter}", "Raise it, or allow a larger tol."
    warn(
        f"{name}: the fit {why} after epoch {model.n_iter_} with the loss still falling ({model.loss_curve_[-1]:.4g}); what was found until then is "
        f"kept{f', the weights after epoch {model.best_epoch_}' if model.kept_best_ else ''}. {what}",
        as_seen_by_sklearn(ConvergenceWarning),
    )
