"""L-BFGS on the loss of all rows. Shape: repeated fold.

    F(W, b) = [ Σ_i c_i ℓ(y_i, f(x_i)) + ½ α ‖W‖² ] / Σ_i c_i

Each look is a fold of losses and gradients over the blocks, wherever the rows are; all in float64, as steps are judged by small differences of F.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines import Block, Engine, Rows, fold
from assay.engines.engine import Threads
from assay.estimator.progress import Stopping
from assay.families.networks.architecture import TrainingPlan
from assay.families.networks.epochs import Epoch, divergence_error, has_diverged, squares
from assay.families.networks.training_data import NetworkTask, PreparedBlock, fits_in_memory, prepare_block
from assay.numerics import Floats
from assay.solvers.lbfgs import LbfgsState, Memory, descend

if TYPE_CHECKING:
    from assay.families.networks.training import Trainer

RECENT = 10  # steps that are remembered
STILL = 1e-12  # of F: a fall by less, in several steps in a row, is none
FEW_STILL = 5


class IdentityPreconditioner:
    """No preconditioner: columns are standardised."""

    def solve(self, g: Floats) -> Floats:
        return g

    def renewed(self, number: int, w: Floats) -> IdentityPreconditioner:
        return self


class FullBatchProblem:
    """Steps until the greatest slope is at most `tol`, or looks, steps or time are used up."""

    def __init__(
        self,
        task: NetworkTask,
        plan: TrainingPlan,
        trainer: Trainer,
        engine: Engine,
        rows: Rows,
        weight: float,
        stopping: Stopping,
    ) -> None:
        self.task, self.plan, self.trainer, self.engine, self.stopping = task, plan, trainer, engine, stopping
        self.rows, self.weight = engine.keep(rows), weight  # in rows of the mean weight, as pieces have them
        self.kept: list[PreparedBlock] | None = None
        if engine.opens_in_memory and fits_in_memory(task, rows):
            self.kept = [prepare_block(task, part.load()) for part in rows.blocks()]
        self.evaluations, self.converged, self.halved, self.seen = 0, False, 0, 0
        self.kept_best = False  # each step is better than the one before
        self.until = stopping.begin()

    def evaluate(self, flat: Floats) -> LbfgsState:
        """F and its gradient."""
        self.evaluations += 1
        self.trainer.P = flat
        found = self._fold()
        with np.errstate(over="ignore", invalid="ignore"):
            alpha = self.plan.alpha / self.weight / self.task.unit  # α counts rows of weight 1
            value = found[0] / self.weight + 0.5 * alpha * squares(flat, self.trainer.decays)
            gradient = found[2:] / self.weight + alpha * self.trainer.decays * flat
        return LbfgsState(flat, found[1] / self.weight, float(value), gradient)

    def _fold(self) -> Floats:
        """Σ c loss, Σ c [wrong], and the gradient of the first, as one array."""
        if self.kept is not None:
            from assay.engines.engine import merge_in_order

            found = merge_in_order((gradient_of(self.trainer, piece) for piece in self.kept), _add)
        else:
            found = fold(self.engine, self.rows.blocks(), partial(_absorb, self.task, self.trainer.P), _add)
        assert found is not None
        return found

    def run(self, first: int = 1) -> Iterator[Epoch]:
        """One step after another."""
        recent = Memory(IdentityPreconditioner(), RECENT)
        at = self.evaluate(self.trainer.P)
        still = done = 0
        while done < self.plan.most and not self.stopping.over(self.until, done):
            following = None
            if np.abs(at.gradient).max() > self.plan.tol and self.evaluations < self.plan.max_evaluations:
                following = descend(self.evaluate, at, recent.direction(at.gradient), recent)
            if following is None:
                self.converged = self.evaluations < self.plan.max_evaluations
                break
            still = still + 1 if at.value - following.value <= STILL * abs(at.value) else 0
            recent.remember(following.w - at.w, following.gradient - at.gradient)
            at, done = following, done + 1
            self.seen += round(self.weight)
            yield _epoch(first + done - 1, at)
            if still >= FEW_STILL:
                self.converged = True
                break
        if has_diverged(self.task, at.value):
            raise divergence_error("any length")
        if not done:  # nothing was to be gained
            yield _epoch(first, at)
        self.trainer.P = at.w


def _epoch(number: int, at: LbfgsState) -> Epoch:
    return Epoch(number, at.value, float(at.evaluation), None, at.w)


def gradient_of(trainer: Trainer, piece: PreparedBlock) -> Floats:
    """Σ c loss, Σ c [wrong] and the gradient of one block."""
    judged, gradient = trainer.gradient(piece.rows)
    return np.concatenate([[judged.loss, judged.wrong], gradient])


def _absorb(task: NetworkTask, flat: Floats, block: Block) -> Floats:
    from assay.families.networks.training import Trainer

    trainer = Trainer(task.shape, task.loss, task.shape.layers(np.array(flat)), np.float64, Threads(1))
    return gradient_of(trainer, prepare_block(task, block))


def _add(a: Any, b: Any) -> Any:
    return a + b
