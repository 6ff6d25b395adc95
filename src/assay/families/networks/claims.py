"""What is claimed of a fitted network, from the numbers that the fit has learnt; families/networks/check.py re-establishes it from the rows.

- back-propagation: slopes of the loss along some directions lie between its differences on both sides;
- training loss and training error: what the weights do on the rows of the fit;
- gradient: how long it is at the end, of the objective with its penalty. That is no claim of optimality: the objective is not convex;
- best epoch: of those recorded, an estimate, since none but another fit could repeat them.

Rows given piece by piece (`partial_fit`) are gone: then the epochs are all that is claimed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certify import Claim
from assay.certify.claim import Coverage
from assay.families.networks.hyper_parameters import DIRECTIONS, hidden_sizes
from assay.families.networks.measure import Measured
from assay.inputs.labels import plain_labels

BOUND = 1e-6
ROUNDING = 1e-2  # times 1 + |f|, as in the check


COVERAGE = Coverage(
    proof={"network_loss": "measured_ class_factor_"},
    estimate={"network_best_epoch": "best_epoch_"},
    nothing="weights_ mean_ scale_ target_mean_ target_scale_ loss_curve_ validation_scores_ n_iter_ kept_best_ best_loss_ loss_ batch_ "
    "t_ rows_ weight_ converged_ whole_ memory_ batches_ zero_one_curve_ error_",
    but="what the weights do on the training rows is measured again, but not that these rows lead to these weights and no others: a unit "
    "that is silent on all of them may hold anything (a back door)",
)


def network_claims(model: Any) -> tuple[Claim, ...]:
    """All claims of a fitted network."""
    best = _best_epoch(model)
    if model.measured_ is None:
        return (best,)
    found, witness = Measured.of(model.measured_), _witness(model)
    slopes = _slopes(found, witness)
    claims = [slopes, _loss(model, found, witness)]
    if _classifies(model):
        claims.append(_errors(found, witness))
    return (*claims, _gradient(found, witness, slopes.holds), best)


def _classifies(model: Any) -> bool:
    return hasattr(model, "classes_")


def _witness(model: Any) -> dict[str, Any]:
    witness = {
        "weights": model.weights_,
        "mean": model.mean_,
        "scale": model.scale_,
        "measured": model.measured_,
        "hidden": [int(units) for units in hidden_sizes(model.hidden_layer_sizes)],
        "activation": model.activation,
        "output_bias": bool(model.output_bias),
        "loss": model._loss_name(),
        "alpha": float(model.alpha),
        "batch": 0 if model.solver == "lbfgs" else int(model.batch_),
    }
    if not _classifies(model):
        return {**witness, "target_mean": float(model.target_mean_), "target_scale": float(model.target_scale_)}
    factor = {} if model.class_factor_ is None else {"class_factor": model.class_factor_}
    return {**witness, "classes": plain_labels(model.classes_), **factor}


def _slopes(found: Measured, witness: dict[str, Any]) -> Claim:
    size = found.size + ROUNDING * (1.0 + found.top)
    off = float((np.maximum(0.0, np.maximum(found.low - found.slopes, found.slopes - found.high)) / size).max())
    which = "all rows" if found.few == 1 else f"every {_th(found.few)} row of each block"
    return Claim(
        name="back-propagation",
        statement=f"along {DIRECTIONS} directions the slopes of the mean loss of {which} agree with its finite differences on both sides, but for this "
        "share of their size",
        holds=off <= BOUND,
        check="network_slopes",
        value=off,
        bound=BOUND,
        witness=witness,
    )


def _loss(model: Any, found: Measured, witness: dict[str, Any]) -> Claim:
    objective = found.loss + 0.5 * found.penalty * found.squares
    held = ", those held out for early stopping among them" if model.validation_scores_ is not None else ""
    if _classifies(model):
        value, what = found.loss, f"the mean {model.loss} loss"
        inside = f"{objective:.6g} with the penalty"
    else:
        value, what = 2.0 * found.loss * float(model.target_scale_) ** 2, "the mean square error"
        inside = f"half of it with the penalty and the target standardised is {objective:.6g}"
    return Claim(
        name="training loss",
        statement=f"{what} on the rows of the fit{held}; {inside}",
        holds=True,
        check="network_loss",
        value=value,
        witness=witness,
    )


def _errors(found: Measured, witness: dict[str, Any]) -> Claim:
    return Claim(
        name="training error",
        statement="the zero-one risk on the rows of the fit: the (weighted) share that is answered wrongly; new rows will mostly do worse",
        holds=True,
        check="network_errors",
        value=found.wrong,
        witness=witness,
    )


def _gradient(found: Measured, witness: dict[str, Any], agrees: bool) -> Claim:
    """The length is that of a gradient if slopes agree with differences, which those of huge weights do not show."""
    which = "all rows" if found.every == 1 else f"every {_th(found.every)} row of each block"
    return Claim(
        name="gradient",
        statement=f"the length of the gradient of the objective on {which}, in standardised columns; the objective is not convex, so that even a "
        "length of 0 would not tell whether another network of this shape does better",
        holds=agrees,
        check="network_gradient",
        value=found.gradient,
        witness=witness,
    )


def _best_epoch(model: Any) -> Claim:
    scores, curve, best = model.validation_scores_, model.loss_curve_, int(model.best_epoch_)
    if scores is None:
        value = float(curve[best - 1])
        statement = (
            f"of {len(curve)} epochs the loss was least in number {best}; the model has the weights after "
            f"{'it' if model.kept_best_ else 'the last one'}"
        )
    else:
        value = float(scores[best - 1])
        statement = (
            f"of {len(curve)} epochs number {best} answered the rows held out best, and the model has its weights"
        )
    ended = "" if model.converged_ else "; the fit ended before the loss had settled"
    return Claim(
        name="best epoch",
        statement=f"{statement}{ended} (as recorded: only another fit could tell)",
        holds=True,
        check="network_best_epoch",
        value=value,
        kind="estimate",
        witness={"curve": curve, "best": best, **({} if scores is None else {"scores": scores})},
    )


def _th(number: float) -> str:
    """
    >>> _th(2), _th(3), _th(11), _th(21)
    ('2nd', '3rd', '11th', '21st')
    """
    n = int(number)
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
