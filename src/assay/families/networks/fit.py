"""What a network's fit says: a line a second while it lasts, and at its end what went otherwise than asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from assay.engines import Engine, Rows
from assay.errors import ConvergenceWarning, as_seen_by_sklearn, warn
from assay.estimator.docstrings import attribute
from assay.estimator.params import Choice, Range, param
from assay.estimator.progress import EVERY, INTERRUPTED, OUT_OF_TIME, Say, Stopping, time_left, to_stderr
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.steps import Step, shown_of, some_of
from assay.families.networks.architecture import ACTIVATIONS, Layer
from assay.families.networks.epochs import Epoch, Epochs, walk_of
from assay.families.networks.full_batch import FullBatchProblem
from assay.families.networks.hyper_parameters import LayerSizes, are_sizes
from assay.families.networks.initial import earlier_layers, first_layers, standard_of
from assay.families.networks.learnt import LearntNetwork
from assay.families.networks.measure import measure
from assay.families.networks.schedule import TrainingPlan
from assay.families.networks.training_data import (
    NetworkSurvey,
    NetworkTask,
    Standardisation,
    count,
    packed,
    survey,
    unpacked,
)
from assay.inputs.labels import Labels
from assay.numerics import Floats

if TYPE_CHECKING:
    from assay.families.networks.epochs import Epoch


class TrainingProgress:
    """Hears of every epoch; the time left is that of all epochs, as a loss that stays may end them earlier."""

    def __init__(
        self, most: int, until: float | None, say: Say | None = None, clock: Callable[[], float] = time.monotonic
    ):
        self.most, self.until, self.clock = most, until, clock
        self.say: Say = say or to_stderr
        self.began = self.last = clock()
        self.heard = 0

    def hear(self, epoch: Epoch) -> None:
        """An epoch ended."""
        self.heard += 1
        now = self.clock()
        if now - self.last < EVERY:
            return
        self.last = now
        left = (now - self.began) / self.heard * (self.most - self.heard)
        left = left if self.until is None else min(left, self.until - now)
        wrong = f", {100 * epoch.wrong:.2f} % wrong" if epoch.wrong else ""
        held = "" if epoch.score is None else f", validation {epoch.score:.4f}"
        self.say(
            f"epoch {epoch.number} of at most {epoch.number - self.heard + self.most}: loss {epoch.loss:.4g}{wrong}{held}, at most "
            f"{time_left(max(0.0, left) if math.isfinite(left) else math.nan)}"
        )


def warn_of_what_is_left_out(model: Any) -> None:
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


# How both networks learn: wherever the rows are, from first weights or from those of an earlier fit.

USUAL_BATCH = 200
NO_PIECES = "solver='lbfgs' needs all rows at once: use solver='adam' or 'sgd'"


def takes_pieces(model: Any) -> bool:
    """Whether a model can learn from some rows now and others later."""
    return bool(model.solver != "lbfgs")


@dataclass
class NetworkFit:
    """A fit under way."""

    task: NetworkTask
    runner: Epochs | FullBatchProblem
    found: NetworkSurvey
    weight: float
    stopping: Stopping
    first: int


class NetworkModel(LearntNetwork):
    """A network and how it learns: one epoch of mini-batches after another, or all rows at once."""

    takes_sparse, fills_sparse = True, True
    ends_by_itself = False  # an epoch more may always make the loss less

    hidden_layer_sizes: Any = param(
        "units of each hidden layer; none: a linear model",
        default=(100,),
        kw_only=False,
        check=LayerSizes("a list of whole numbers ≥ 1, one a layer, such as (20, 10)", check=are_sizes),
    )
    activation: str = param("the function φ that a hidden unit applies to its weighted sum", default="relu", kw_only=False, check=Choice(ACTIVATIONS))  # fmt: skip
    solver: str = param("mini-batches by Adam or plain descent; or all rows at once (small data)", default="adam", check=Choice(("adam", "sgd", "lbfgs")))  # fmt: skip
    alpha: float = param("strength of ½‖W‖², of the weights of standardised columns", default=1e-4, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
    batch_size: Any = param("rows of a mini-batch; 'auto': 200, or all where they are fewer", default="auto", check=Range(int, low=1, words=("auto",)))  # fmt: skip
    learning_rate: str = param("of solver='sgd': as given, falling with the rows seen, or a fifth whenever the loss stays", default="constant", check=Choice(("constant", "invscaling", "adaptive")))  # fmt: skip
    learning_rate_init: float = param("how far a step goes at first", default=1e-3, check=Range(low=0, open_low=True, high=math.inf, open_high=True))  # fmt: skip
    power_t: float = param("of learning_rate='invscaling': rate / (rows seen)^power_t", default=0.5, check=Range())
    max_iter: int = param("most epochs (solver='lbfgs': steps)", default=200, check=Range(int, low=1))
    shuffle: bool = param("visit the rows of each block in a new order in each epoch", default=True)
    random_state: int | None = param("seed of first weights, orders and dropout; None: 0", default=None, check=Range(int, low=0, words=(None,)))  # fmt: skip
    tol: float = param("a loss that falls by less for n_iter_no_change epochs ends the fit (lbfgs: the greatest slope)", default=1e-4, check=Range(low=0))  # fmt: skip
    verbose: bool = param("say a line a second on standard error: epoch, loss, time left", default=False)
    warm_start: bool = param("begin at the weights of the fit before", default=False)
    momentum: float = param("of solver='sgd': share of the last step that is kept", default=0.9, check=Range(low=0, high=1))  # fmt: skip
    nesterovs_momentum: bool = param("of solver='sgd': look ahead by the momentum", default=True)
    early_stopping: bool = param("hold rows out, end when they are answered no better, and keep the best epoch's weights", default=False)  # fmt: skip
    validation_fraction: float = param("of early_stopping: the share of rows held out", default=0.1, check=Range(low=0, open_low=True, high=1, open_high=True))  # fmt: skip
    beta_1: float = param("of solver='adam': memory of the mean slope", default=0.9, check=Range(low=0, high=1, open_high=True))  # fmt: skip
    beta_2: float = param("of solver='adam': memory of the mean squared slope", default=0.999, check=Range(low=0, high=1, open_high=True))  # fmt: skip
    epsilon: float = param("of solver='adam': added to the root of the mean squared slope", default=1e-8, check=Range(low=0, open_low=True, high=math.inf, open_high=True))  # fmt: skip
    n_iter_no_change: int = param("epochs without improvement after which the fit ends", default=10, check=Range(int, low=1))  # fmt: skip
    max_fun: int = param("of solver='lbfgs': most looks at all rows", default=15_000, check=Range(int, low=1))

    dtype: str = attribute()
    output_bias: bool = attribute()
    standardize: bool = attribute()
    max_seconds: float | None = attribute()

    on_progress: Callable[[str], None] | None = attribute(default=None)  # hears a line a second or so of a long fit
    _before: Any = attribute(default=None)  # the fit to go on with
    _in_pieces = False
    step_word = "epoch"

    @property
    def depends_on_order(self) -> bool:
        """Whether the order of the rows matters (then neither is a row of weight n the same as n rows)."""
        return self.solver != "lbfgs"

    # --- what subclasses say ----------------------------------------------------------------------------------------

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels | None:
        return None

    def _class_factors(self, found: NetworkSurvey) -> Floats | None:
        """The factor of each class; None: all 1."""
        return None

    def _keep_target(self, standard: Standardisation) -> None:
        """Set how a number to predict was standardised."""

    # --- taking part in a comparison --------------------------------------------------------------------------------

    @classmethod
    def search_space(cls, kind: str, features: TableTraits) -> SearchSpace | None:
        """Ever more units, and with many of them a stronger and a weaker penalty; rows held out say when to stop."""
        if cls._kind != kind:
            return None
        unfit = "words become many sparse columns, and this model fills in all their zeros" if features.text else None
        usual = {"early_stopping": features.rows >= 2000, "learning_rate_init": 3e-3}
        tried: tuple[tuple[tuple[int, ...], float], ...] = (
            ((32,), 1e-4),
            ((100,), 1.0),
            ((100,), 1e-4),
            ((100, 50), 1e-4),
        )
        search = tuple({"hidden_layer_sizes": sizes, "alpha": alpha, **usual} for sizes, alpha in tried)
        return SearchSpace(search=search, unfit=unfit, rough={"max_iter": 30})

    # --- learning ---------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        if self.warm_start and not self._in_pieces and hasattr(self, "weights_"):
            self._before = copy(self)
        self._net = None
        super()._forget()

    def _fit_in_pieces(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        self._in_pieces = True
        try:
            return self._fit(X, y, sample_weight, afresh=False, classes=classes)
        finally:
            vars(self).pop("_in_pieces", None)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        work = self._begin(engine, rows, afresh, classes)
        epochs = []
        with work.stopping.listening():
            progress = self._watched(work)
            for epoch in work.runner.run(work.first):
                epochs.append(epoch.told())
                if progress is not None:
                    progress.hear(epoch)
            self._finish(engine, rows, work, epochs)
        if isinstance(work.runner, Epochs) and work.runner.halved:
            warn_of_long_steps(self, work.runner.halved, work.runner.pace.rate)
        if self.whole_:
            warn_at_end(self, work.stopping)

    def _begin(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> NetworkFit:
        before, self._before = self._before, None
        labels = self._labels(engine, rows, afresh, classes)
        found = survey(engine, rows, labels)
        factor = self._class_factors(found)
        shape = self._shape_now()
        if afresh:
            standard = standard_of(self, found)
            layers = first_layers(shape, found, int(self.random_state or 0))
            if before is not None:
                layers = earlier_layers(self, before, standard)
        else:
            standard, layers, before = self._standard(), earlier_layers(self, self, self._standard()), copy(self)
        self._before_curves = before
        of_classes = found.weight if factor is None else found.weight * factor
        n = int(found.rows[of_classes > 0].sum())
        weight = float(of_classes.sum())
        held = float(self.validation_fraction) if self._holds_out() else 0.0
        seed, dtype = int(self.random_state or 0), "float64" if self.solver == "lbfgs" else self.dtype
        task = NetworkTask(shape, self._loss_name(), standard, labels, factor, weight / n, dtype, held, seed)
        plan = TrainingPlan.of(self, self._batch(n))
        if plan.solver == "lbfgs":
            warn_of_what_is_left_out(self)
        stopping = Stopping(None if self._in_pieces else self.max_seconds, least=1)
        runner = self._runner(engine, rows, task, plan, layers, n, stopping, None if afresh else self)
        if isinstance(runner, Epochs) and held and before is not None and before.validation_scores_ is not None:
            runner.go_on(float(before.validation_scores_.max()))
        runner.seen = 0 if before is None else int(before.t_)
        return NetworkFit(task, runner, found, weight, stopping, 1 if before is None else int(before.n_iter_) + 1)

    def _holds_out(self) -> bool:
        return bool(self.early_stopping) and self.solver != "lbfgs" and not self._in_pieces

    def _runner(
        self,
        engine: Engine,
        rows: Rows,
        task: NetworkTask,
        plan: TrainingPlan,
        layers: list[Layer],
        n: int,
        stopping: Stopping,
        going_on: NetworkModel | None,
    ) -> Epochs | FullBatchProblem:
        from assay.families.networks.training import Trainer

        trainer = Trainer(task.shape, task.loss, layers, task.dtype, engine.threads(self.n_jobs))
        if plan.solver == "lbfgs":
            return FullBatchProblem(task, plan, trainer, engine, rows, float(n), stopping)
        if going_on is not None and going_on.memory_ is not None and going_on._fitted_with["solver"] == plan.solver:
            p = count(task.shape.widths)
            for kept, at in ((trainer.M, 0), (trainer.V, p))[: len(going_on.memory_) // p]:
                kept[:] = task.shape.flat(unpacked(task.shape.widths, going_on.memory_[at : at + p]), task.dtype)
            trainer.begun = int(going_on.batches_)
        if self._in_pieces:
            plan = plan.once()
        return Epochs(task, plan, trainer, walk_of(engine, rows, task), stopping)

    def _batch(self, n: int) -> int:
        if self.batch_size == "auto":
            return min(USUAL_BATCH, n)
        if self.batch_size > n and not self._in_pieces and self.solver != "lbfgs":
            warn(
                f"{type(self).__name__}: batch_size={self.batch_size} is more than the {n} rows: all of them make one batch.",
                UserWarning,
            )
        return min(int(self.batch_size), n)

    def _watched(self, work: NetworkFit) -> TrainingProgress | None:
        if not self.verbose and self.on_progress is None:
            return None
        return TrainingProgress(int(self.max_iter), work.stopping.deadline, self.on_progress)

    def _finish(self, engine: Engine, rows: Rows, work: NetworkFit, epochs: list[Epoch]) -> None:
        trainer, task = work.runner.trainer, work.task
        self._fitted_with = self.get_params()
        self.weights_ = packed(trainer.layers)
        self.mean_, self.scale_ = task.standard.mean, task.standard.scale
        self._keep_target(task.standard)
        self._keep_curves(task, epochs)
        self.t_, self.kept_best_ = int(work.runner.seen), work.runner.kept_best or None
        self.rows_, self.weight_ = work.found.total, work.weight
        self.converged_, self.whole_ = bool(work.runner.converged), not self._in_pieces
        self.batch_ = work.runner.plan.batch
        self.memory_, self.batches_, self.loss_, self.measured_, self._net = None, 0, None, None, None
        self._provenance, self._claims_made = {}, None
        if self.whole_:
            self._look_back(engine, rows, task, round(work.weight / task.unit))
            ended = {} if self.converged_ or work.stopping.why is None else {"ended": work.stopping.why}
            self._provenance = {"fingerprint": work.found.mark.hex(), **ended}
        else:
            moments = (trainer.M, trainer.V)[: 2 if self.solver == "adam" else 1]
            self.memory_ = np.concatenate([packed(task.shape.layers(m)) for m in moments])
            self.batches_ = int(trainer.begun)
        self._net_of_fit()  # now, so that an answer changes nothing

    def _keep_curves(self, task: NetworkTask, epochs: list[Epoch]) -> None:
        """Losses of all epochs, those of the fit before that this one went on with among them."""
        before = self.__dict__.pop("_before_curves", None)
        unit = task.standard.target_scale**2  # the loss of the target as it is
        loss = np.array([epoch.loss for epoch in epochs]) * unit
        scores = np.array([epoch.score for epoch in epochs], dtype=np.float64) if self._holds_out() else None
        wrong = np.minimum(1.0, [epoch.wrong for epoch in epochs])
        self.n_iter_ = epochs[-1].number
        if before is not None:
            loss, wrong = np.concatenate([before.loss_curve_, loss]), np.concatenate([before._wrong_curve(), wrong])
            if scores is not None:
                earlier = before.validation_scores_
                if earlier is None:  # nothing was held out of those epochs: they count as worse
                    earlier = np.full(len(before.loss_curve_), np.nextafter(scores.min(), -np.inf))
                scores = np.concatenate([earlier, scores])
        self.loss_curve_, self.validation_scores_, self.best_loss_ = loss, scores, float(loss.min())
        self.best_epoch_ = int(loss.argmin() if scores is None else scores.argmax()) + 1
        self._keep_wrong(wrong)

    def _keep_wrong(self, wrong: Floats) -> None:
        """Keep the share of wrong answers in each epoch, where there is one."""

    def _wrong_curve(self) -> Floats:
        return np.zeros(len(self.loss_curve_))

    def _look_back(self, engine: Engine, rows: Rows, task: NetworkTask, many: int) -> None:
        """What the weights do on the rows of the fit."""
        penalty = float(self.alpha) / (self.weight_ if self.solver == "lbfgs" else self.batch_)
        found = measure(engine, rows, task, self._standard_layers(), penalty, many)
        self.measured_ = found.packed()
        self.loss_ = found.loss * task.standard.target_scale**2
        self._keep_error(found.wrong)

    def _keep_error(self, wrong: float) -> None:
        """Keep the share of the fit's rows that are answered wrongly, where there is one."""

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """Weights and loss after each epoch (every `every`-th); the last step is the fitted model."""
        from assay.families.networks.steps import steps_of

        return some_of(steps_of(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """The epochs (if none is the last before `max_iter`, or of the fit), and the fitted model."""
        return shown_of(int(getattr(self, "n_iter_", self.max_iter)) + 1, every)
