"""What both networks share: how they learn, wherever the rows are, from first weights or from those of an earlier fit; answers and file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.certify.claim import claims_are_wanted
from assay.engines import Block, Engine, Rows, SparseMatrix, block_rows
from assay.engines.rows import cut
from assay.errors import ModelFileError, ParameterError, warn
from assay.estimator.estimator import Estimator
from assay.estimator.layout import Layout
from assay.estimator.params import Choice, Flag, Range, Seed, attribute, param
from assay.estimator.progress import Stopping
from assay.estimator.search_space import SearchSpace, TableTraits
from assay.estimator.shown import Shown
from assay.estimator.steps import Step, shown_of, some_of
from assay.families.networks.architecture import (
    ACTIVATIONS,
    LAYOUT,
    FittedNetwork,
    Layer,
    LayerSizes,
    NetworkShape,
    Standardisation,
    TrainingPlan,
    are_sizes,
    count,
    packed,
    seed_of,
    shape_of,
    unpacked,
)
from assay.families.networks.claims import COVERAGE, measure
from assay.families.networks.epochs import Epoch, Epochs, batches_of
from assay.families.networks.full_batch import FullBatchProblem
from assay.families.networks.steps import (
    TrainingProgress,
    steps_of,
    warn_at_end,
    warn_of_ignored,
    warn_of_long_steps,
)
from assay.families.networks.training_data import (
    NetworkSurvey,
    NetworkTask,
    earlier_layers,
    first_layers,
    standard_of,
    survey,
)
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.inputs.labels import Labels
from assay.numerics import Floats
from assay.store import Record

USUAL_BATCH = 200
NO_PARTIAL_FIT = "solver='lbfgs' needs all rows at once: use solver='adam' or 'sgd'"


def supports_partial_fit(model: Any) -> bool:
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


class NetworkModel(Estimator):
    """A network and how it learns: one epoch of mini-batches after another, or all rows at once.

    f(x) = W_Lᵀ φ(… φ(W₁ᵀ x + b₁) …) + b_L
    """

    coverage = COVERAGE
    layout: ClassVar[Layout] = LAYOUT
    slow_rows: ClassVar[int | None] = 4096
    takes_sparse, fills_sparse = True, True
    ends_by_itself = False  # an epoch more may always make the loss less

    hidden_layer_sizes: Any = param(
        "units of each hidden layer; none: a linear model",
        default=(100,),
        kw_only=False,
        says="{} units",
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
    random_state: int | None = param("seed of first weights, orders and dropout; None: 0", default=None, check=Seed(words=(None,)))  # fmt: skip
    tol: float = param("a loss that falls by less for n_iter_no_change epochs ends the fit (lbfgs: the greatest slope)", default=1e-4, check=Range(low=0, high=np.inf, open_high=True))  # fmt: skip
    verbose: bool = param(
        "say a line a second on standard error: epoch, loss, time left", default=False, check=Flag(or_number=True)
    )
    warm_start: bool = param("begin at the weights of the fit before", default=False)
    momentum: float = param("of solver='sgd': share of the last step that is kept", default=0.9, check=Range(low=0, high=1))  # fmt: skip
    nesterovs_momentum: bool = param("of solver='sgd': look ahead by the momentum", default=True)
    early_stopping: bool = param("hold rows out, end when they are answered no better, and keep the best epoch's weights", default=False)  # fmt: skip
    validation_fraction: float = param("of early_stopping: the share of rows held out", default=0.1, check=Range(low=0, open_low=True, high=1, open_high=True))  # fmt: skip
    beta_1: float = param("of solver='adam': memory of the mean slope", default=0.9, check=Range(low=0, high=1, open_high=True))  # fmt: skip
    beta_2: float = param("of solver='adam': memory of the mean squared slope", default=0.999, check=Range(low=0, high=1, open_high=True))  # fmt: skip
    epsilon: float = param("of solver='adam': added to the root of the mean squared slope", default=1e-8, check=Range(low=0, open_low=True, high=math.inf, open_high=True))  # fmt: skip
    n_iter_no_change: float = param("epochs without improvement after which the fit ends; inf: it never does for that", default=10, check=Range(int, low=1, or_infinity=True))  # fmt: skip
    max_fun: int = param("of solver='lbfgs': most looks at all rows", default=15_000, check=Range(int, low=1))

    dtype: str = attribute()
    output_bias: bool = attribute()
    standardize: bool = attribute()
    max_seconds: float | None = attribute()

    weights_: Floats = attribute()
    mean_: Floats = attribute()
    scale_: Floats = attribute()
    loss_curve_: Floats = attribute()
    validation_scores_: Floats | None = attribute()
    n_iter_ = Shown(lambda model, kept: kept - (model.earlier_ or 0))
    earlier_: int | None = attribute(default=None)
    best_epoch_: int = attribute()
    kept_best_: bool | None = attribute()
    best_loss_: float | None = attribute()
    loss_: float | None = attribute()
    measured_: Floats | None = attribute()
    batch_: int = attribute()
    t_: int = attribute()
    rows_: int = attribute()
    weight_: float = attribute()
    converged_: bool = attribute()
    whole_: bool = attribute()
    memory_: Floats | None = attribute()
    batches_: int = attribute()

    _net: FittedNetwork | None = attribute(default=None)

    on_progress: Callable[[str], None] | None = attribute(default=None)  # hears a line a second or so of a long fit
    _before: Any = attribute(default=None)  # the fit to go on with
    _partial = False
    step_word = "epoch"

    @property
    def depends_on_order(self) -> bool:
        """Whether the order of the rows matters (then neither is a row of weight n the same as n rows)."""
        return self.solver != "lbfgs"

    # --- what subclasses define -------------------------------------------------------------------------------------

    def _loss_name(self) -> str:
        raise NotImplementedError

    def _outputs_of_fit(self) -> int:
        """How many numbers the last layer gives."""
        raise NotImplementedError

    def _standard(self) -> Standardisation:
        """How the rows of the fit were standardised."""
        return Standardisation(self.mean_, self.scale_)

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
        """Ever more units, and with many of them a stronger and a weaker penalty. Rows held out say when to stop; where they are too few, 100 epochs
        do about as well as 200."""
        if cls._kind != kind:
            return None
        many = features.rows >= 2000
        usual = {"early_stopping": many, "learning_rate_init": 3e-3, **({} if many else {"max_iter": 100})}
        tried: tuple[tuple[tuple[int, ...], float], ...] = (
            ((32,), 1e-4),
            ((100,), 1.0),
            ((100,), 1e-4),
            ((100, 50), 1e-4),
        )
        search = tuple({"hidden_layer_sizes": sizes, "alpha": alpha, **usual} for sizes, alpha in tried)
        return SearchSpace(search=search, rough={"max_iter": 30}, cost=5.0)

    # --- learning ---------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        if self.warm_start and not self._partial and hasattr(self, "weights_"):
            self._before = copy(self)
        self._net = None
        super()._forget()

    def _fit_more(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        if self.early_stopping:
            raise ParameterError(
                "partial_fit does not support early_stopping=True: it holds no rows out. Set early_stopping=False."
            )
        self._partial = True
        try:
            return self._fit(X, y, sample_weight, afresh=False, classes=classes)
        finally:
            vars(self).pop("_partial", None)

    def _learn(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        work = self._prepare_fit(engine, rows, afresh, classes)
        epochs = []
        with work.stopping.listening():
            progress = self._progress(work)
            for epoch in work.runner.run(work.first):
                epochs.append(epoch.without_weights())
                if progress is not None:
                    progress.epoch_ended(epoch)
            self._finish(engine, rows, work, epochs)
        if isinstance(work.runner, Epochs) and work.runner.halved:
            warn_of_long_steps(self, work.runner.halved, work.runner.schedule.rate)
        if self.whole_:
            warn_at_end(self, work.stopping)

    def _prepare_fit(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> NetworkFit:
        before, self._before = self._before, None
        labels = self._labels(engine, rows, afresh, classes)
        found = survey(engine, rows, labels)
        factor = self._class_factors(found)
        shape = self._shape_now()
        if afresh:
            standard = standard_of(self, found)
            layers = first_layers(shape, found, seed_of(self))
            if before is not None:
                layers = earlier_layers(self, before, standard)
        else:
            standard, layers, before = self._standard(), earlier_layers(self, self, self._standard()), copy(self)
        self._before_curves = before
        of_classes = found.weight if factor is None else found.weight * factor
        n = int(found.rows[of_classes > 0].sum())
        weight = float(of_classes.sum())
        held = float(self.validation_fraction) if self._holds_out() else 0.0
        seed, dtype = seed_of(self), "float64" if self.solver == "lbfgs" else self.dtype
        task = NetworkTask(shape, self._loss_name(), standard, labels, factor, weight / n, dtype, held, seed)
        plan = TrainingPlan.of(self, self._batch(n))
        if plan.solver == "lbfgs":
            warn_of_ignored(self)
        stopping = Stopping(None if self._partial else self.max_seconds, least=1)
        runner = self._runner(engine, rows, task, plan, layers, n, stopping, None if afresh else self)
        if isinstance(runner, Epochs) and held and before is not None and before.validation_scores_ is not None:
            runner.resume(float(before.validation_scores_.max()))
        runner.seen = 0 if before is None else int(before.t_)
        return NetworkFit(
            task, runner, found, weight, stopping, 1 if before is None else int(before._part("n_iter_")) + 1
        )

    def _holds_out(self) -> bool:
        return bool(self.early_stopping) and self.solver != "lbfgs" and not self._partial

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
            trainer.n_batches = int(going_on.batches_)
        if self._partial:
            plan = plan.once()
        return Epochs(task, plan, trainer, batches_of(engine, rows, task), stopping)

    def _batch(self, n: int) -> int:
        if self.batch_size == "auto":
            return min(USUAL_BATCH, n)
        if self.batch_size > n and not self._partial and self.solver != "lbfgs":
            warn(
                f"{type(self).__name__}: batch_size={self.batch_size} is more than the {n} rows: all of them make one batch.",
                UserWarning,
            )
        return min(int(self.batch_size), n)

    def _progress(self, work: NetworkFit) -> TrainingProgress | None:
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
        self.converged_, self.whole_ = bool(work.runner.converged), not self._partial
        self.batch_ = work.runner.plan.batch
        self.memory_, self.batches_, self.loss_, self.measured_, self._net = None, 0, None, None, None
        self._provenance, self._claims_made = {}, None
        if self.whole_:
            if claims_are_wanted():
                self._measure_fit(engine, rows, task, round(work.weight / task.unit))
            ended = {} if self.converged_ or work.stopping.why is None else {"ended": work.stopping.why}
            self._provenance = {"fingerprint": work.found.mark.hex(), **ended}
        else:
            moments = (trainer.M, trainer.V)[: 2 if self.solver == "adam" else 1]
            self.memory_ = np.concatenate([packed(task.shape.layers(m)) for m in moments])
            self.batches_ = int(trainer.n_batches)
        self._net_of_fit()  # now, so that an answer changes nothing

    def _keep_curves(self, task: NetworkTask, epochs: list[Epoch]) -> None:
        """Losses of all epochs, those of the fit before that this one went on with among them."""
        before = self.__dict__.pop("_before_curves", None)
        unit = task.standard.target_scale**2  # the loss of the target as it is
        loss = np.array([epoch.loss for epoch in epochs]) * unit
        scores = np.array([epoch.score for epoch in epochs], dtype=np.float64) if self._holds_out() else None
        wrong = np.minimum(1.0, [epoch.wrong for epoch in epochs])
        self.n_iter_ = epochs[-1].number
        self.earlier_ = None if before is None or self._partial else int(before._part("n_iter_"))
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

    def _measure_fit(self, engine: Engine, rows: Rows, task: NetworkTask, many: int) -> None:
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
        return some_of(steps_of(self, X, y, sample_weight), every)

    def n_steps(self, rows: int, every: int | None = None) -> int | None:
        """The epochs (if none is the last before `max_iter`, or of the fit), and the fitted model."""
        return shown_of(int(getattr(self, "n_iter_", self.max_iter)) + 1, every)

    # --- answering --------------------------------------------------------------------------------------------------

    def _shape_now(self) -> NetworkShape:
        return shape_of(self, self.get_params(), self._outputs_of_fit())

    def _shape(self) -> NetworkShape:
        """The shape of the fit."""
        return shape_of(self, self._fitted_with, self._outputs_of_fit())

    def _standard_layers(self) -> list[Layer]:
        """The layers that answer standardised rows."""
        return unpacked(self._shape().widths, self.weights_)

    def _layers(self) -> list[Layer]:
        """The layers that answer rows as they are."""
        return self._net_of_fit().folded

    def _net_of_fit(self) -> FittedNetwork:
        if self._net is None:
            self._net = FittedNetwork.of(self._standard(), self._standard_layers(), self._fitted_with["activation"])
        return self._net

    def _f(self, block: Block) -> Floats:
        """f(x) of every row: (n, outputs)."""
        self._check_fitted()
        X = block.X
        if isinstance(X, SparseMatrix):
            return np.concatenate(
                [self._f(piece._replace(X=piece.X.toarray())) for piece in cut(block, block_rows(X.n_columns))]
            )
        if not np.isfinite(X).all():
            refuse_non_finite(X, block.start, self._column_names())
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            F = self._net_of_fit()(X)
        if not np.isfinite(F).all():
            refuse_overflow(X, block.start, self._column_names())
        return F

    @property
    def coefs_(self) -> list[Floats]:
        """Weights (units before, units) of each layer, for columns as they are."""
        self._check_fitted()
        return [layer.weights for layer in self._layers()]

    @property
    def intercepts_(self) -> list[Floats]:
        """Biases (units,) of each layer."""
        self._check_fitted()
        return [layer.biases for layer in self._layers()]

    @property
    def n_layers_(self) -> int:
        """The number of layers of units, inputs and outputs among them."""
        self._check_fitted()
        return len(self._shape().widths)

    @property
    def n_outputs_(self) -> int:
        """The number of units of the last layer."""
        self._check_fitted()
        return self._shape().widths[-1]

    def complexity(self) -> float:
        """The weights and biases that are free."""
        self._check_fitted()
        shape = self._shape()
        return float(count(shape.widths) - (0 if shape.output_bias else shape.widths[-1]))

    # --- claims -----------------------------------------------------------------------------------------------------

    def _make_claims(self) -> tuple[Claim, ...]:
        from assay.families.networks.claims import network_claims

        return network_claims(self)

    # --- file -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_net", "_before", "on_progress")}

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        for name, part in self.layout.items():
            if part.optional and name not in vars(self):
                setattr(self, name, None)
        p = count(self._shape().widths)
        if len(self.weights_) != p:
            raise ModelFileError("The model file's weights are not those of its layers.")
        shape = self._shape()
        if not shape.output_bias and np.any(self._standard_layers()[-1].biases != 0):
            raise ModelFileError("The model file's outputs have biases, against its output_bias=False.")
        if not np.all(self.scale_ > 0):
            raise ModelFileError("The model file's columns have a scale of zero.")
        if not all(np.isfinite(part).all() for layer in self._layers() for part in layer):
            raise ModelFileError("The model file's weights overflow in the units of its columns.")
        e = len(self.loss_curve_)
        if vars(self)["n_iter_"] != e or (self.earlier_ or 0) >= e or not 1 <= self.best_epoch_ <= e:
            raise ModelFileError("The model file's epochs are not those of its losses.")
        if self.whole_ == (self.memory_ is not None) or not (
            self.whole_ == (self.loss_ is not None) == (self.measured_ is not None)
        ):
            raise ModelFileError("The model file's weights are of a whole fit or of pieces, not of both.")
        if self.memory_ is not None and len(self.memory_) != p * (2 if self.solver == "adam" else 1):
            raise ModelFileError("The model file's memory of earlier steps is not that of its weights.")
