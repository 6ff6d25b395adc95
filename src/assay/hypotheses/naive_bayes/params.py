"""The hyper-parameters that naive Bayes models have in common."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from assay.params import Free, Range, param


def are_numbers(value: Any) -> bool:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return array.ndim == 1 and array.size > 0 and bool(np.all(np.isfinite(array)) and np.all(array >= 0))


def is_amount(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, numbers.Real) and 0 <= float(value) < np.inf


def are_whole(value: Any) -> bool:
    array = np.asarray(value)
    return not isinstance(value, bool) and array.dtype.kind in "iu" and array.ndim <= 1 and bool(np.all(array >= 1))


PRIORS = param("probabilities of the classes; None: as frequent as in the rows", default=None, check=Free("a list with a probability for each class", words=(None,), check=are_numbers))  # fmt: skip
ALPHA = param("smoothing: this many further occurrences of everything; 0 is plain maximum likelihood", default=1.0, check=Range(low=0))  # fmt: skip
ALPHAS = param(
    "smoothing: this many further occurrences of everything; 0 is plain maximum likelihood",
    default=1.0,
    check=Free(
        "a number ≥ 0, or a list with one for each column", check=lambda value: is_amount(value) or are_numbers(value)
    ),
)
VAR_SMOOTHING = param("share of the largest column variance that is added to every variance", default=1e-9, check=Range(low=0))  # fmt: skip
FORCE_ALPHA = param("use alpha as it is; otherwise at least 1e-10", default=True)
FIT_PRIOR = param("learn the priors from the rows; otherwise all classes are equally likely", default=True)
