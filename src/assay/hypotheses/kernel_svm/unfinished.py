"""What is said of a fit that ended before its tolerance was reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.errors import ConvergenceWarning, as_seen_by_sklearn, warn
from assay.learner.stopping import INTERRUPTED, Stopping


def warn_unfinished(model: Any, stopping: Stopping) -> None:
    """Say why the gap of a fit is above its tolerance, and what to do."""
    late = model.gap_ > model.tol
    many = f" in {int(late.sum())} of {len(late)} problems" if len(late) > 1 else ""
    if stopping.why == INTERRUPTED:
        why, what = "was interrupted", "Fit again, or allow a larger tol."
    elif model.max_iter != -1 and bool(np.any(model.n_iter_[late] >= model.max_iter)):
        why, what = f"stopped at max_iter={model.max_iter}", "Raise max_iter, or allow a larger tol."
    elif stopping.deadline is not None:
        why, what = f"ran out of its max_seconds={model.max_seconds:g}", "Raise max_seconds, or allow a larger tol."
    else:
        why, what = "can no longer improve", "Allow a larger tol, or standardise the columns."
    warn(
        f"{type(model).__name__}: the fit {why} at a relative gap of {model.gap_.max():.3g} (tol={model.tol:g}){many}; the best found is "
        f"kept. {what}",
        as_seen_by_sklearn(ConvergenceWarning),
    )
