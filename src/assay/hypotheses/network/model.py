"""What both networks share: fitting wherever the rows are, going on with earlier weights, answering, and the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from assay.certify import Claim
from assay.engines import Block, Engine, Rows
from assay.engines.threads import Threads
from assay.errors import ModelFileError, tell
from assay.hypotheses.network.beginning import earlier_layers, first_layers, shape_of, standard_of
from assay.hypotheses.network.epochs import Epoch, Epochs
from assay.hypotheses.network.measure import measure
from assay.hypotheses.network.net import Net
from assay.hypotheses.network.parts import LAYOUT, PARAMS, hidden_sizes
from assay.hypotheses.network.plan import Plan
from assay.hypotheses.network.saying import Progress, warn_at_end
from assay.hypotheses.network.standard import Standard, count, packed, unpacked
from assay.hypotheses.network.survey import Survey, survey
from assay.hypotheses.network.task import Task
from assay.hypotheses.network.walks import walk_of
from assay.hypotheses.network.whole_batch import WholeBatch
from assay.inputs import refuse_non_finite, refuse_overflow
from assay.labels import Labels
from assay.layout import Layout
from assay.learner import Learner, Step
from assay.learner.prospect import Features, Prospect
from assay.learner.stopping import Stopping
from assay.networks import Layer, Shape
from assay.numerics import Floats
from assay.params import Param
from assay.store import Record

USUAL_BATCH = 200


@dataclass
class Work:
    """A fit under way."""

    task: Task
    runner: Epochs | WholeBatch
    found: Survey
    weight: float
    stopping: Stopping
    first: int


class NetworkModel(Learner):
    """f(x) = W_Lᵀ φ(… φ(W₁ᵀ x + b₁) …) + b_L."""

    params: ClassVar[Mapping[str, Param]] = PARAMS
    layout: ClassVar[Layout] = LAYOUT
    slow_rows: ClassVar[int | None] = 4096
    ends_by_itself = False  # an epoch more may always make the loss less

    hidden_layer_sizes: Any
    activation: str
    solver: str
    alpha: float
    batch_size: Any
    max_iter: int
    max_fun: int
    learning_rate_init: float
    early_stopping: bool
    validation_fraction: float
    random_state: int | None
    warm_start: bool
    verbose: bool
    dtype: str
    output_bias: bool
    standardize: bool
    max_seconds: float | None

    weights_: Floats
    mean_: Floats
    scale_: Floats
    loss_curve_: Floats
    validation_scores_: Floats | None
    n_iter_: int
    best_epoch_: int
    best_loss_: float | None
    loss_: float | None
    measured_: Floats | None
    batch_: int
    t_: int
    rows_: int
    weight_: float
    converged_: bool
    whole_: bool
    memory_: Floats | None
    batches_: int

    on_progress: Callable[[str], None] | None = None  # hears a line a second or so of a long fit
    _before: Any = None  # the fit to go on with
    _in_pieces = False
    _net: Net | None = None

    # --- what subclasses say ----------------------------------------------------------------------------------------

    def _loss_name(self) -> str:
        raise NotImplementedError

    def _outputs_of_fit(self) -> int:
        """How many numbers the last layer gives."""
        raise NotImplementedError

    def _labels(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Labels | None:
        return None

    def _class_factors(self, found: Survey) -> Floats | None:
        """The factor of each class; None: all 1."""
        return None

    def _keep_target(self, standard: Standard) -> None:
        """Set how a number to predict was standardised."""

    def _standard(self) -> Standard:
        """How the rows of the fit were standardised."""
        return Standard(self.mean_, self.scale_)

    # --- taking part in a comparison --------------------------------------------------------------------------------

    @classmethod
    def prospect(cls, kind: str, features: Features) -> Prospect | None:
        """Ever more units, and with many of them a stronger and a weaker penalty; rows held out say when to stop."""
        if cls._kind != kind:
            return None
        unfit = "words become many sparse columns, and this model takes dense ones" if features.text else None
        usual = {"early_stopping": features.rows >= 500, "learning_rate_init": 3e-3}
        tried: tuple[tuple[tuple[int, ...], float], ...] = (
            ((32,), 1e-4),
            ((100,), 1.0),
            ((100,), 1e-4),
            ((100, 50), 1e-4),
        )
        search = tuple({"hidden_layer_sizes": sizes, "alpha": alpha, **usual} for sizes, alpha in tried)
        return Prospect(search=search, unfit=unfit, rough={"max_iter": 30})

    def complexity(self) -> float:
        """The weights and biases that are free."""
        self._check_fitted()
        shape = self._shape()
        return float(count(shape.widths) - (0 if shape.output_bias else shape.widths[-1]))

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
                epochs.append(epoch._replace(flat=epoch.flat[:0]))
                if progress is not None:
                    progress.hear(epoch)
            self._finish(engine, rows, work, epochs)
        if self.whole_:
            rate = work.runner.pace.rate if isinstance(work.runner, Epochs) else None
            warn_at_end(self, work.stopping, work.runner.halved, rate)

    def _begin(self, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> Work:
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
        task = Task(shape, self._loss_name(), standard, labels, factor, weight / n, dtype, held, seed)
        plan = Plan.of(self, self._batch(n))
        stopping = Stopping(None if self._in_pieces else self.max_seconds, least=1)
        runner = self._runner(engine, rows, task, plan, layers, n, stopping, None if afresh else self)
        if isinstance(runner, Epochs) and held and before is not None and before.validation_scores_ is not None:
            runner.go_on(float(before.validation_scores_.max()))
        return Work(task, runner, found, weight, stopping, 1 if before is None else int(before.n_iter_) + 1)

    def _holds_out(self) -> bool:
        return bool(self.early_stopping) and self.solver != "lbfgs" and not self._in_pieces

    def _runner(
        self,
        engine: Engine,
        rows: Rows,
        task: Task,
        plan: Plan,
        layers: list[Layer],
        n: int,
        stopping: Stopping,
        going_on: NetworkModel | None,
    ) -> Epochs | WholeBatch:
        from assay.networks.training import Trainer

        workers = Threads(engine.workers if isinstance(engine, Threads) else self.n_jobs)
        trainer = Trainer(task.shape, task.loss, layers, task.dtype, workers)
        if plan.solver == "lbfgs":
            return WholeBatch(task, plan, trainer, engine, rows, float(n), stopping)
        if going_on is not None and going_on.memory_ is not None:
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
            tell(
                f"{type(self).__name__}: batch_size={self.batch_size} is more than the {n} rows: all of them make one batch.",
                UserWarning,
            )
        return min(int(self.batch_size), n)

    def _watched(self, work: Work) -> Progress | None:
        if not self.verbose and self.on_progress is None:
            return None
        return Progress(int(self.max_iter), work.stopping.deadline, self.on_progress)

    def _finish(self, engine: Engine, rows: Rows, work: Work, epochs: list[Epoch]) -> None:
        trainer, task = work.runner.trainer, work.task
        self._fitted_with = self.get_params()
        self.weights_ = packed(trainer.layers)
        self.mean_, self.scale_ = task.standard.mean, task.standard.scale
        self._keep_target(task.standard)
        self._keep_curves(task, epochs)
        self.t_ = int(getattr(self, "t_", 0)) + work.runner.seen
        self.rows_, self.weight_ = work.found.total, work.weight
        self.converged_, self.whole_ = bool(work.runner.converged), not self._in_pieces
        self.batch_ = work.runner.plan.batch
        self.memory_, self.batches_, self.loss_, self.measured_, self._net = None, 0, None, None, None
        self._provenance, self._made = {}, None
        if self.whole_:
            self._look_back(engine, rows, task, round(work.weight / task.unit))
            self._provenance = {"fingerprint": work.found.mark.hex()}
        else:
            moments = (trainer.M, trainer.V)[: 2 if self.solver == "adam" else 1]
            self.memory_ = np.concatenate([packed(task.shape.layers(m)) for m in moments])
            self.batches_ = int(trainer.begun)
        self._net_of_fit()  # now, so that an answer changes nothing

    def _keep_curves(self, task: Task, epochs: list[Epoch]) -> None:
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

    def _look_back(self, engine: Engine, rows: Rows, task: Task, many: int) -> None:
        """What the weights do on the rows of the fit."""
        penalty = float(self.alpha) / (self.weight_ if self.solver == "lbfgs" else self.batch_)
        found = measure(engine, rows, task, self._standard_layers(), penalty, many)
        self.measured_ = found.packed()
        self.loss_ = found.loss * task.standard.target_scale**2
        self._keep_error(found.wrong)

    def _keep_error(self, wrong: float) -> None:
        """Keep the share of the fit's rows that are answered wrongly, where there is one."""

    # --- claims -----------------------------------------------------------------------------------------------------

    _made: tuple[Claim, ...] | None = ()

    @property  # type: ignore[override]
    def _claims(self) -> tuple[Claim, ...]:
        """Made when they are first asked for: a search fits many models and asks none of them."""
        if self._made is None:
            fitted = copy(self)
            vars(fitted).update(self._fitted_with)  # whatever set_params did since
            self._made = fitted._make_claims()
        return self._made

    @_claims.setter
    def _claims(self, claims: tuple[Claim, ...]) -> None:
        self._made = claims

    def _make_claims(self) -> tuple[Claim, ...]:
        from assay.hypotheses.network.claims import network_claims

        return network_claims(self)

    # --- answering --------------------------------------------------------------------------------------------------

    def _shape_now(self) -> Shape:
        return shape_of(self, self.get_params(), self._outputs_of_fit())

    def _shape(self) -> Shape:
        """The shape of the fit."""
        return shape_of(self, self._fitted_with, self._outputs_of_fit())

    def _standard_layers(self) -> list[Layer]:
        """The layers that answer standardised rows."""
        return unpacked(self._shape().widths, self.weights_)

    def _layers(self) -> list[Layer]:
        """The layers that answer rows as they are."""
        return self._net_of_fit().folded

    def _net_of_fit(self) -> Net:
        if self._net is None:
            self._net = Net.of(self._standard(), self._standard_layers(), self._fitted_with["activation"])
        return self._net

    def _f(self, block: Block) -> Floats:
        """f(x) of every row: (n, outputs)."""
        self._check_fitted()
        X = block.X
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
        """Layers of units, inputs and outputs among them."""
        self._check_fitted()
        return len(self._shape().widths)

    @property
    def n_outputs_(self) -> int:
        """Units of the last layer."""
        self._check_fitted()
        return self._shape().widths[-1]

    def steps(self, X: Any, y: Any = None, sample_weight: Any = None, *, every: int | None = None) -> Iterator[Step]:
        """Weights and loss after each epoch (every `every`-th); the last step is the fitted model."""
        from assay.hypotheses.network.steps import steps_of

        return steps_of(self, X, y, sample_weight, every or 1)

    # --- file -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_net", "_before", "on_progress")}

    def _restore(self, record: Record) -> None:
        super()._restore(record)
        for name, part in self.layout.items():
            if part.optional and name not in vars(self):
                setattr(self, name, None)
        p = count(self._shape().widths) if len(hidden_sizes(self.hidden_layer_sizes)) < 64 else -1
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
        if self.n_iter_ != e or not 1 <= self.best_epoch_ <= e:
            raise ModelFileError("The model file's epochs are not those of its losses.")
        if self.whole_ == (self.memory_ is not None) or not (
            self.whole_ == (self.loss_ is not None) == (self.measured_ is not None)
        ):
            raise ModelFileError("The model file's weights are of a whole fit or of pieces, not of both.")
        if self.memory_ is not None and len(self.memory_) != p * (2 if self.solver == "adam" else 1):
            raise ModelFileError("The model file's memory of earlier steps is not that of its weights.")
