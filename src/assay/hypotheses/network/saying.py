"""What a network's fit says: a line a second while it lasts, and at its end what went otherwise than asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from assay.errors import ConvergenceWarning, as_seen_by_sklearn, warn
from assay.learner.stopping import INTERRUPTED, OUT_OF_TIME, Stopping
from assay.learner.telling import EVERY, Say, time_left, to_stderr

if TYPE_CHECKING:
    from assay.hypotheses.network.epochs import Epoch


class Progress:
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
