"""The perceptron's hyper-parameters, the learnt parts that its model file holds, and what these must be to one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ModelFileError
from assay.hypotheses.perceptron_answers import mean_weights
from assay.hypotheses.perceptron_separation import SEPARATION_LAYOUT
from assay.hypotheses.perceptron_start import given_start
from assay.labels import class_multipliers
from assay.learner import Fact, Tensor

if TYPE_CHECKING:
    from assay.hypotheses.perceptron import Perceptron

LAYOUT: Mapping[str, Tensor | Fact] = {
    "coef_": Tensor(("m", "d"), doc="the weights w of the columns: one row for two classes, else one a class"),
    "intercept_": Tensor(("m",), doc="the bias b of each row of `coef_`"),
    "class_factor_": Tensor(("K",), low=0, doc="the factor of each class's rows, from class_weight"),
    "start_": Tensor(("m", "e"), doc="the first weights (b, w_1, …, w_d), e = d + 1 numbers"),
    "last_": Tensor(("m", "e"), optional=True, doc="of variant='averaged': the last weights, from which partial_fit goes on"),
    "drift_": Tensor(("m", "e"), optional=True, doc="of variant='averaged': the sum from which the average is made"),
    "voters_": Tensor(("V", "m", "e"), optional=True, doc="of variant='voted': all V weights there were"),
    "votes_": Tensor(("V",), dtype="<i8", low=0, optional=True, doc="of variant='voted': how many visits each of them survived"),
    "n_iter_": Fact(int, low=0, doc="the passes over the rows (order='first-mistake': searches)"),
    "t_": Fact(int, low=0, doc="the rows visited so far, over all passes"),
    "mistakes_": Fact(int, low=0, doc="the mistakes made on the way, each of which changed the weights"),
    "converged_": Fact(bool, doc="whether the last pass made no more mistakes than tol allows"),
    "history_": Fact(str, doc="'fit' for one fit of all rows, 'pieces' where partial_fit brought all rows, 'mixed' for both"),
    "sparse_": Fact(bool, doc="whether the rows were sparse"),
    "step_sum_": Fact(float, low=0, doc="the sum of the lengths of all corrections' steps"),
    "step_squares_": Fact(float, low=0, doc="the sum of the squares of these lengths"),
    "radius_": Fact(float, low=0, optional=True, doc="R, the greatest length of a row with its 1 in front; absent after partial_fit"),
    "least_margin_": Fact(float, optional=True, doc="the least t·⟨w, x̃⟩ over all rows; positive where all are answered rightly"),
    "rows_": Fact(int, low=0, optional=True, doc="the number of rows of positive weight"),
    "weight_": Fact(float, low=0, optional=True, doc="the total weight of these rows"),
    "wrong_": Fact(int, low=0, optional=True, doc="the rows of the fit that are answered wrongly at the end"),
    "wrong_weight_": Fact(float, low=0, optional=True, doc="the weight of the rows that are answered wrongly"),
    **SEPARATION_LAYOUT,
}  # fmt: skip


def check_parts(model: Perceptron) -> None:
    """Refuse a file whose parts do not belong together."""
    K, d = len(model.classes_), model.n_features_in_
    if model.coef_.shape[0] != (1 if K == 2 else K) or model.start_.shape[1] != d + 1:
        raise ModelFileError(f"The model file's weights do not fit {K} classes and {d} columns.")
    if not np.array_equal(model.start_, given_start(model, len(model.start_), d)):
        raise ModelFileError("The model file's first weights are not those of its hyper-parameter init.")
    given = model.class_weight
    if not isinstance(given, str) and not np.array_equal(
        model.class_factor_, class_multipliers(given, model.classes_, np.ones(K))
    ):
        raise ModelFileError(
            "The model file's weights of the classes are not those of its hyper-parameter class_weight."
        )
    if model.history_ not in ("fit", "pieces", "mixed"):
        raise ModelFileError(f"The model file tells of a history {model.history_!r} that cannot be.")
    parts = {name for name in ("last_", "drift_", "voters_", "votes_") if hasattr(model, name)}
    due = {"averaged": {"last_", "drift_"}, "voted": {"voters_", "votes_"}}.get(model.variant, set())
    if parts != due:
        raise ModelFileError(f"The model file's parts {sorted(parts)} are not those of variant={model.variant!r}.")
    here = np.column_stack([model.intercept_, model.coef_])
    follows = here
    if model.variant == "averaged":
        follows = mean_weights(model.last_, model.drift_, model.t_)
    elif model.variant == "voted":
        follows = model.voters_[-1] if len(model.voters_) else np.full_like(here, np.nan)
    if not np.array_equal(here, follows):
        raise ModelFileError(f"The model file's coefficients do not follow from its variant {model.variant!r}.")
