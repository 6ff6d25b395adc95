"""Fitting boosted trees: the constant, stage after stage, and when to end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import assay.families.trees.loops.walk  # noqa: F401  (the compiler is there anyway: answers shall use it, where those of a file do without)
from assay.engines import Engine, Part, Rows
from assay.errors import ConvergenceWarning, DataError, ParameterError, warn
from assay.estimator.progress import EVERY, Stopping, time_left, to_stderr
from assay.families.boosting.cross_validation import FoldedBoosting
from assay.families.boosting.losses import Huber, loss_of
from assay.families.boosting.stages import Boosting, Stage, finished, settings_of
from assay.families.boosting.training_rows import training_rows
from assay.families.trees.nodes import TreeNodes, join_trees, split_trees
from assay.numerics import Floats

MOST_STAGES, PATIENCE = 5000, 20  # of n_estimators="auto" and "cv"
EMPTY = 10  # stages in a row without a split, where rows or columns are drawn, that end a fit
FREE_OF_STAGES = ("n_estimators", "n_jobs", "warm_start", "verbose", "max_seconds", "n_iter_no_change", "tol", "folds", "importance_type")  # fmt: skip


class BoostingFit:
    """A model in the making: `boosting` has the scores, `trees` those of all stages so far."""

    def __init__(self, model: Any, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
        self.model, self.afresh = model, afresh
        labels = model._labels(engine, rows, afresh, classes)
        self.K = 0 if labels is None else len(labels.classes)
        self.loss = loss_of(model, self.K)
        self.patience = patience_of(model)
        share = 0.0 if self.patience is None else float(model.validation_fraction)
        self.rows = training_rows(model, engine, rows, labels, share)
        there = self.rows.w > 0
        if labels is None:
            self.loss.check(self.rows.y[there])
        before = None if afresh else split_trees(model._trees)
        self.mixed = not afresh and (model.mixed_ or not _goes_on(model, self.rows.survey.mark))
        start = self.loss.start(self.rows.y[there], self.rows.w[there]) if before is None else model.baseline_
        if before is not None and isinstance(self.loss, Huber):
            self.loss.delta = float(model.delta_)
        self.threads = engine.threads(model.n_jobs)
        self.boosting = Boosting(self.rows, self.loss, settings_of(model, model._seed()), self.threads, start)
        self.trees: list[TreeNodes] = [] if before is None else before
        self.steps: list[float] = [] if before is None else model.step_.tolist()
        if before is not None:
            self.boosting.scores = _scores_of(model, engine, rows)
        self.now = self.boosting.derive()
        self.seen = float(self.boosting.sample(0)[0].sum())  # weight of the rows that the first stage sees
        self.curve = [self.now[0]] if before is None else model.loss_curve_.tolist()
        old = None if before is None else model.validation_curve_
        self.held = [self.now[1]] if old is None else old.tolist()
        self.cv_curve: Floats | None = None
        self.most = self._most()
        self.stopping = Stopping(model.max_seconds, least=1)
        self.ended: str | None = None
        self.error = self.boosting.held_error(self.now[1] or 0.0) if self.patience is not None else None

    def _most(self) -> int:
        asked, have = self.model.n_estimators, len(self.steps)
        if asked in ("auto", "cv"):
            return MOST_STAGES
        if int(asked) < have:
            raise ParameterError(
                f"{type(self.model).__name__}: n_estimators={asked} is less than the {have} stages of the fit before (warm_start): give at "
                f"least {have}, or fit with warm_start=False."
            )
        return int(asked)

    def _cross_validate(self) -> None:
        """Find by cross-validation how many stages are best."""
        model, begun, told = self.model, time.monotonic(), time.monotonic()
        patience = PATIENCE if model.n_iter_no_change is None else int(model.n_iter_no_change)
        make = partial(loss_of, model, self.K)
        folded = FoldedBoosting(self.rows, make, self.K > 0, self.boosting.settings, self.threads, int(model.folds))
        half = None if self.stopping.deadline is None else 0.5 * (self.stopping.deadline + self.stopping.clock())
        while len(folded.curve) <= MOST_STAGES and not folded.enough(patience, model.tol):
            folded.grow()
            if model.verbose and time.monotonic() - told > EVERY:
                told = time.monotonic()
                to_stderr(
                    f"cross-validation, stage {len(folded.curve) - 1}: held out {folded.curve[-1]:.6g}, {told - begun:.0f} s"
                )
            if self.stopping.over(half, len(folded.curve)):
                break
        self.cv_curve = np.array(folded.curve)
        self.most = max(folded.best, len(self.steps), 1)

    def run(self) -> Iterator[Stage]:
        """Stage after stage until it is to end."""
        if self.model.n_estimators == "cv":
            self._cross_validate()
        begun, told, empty = time.monotonic(), time.monotonic(), 0
        settings = self.boosting.settings
        if self.now[0] == 0.0 or len(self.steps) >= self.most:
            return
        for stage in self.boosting.stages(len(self.steps), self.now):
            splits = sum(len(tree.values) > 1 for tree in stage.trees)
            if stage.rose or not splits:
                drawn = settings.rows < 1 or settings.columns < 1
                empty += 1
                if not drawn or empty >= EMPTY:
                    self.ended = "no step lowers the training loss" if stage.rose else "no split gains anything"
                    return
            else:
                empty = 0
            factor = 0.0 if stage.rose else settings.rate * stage.step
            self.trees += [finished(tree, factor) for tree in stage.trees]
            self.steps.append(0.0 if stage.rose else stage.step)
            self.curve.append(self.curve[-1] if stage.rose else stage.loss)
            self.held.append(stage.held)
            self._keep_error()
            yield stage
            if self.model.verbose and time.monotonic() - told > EVERY:
                told = time.monotonic()
                self._tell(told - begun)
            if self._enough() or len(self.steps) >= self.most:
                return
            if self.stopping.over(None if self.stopping.deadline is None else self.stopping.deadline, len(self.steps)):
                return

    def _tell(self, seconds: float) -> None:
        done, left = len(self.steps), self.most - len(self.steps)
        held = "" if self.held[-1] is None else f", held out {self.held[-1]:.6g}"
        until = seconds * left / max(1, done)
        if self.stopping.deadline is not None:
            until = min(until, self.stopping.deadline - self.stopping.clock())
        to_stderr(f"stage {done} of {self.most}: training loss {self.curve[-1]:.6g}{held}, {time_left(until)}")

    def best(self) -> int:
        """The number of stages after which the rows held out were answered best."""
        return int(np.argmin(np.array(self.held, dtype=np.float64)))

    def _keep_error(self) -> None:
        """Of the best stage so far the standard error of the loss of the rows held out."""
        if self.patience is not None and self.best() == len(self.steps):
            self.error = self.boosting.held_error(float(self.held[-1] or 0.0))

    def _enough(self) -> bool:
        """Whether the last stages have answered the rows held out no better."""
        if self.patience is None or len(self.held) <= self.patience:
            return self.curve[-1] == 0.0
        losses = np.array(self.held, dtype=np.float64)
        earlier, late = losses[: -self.patience].min(), losses[-self.patience :].min()
        return not late < earlier * (1 - self.model.tol)

    def finish(self) -> None:
        """Keep what was learnt in the model."""
        model, K = self.model, self.loss.trees
        stages = len(self.steps) if self.patience is None else self.best()
        if not self.trees or not stages:
            constant = [_constant(self.seen)] * K
            self.trees, self.steps, self.curve = constant + self.trees, [0.0, *self.steps], [self.curve[0], *self.curve]
            self.held = [self.held[0], *self.held]
            stages = 1
            warn(
                f"{type(model).__name__}: no split of these rows gains anything, so it answers with a constant: lower min_samples_leaf="
                f"{model.min_samples_leaf} or min_gain_to_split, or give columns that vary.",
                ConvergenceWarning,
            )
        trees = join_trees(self.trees[: stages * K])
        model._keep_parts(trees)
        model.gain_, model.baseline_ = trees.gain, np.asarray(self.boosting.start, dtype=np.float64)
        model.step_, model.loss_curve_ = np.array(self.steps[:stages]), np.array(self.curve[: stages + 1])
        model.validation_curve_ = None if self.patience is None else np.array(self.held, dtype=np.float64)
        model.held_error_, model.cv_curve_ = self.error, self.cv_curve
        model.delta_ = float(self.loss.delta) if isinstance(self.loss, Huber) else None
        model.mixed_ = self.mixed
        model.weight_, model.rows_ = float(self.rows.w.sum()), self.rows.n
        codes = self.rows.categories.code
        model.category_code_ = codes if len(codes) else None
        lacking = self.rows.survey.missing
        model.missing_columns_ = lacking.astype(np.uint8) if lacking.any() else None
        why = self.stopping.why if len(self.steps) < self.most else None
        ended = why or self.ended
        model._provenance = {"fingerprint": self.rows.survey.mark.hex(), **({"ended": ended} if ended else {})}
        model._made = {}


def _constant(weight: float) -> TreeNodes:
    """A tree of one leaf that adds nothing."""
    none = np.zeros(0)
    return TreeNodes(
        np.full(1, -1, np.int32),
        none,
        np.zeros(0, np.uint8),
        np.zeros(1, np.uint32),
        np.zeros((0, 4), np.uint64),
        np.array([[0.0, weight]]),
        none,
    )


def patience_of(model: Any) -> int | None:
    """Stages without gain that end a fit; None: it ends by their number alone."""
    if model.n_estimators == "cv":
        return None
    if model.n_iter_no_change is not None:
        return int(model.n_iter_no_change)
    return PATIENCE if model.n_estimators == "auto" else None


def learn(model: Any, engine: Engine, rows: Rows, afresh: bool, classes: Any) -> None:
    """Fit on rows."""
    if not afresh:
        _check_same(model)
    work = BoostingFit(model, engine, rows, afresh, classes)
    with work.stopping.listening():
        for _ in work.run():
            pass
    work.finish()
    model._state_claims()


def _check_same(model: Any) -> None:
    """Raise where warm_start would mix what cannot be."""
    for name in ("loss", "quantile", "alpha", "power"):
        if name in model.params and getattr(model, name) != model._fitted_with[name]:
            raise ParameterError(
                f"{type(model).__name__}: warm_start adds to stages of {name}={model._fitted_with[name]!r}, and it is {getattr(model, name)!r} now: "
                "set it back, or fit with warm_start=False."
            )


def _goes_on(model: Any, mark: bytes) -> bool:
    """Whether warm_start adds the stages that one fit would have: the same rows and settings."""
    same = all(getattr(model, k) == v for k, v in model._fitted_with.items() if k not in FREE_OF_STAGES)
    return bool(same and model.provenance_.get("fingerprint") == mark.hex())


class _Scores:
    """The scores of a block, without the constant."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, part: Part) -> Floats:
        found: Floats = self.model._sums(part.load().X)
        return found


def _scores_of(model: Any, engine: Engine, rows: Rows) -> Floats:
    """(C, n): what the trees so far add up to."""
    parts = list(engine.reader().map(_Scores(model), rows.blocks()))
    if not parts:
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return np.ascontiguousarray(np.concatenate(parts).T)
