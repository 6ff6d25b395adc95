"""The hyper-parameters of boosting, by scikit-learn's and LightGBM's words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from assay.estimator.layout import Fact, Layout, Tensor
from assay.estimator.params import Choice, Free, Range, param
from assay.families.trees.hyper_parameters import MAX_DEPTH as TREE_DEPTH
from assay.risk.custom_surrogate import CustomSurrogate


def _groups(value: Any) -> bool:
    plain = isinstance(value, Sequence | set) and not isinstance(value, Mapping)
    return plain and all(isinstance(g, Sequence | set) and all(isinstance(c, str | Integral) for c in g) for g in value)


LOSSES_OF_NUMBERS = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")
LOSSES_OF_CLASSES = ("log_loss", "exponential")


def _loss(options: tuple[str, ...]) -> Any:
    what = "a loss made by assay.surrogate(value, slope)"
    return Free(what, words=options, check=lambda given: isinstance(given, CustomSurrogate))


SHARE = Range(low=0, open_low=True, high=1)
LOSS_OF_NUMBERS = param("the loss that is made small; one of your own by assay.surrogate(value, slope, kind='regression')", default="squared_error", check=_loss(LOSSES_OF_NUMBERS))  # fmt: skip
LOSS_OF_CLASSES = param("the loss that is made small: the log loss, AdaBoost's exponential one, or one of your own for two classes", default="log_loss", check=_loss(LOSSES_OF_CLASSES))  # fmt: skip
QUANTILE = param("of loss='quantile': the share of rows that lie below the answer", default=0.5, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
ALPHA = param("of loss='huber': the share of rows whose errors count squared at the start", default=0.9, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
POWER = param("of loss='tweedie': the variance grows with this power of the mean", default=1.5, check=Range(low=1, high=2, open_low=True, open_high=True))  # fmt: skip
LEARNING_RATE = param("what the answers of a stage's leaves are multiplied with", default=0.1, says="rate {}", check=Range(low=0, open_low=True, high=1))  # fmt: skip
N_ESTIMATORS = param("stages, a tree each (of more than two classes one a class); 'auto': until rows that are held out are answered no better; 'cv': as many as are best by cross-validation, of all rows", default=100, says="{} stages", check=Range(int, low=1, high=100_000, words=("auto", "cv")))  # fmt: skip
MAX_LEAF_NODES = param("most leaves of a tree: the leaf whose split gains most is split next; None: no limit", default=31, says="{} leaves", check=Range(int, low=2, words=(None,)))  # fmt: skip
MAX_DEPTH = replace(TREE_DEPTH)
MIN_SAMPLES_LEAF = param("least rows of a leaf", default=20, says="leaves of {}+ rows", check=Range(int, low=1))
MIN_SUM_HESSIAN = param("least sum of curvatures of the loss in a leaf", default=1e-3, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
L1 = param("strength of the L1 penalty on the leaves' answers", default=0.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
L2 = param("strength of the L2 penalty on the leaves' answers, in units of curvature (0, as in LightGBM, trusts small leaves)", default=1.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
MIN_GAIN = param(
    "splits that gain less than this are not made; the gain is that of twice the second-order loss",
    default=0.0,
    check=Range(low=0, high=math.inf, open_high=True),
)
SUBSAMPLE = param("share of the rows that a stage sees, drawn by (seed, stage)", default=1.0, check=SHARE)
SAMPLING = param("how the rows of a stage are drawn where subsample < 1: all alike, or those of larger gradients more often, counted less (in the place of GOSS)", default="uniform", check=Choice(("uniform", "gradient_based")))  # fmt: skip
COLSAMPLE = param("share of the columns that a stage may ask about, drawn by (seed, stage)", default=1.0, check=SHARE)
CAT_SMOOTH = param("curvature with which the order of categories is smoothed; those of fewer rows at a node are not told apart", default=10.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
CAT_L2 = param("L2 penalty of splits by categories besides", default=10.0, check=Range(low=0, high=math.inf, open_high=True))  # fmt: skip
MAX_BINS = param("quantile bins of a column of numbers", default=255, check=Range(int, low=2, high=255))
INTERACTION_CST = param("groups of columns: a way through a tree asks about columns of one group alone", default=None, check=Free("a list of lists of columns, by name or number", words=(None, "pairwise", "no_interactions"), check=_groups))  # fmt: skip
N_ITER_NO_CHANGE = param("hold rows out, and end after so many stages that answer them no better, with the best stage; None: do all stages (of 'auto' and 'cv': 20)", default=None, check=Range(int, low=1, words=(None,)))  # fmt: skip
FOLDS = param("of n_estimators='cv': the number of folds", default=5, check=Range(int, low=2))
VALIDATION_FRACTION = param("share of the rows that are held out for n_iter_no_change", default=0.1, check=Range(low=0, high=1, open_low=True, open_high=True))  # fmt: skip
TOL = param("a loss of held-out rows that falls by less than this share is no better", default=1e-7, check=Range(low=0, high=1))  # fmt: skip
WARM_START = param("keep the trees of the fit before and add to them", default=False)
MAX_SECONDS = param("the fit ends then with what it has; None: no limit", default=None, check=Range(low=0, open_low=True, high=math.inf, open_high=True, words=(None,)))  # fmt: skip
VERBOSE = param("1: tell of stage, loss and time left every second", default=0, check=Range(int, low=0))
IMPORTANCE_TYPE = param("what feature_importances_ counts: what a column's splits gain, or how many they are", default="gain", check=Choice(("gain", "split")))  # fmt: skip

LAYOUT: Layout = {
    "table_": Tensor(("R", 2), doc="what leaves hold: what they add to the score, and the weight of the rows that reached them"),
    "gain_": Tensor(("S",), low=0, doc="what each split gained: S(G_L)²/(H_L + l2) + S(G_R)²/(H_R + l2) − S(G)²/(H + l2)"),
    "baseline_": Tensor(("C",), doc="the constant that the scores begin with, one a tree of a stage"),
    "step_": Tensor(("s",), low=0, high=1, doc="of each stage what its leaves were multiplied with besides the rate: halved until the training loss did not rise"),
    "loss_curve_": Tensor(("t",), low=0, doc="the training loss before the first and after each stage"),
    "validation_curve_": Tensor(("v",), low=0, optional=True, doc="the loss of the rows held out, before the first and after each stage; None where none were"),
    "cv_curve_": Tensor(("u",), low=0, optional=True, doc="of n_estimators='cv' the loss of all rows, each answered by the folds that have not seen it, before the first and after each stage; else None"),
    "held_error_": Tensor((2,), low=0, optional=True, doc="standard error of the loss of the rows held out at the chosen stage, and how many they are; None where none were"),
    "delta_": Fact(float, low=0, optional=True, doc="of loss='huber': the error from which on errors count as they are, and not squared"),
    "weight_": Fact(float, low=0, doc="the total weight of the rows that the trees learnt from"),
    "rows_": Fact(int, low=1, doc="the number of rows of the fit"),
    "mixed_": Fact(bool, doc="whether warm_start has added stages of other settings or rows"),
}  # fmt: skip
