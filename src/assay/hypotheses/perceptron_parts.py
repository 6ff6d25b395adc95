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
from assay.params import CLASS_WEIGHT, N_JOBS, Choice, Flag, Free, Param, Range

if TYPE_CHECKING:
    from assay.hypotheses.perceptron import Perceptron

PARAMS: Mapping[str, Param] = {
    "order": Choice(options=("cyclic", "random", "first-mistake", "batch"), doc="which row is visited next"),
    "eta0": Range(low=0, open_low=True, open_high=True, doc="the step ε of a correction"),
    "init": Free(
        doc="first weights, bias first: (b, w_1, …, w_d), for K > 2 classes K such rows; None: zeros",
        what="d + 1 numbers (K rows of them)",
        words=(None,),
    ),
    "max_iter": Range(kind=int, low=1, doc="most passes over the rows (order='first-mistake': most searches)"),
    "tol": Range(
        low=0, high=1, words=(None,), doc="stop once a pass has at most this share of mistakes; None: at none"
    ),
    "fit_intercept": Flag(doc="fit b as well; otherwise b = 0 and x̃ = x"),
    "variant": Choice(options=("last", "averaged", "voted"), doc="which of the weights under way give the answer"),
    "shuffle": Flag(doc="order='cyclic': visit the rows of a block in a new random order in each pass"),
    "max_voters": Range(kind=int, low=1, doc="most weight vectors that variant='voted' may keep"),
    "random_state": Range(kind=int, low=0, words=(None,), doc="seed of draws and shuffles; None: 0"),
    "class_weight": CLASS_WEIGHT,
    "n_jobs": N_JOBS,
}
LAYOUT: Mapping[str, Tensor | Fact] = {
    "coef_": Tensor(("m", "d")),
    "intercept_": Tensor(("m",)),
    "class_factor_": Tensor(("K",), low=0),
    "start_": Tensor(("m", "e")),
    "last_": Tensor(("m", "e"), optional=True),
    "drift_": Tensor(("m", "e"), optional=True),
    "voters_": Tensor(("V", "m", "e"), optional=True),
    "votes_": Tensor(("V",), dtype="<i8", low=0, optional=True),
    "n_iter_": Fact(int, low=0),
    "t_": Fact(int, low=0),
    "mistakes_": Fact(int, low=0),
    "converged_": Fact(bool),
    "history_": Fact(str),
    "sparse_": Fact(bool),
    "step_sum_": Fact(float, low=0),
    "step_squares_": Fact(float, low=0),
    "radius_": Fact(float, low=0, optional=True),
    "least_margin_": Fact(float, optional=True),
    "rows_": Fact(int, low=0, optional=True),
    "weight_": Fact(float, low=0, optional=True),
    "wrong_": Fact(int, low=0, optional=True),
    "wrong_weight_": Fact(float, low=0, optional=True),
    **SEPARATION_LAYOUT,
}


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
