"""How weights are changed, how fast, and when that ends. scikit-learn's rules."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

SMALLEST_RATE = 1e-6  # of learning_rate="adaptive": below it the fit ends
FALL = 5.0  # by which an adaptive rate is divided


@dataclass(frozen=True)
class TrainingPlan:
    """What the hyper-parameters say of a fit."""

    solver: str
    alpha: float
    batch: int
    schedule: str
    rate: float
    power: float
    most: int
    shuffle: bool
    tol: float
    momentum: float
    nesterov: bool
    early: bool
    beta1: float
    beta2: float
    small: float
    patience: int
    most_looks: int
    dropout: float
    seed: int

    @classmethod
    def of(cls, model: Any, batch: int) -> TrainingPlan:
        """The plan of a model's hyper-parameters."""
        return cls(
            model.solver,
            float(model.alpha),
            batch,
            model.learning_rate if model.solver == "sgd" else "constant",
            float(model.learning_rate_init),
            float(model.power_t),
            int(model.max_iter),
            bool(model.shuffle),
            float(model.tol),
            float(model.momentum),
            bool(model.nesterovs_momentum),
            bool(model.early_stopping),
            float(model.beta_1),
            float(model.beta_2),
            float(model.epsilon),
            int(model.n_iter_no_change),
            int(model.max_fun),
            float(model.dropout),
            int(model.random_state or 0),
        )

    def once(self) -> TrainingPlan:
        """The plan of a single epoch over some more rows."""
        return replace(self, most=1, early=False)


class LearningRate:
    """The rate of the steps, and whether the loss (or the validation score) still gets better."""

    def __init__(self, plan: TrainingPlan) -> None:
        self.plan, self.rate = plan, plan.rate
        self.halved, self.idle = 0, 0
        self.best_loss, self.best_score = math.inf, -math.inf
        self.converged = False

    def halve(self) -> None:
        """The steps were too long."""
        self.halved += 1
        self.rate *= 0.5

    def goes_on(self, loss: float, score: float | None, seen: int) -> bool:
        """An epoch ended with this loss and validation score, `seen` rows since the beginning: whether there should be another."""
        plan = self.plan
        if score is None:
            self.idle = self.idle + 1 if loss > self.best_loss - plan.tol else 0
        else:
            self.idle = self.idle + 1 if score < self.best_score + plan.tol else 0
            self.best_score = max(self.best_score, score)
        self.best_loss = min(self.best_loss, loss)
        if plan.schedule == "invscaling":
            self.rate = plan.rate * 0.5**self.halved / float(seen + 1) ** plan.power
        if self.idle <= plan.patience:
            return True
        if plan.schedule == "adaptive" and self.rate > SMALLEST_RATE:
            self.rate /= FALL
            self.idle = 0
            return True
        self.converged = True
        return False
