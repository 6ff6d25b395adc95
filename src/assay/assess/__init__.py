"""How good a fitted model is, on arrays: scores with intervals, paired tests, curves, and what to worry about.

Every number comes with an interval that says how exact it is: `exact` holds for any number of independent rows,
`approximate` for many.
"""

from assay.assess.bayes_error import BayesBracket, bayes_bracket
from assay.assess.bias_variance import BiasVariance, bias_variance
from assay.assess.curves import (
    Reliability,
    ThresholdCurve,
    Thresholds,
    binary_auc,
    macro_auc,
    precision_recall,
    reliability,
    roc,
    thresholds,
)
from assay.assess.drift import Drift, drift
from assay.assess.groups import GroupRisk, mean_loss, risk_by_group
from assay.assess.importance import Importance, permutation_importance
from assay.assess.learning_curve import LearningCurve, learning_curve
from assay.assess.paired import PairedTest, compare_pair, holm, in_words
from assay.assess.score import Score, bounded_mean, mean_interval
from assay.assess.scores import ClassScores, classification_scores, per_class, regression_scores
from assay.assess.with_best import compare_with_best
from assay.assess.worries import overfitting, table_worries
from assay.assess.worry import Worry

__all__ = [
    "BayesBracket",
    "BiasVariance",
    "ClassScores",
    "Drift",
    "GroupRisk",
    "Importance",
    "LearningCurve",
    "PairedTest",
    "Reliability",
    "Score",
    "ThresholdCurve",
    "Thresholds",
    "Worry",
    "bayes_bracket",
    "bias_variance",
    "binary_auc",
    "bounded_mean",
    "classification_scores",
    "compare_pair",
    "compare_with_best",
    "drift",
    "holm",
    "in_words",
    "learning_curve",
    "macro_auc",
    "mean_interval",
    "mean_loss",
    "overfitting",
    "per_class",
    "permutation_importance",
    "precision_recall",
    "regression_scores",
    "reliability",
    "risk_by_group",
    "roc",
    "table_worries",
    "thresholds",
]
