"""The .632 and .632+ bootstrap estimates of a prediction rule's risk (Efron & Tibshirani 1997).

In round b the rule is fitted to n rows drawn with replacement; row i is in the sample N_i^b times and is tested on where
I_i^b = 1{N_i^b = 0}, at loss Q_i^b. With err the risk of the rule fitted to all rows on those rows, and γ its risk if
features and targets had nothing to do with each other:

    E_i = Σ_b I_i^b Q_i^b / Σ_b I_i^b        Err1 = mean_i E_i                       (leave-one-out bootstrap)
    Err.632 = .368 err + .632 Err1           R = (Err1 − err) / (γ − err) in [0, 1]  (overfitting)
    Err.632+ = (1 − w) err + w min(Err1, γ),  w = .632 / (1 − .368 R)
"""

from __future__ import annotations

import numpy as np

from assay.numerics import Array, Floats


def left_out_losses(tested: Array, losses: Floats) -> Floats:
    """E_i of the rows that some round left out, from the rows tested in all rounds and what each answer cost.

    >>> left_out_losses(np.array([0, 2, 2]), np.array([1.0, 0.0, 1.0])).tolist()
    [1.0, 0.5]
    """
    _, place = np.unique(tested, return_inverse=True)
    found: Floats = np.bincount(place, weights=losses) / np.bincount(place)
    return found


def combine(apparent: float, leave_one_out: float, no_information: float) -> tuple[float, float, float]:
    """Err.632+, Err.632 and R from err, Err1 and γ.

    >>> [round(v, 3) for v in combine(0.0, 0.5, 0.5)]
    [0.5, 0.316, 1.0]
    """
    plain = 0.368 * apparent + 0.632 * leave_one_out
    capped = min(leave_one_out, no_information)
    R = (capped - apparent) / (no_information - apparent) if capped > apparent else 0.0
    w = 0.632 / (1 - 0.368 * R)
    return (1 - w) * apparent + w * capped, plain, R


def no_information_risk(y: Array, answers: Array, loss: str) -> float:
    """γ: the mean loss over all pairs of a target and an answer, n² of them, from the margins alone.

        zero-one  1 − Σ_k p_k q_k  (p_k, q_k: the shares of label k among targets and answers)
        squared   mean y² − 2 mean y · mean ŷ + mean ŷ²

    >>> no_information_risk(np.array([0, 1]), np.array([1, 1]), "zero-one")
    0.5
    """
    if loss == "squared":
        centre = y.mean()
        return float(np.mean((y - centre) ** 2) + np.mean((answers - centre) ** 2))
    classes, codes = np.unique(np.concatenate([y, answers]), return_inverse=True)
    p, q = (np.bincount(side, minlength=len(classes)) / len(y) for side in np.split(codes, 2))
    return float(1 - p @ q)
