"""How good a fitted model is, on arrays: scores with intervals, paired tests, curves, and what to worry about.

Every number comes with an interval that says how exact it is: `exact` holds for any number of independent rows,
`approximate` for many.
"""

from assay.assess.against_best import compare_with_best, holm
from assay.assess.auc import binary_auc, macro_auc
from assay.assess.bayes_bracket import BayesBracket, bayes_bracket
from assay.assess.bias_variance import BiasVariance, bias_variance
from assay.assess.calibration import Reliability, reliability
from assay.assess.curves import Curve, Thresholds, precision_recall, roc, thresholds
from assay.assess.drift import Drift, drift
from assay.assess.groups import GroupRisk, mean_loss, risk_by_group
from assay.assess.importance import Importance, permutation_importance
from assay.assess.learning_curve import LearningCurve, learning_curve
from assay.assess.means import bounded_mean, mean_interval
from assay.assess.paired import PairedTest, compare_pair, in_words
from assay.assess.per_class import ClassScores, per_class
from assay.assess.score import Score
from assay.assess.scores import classification_scores, regression_scores
from assay.assess.worries import overfitting, table_worries
from assay.assess.worry import Worry

__all__ = [
    "BayesBracket",
    "BiasVariance",
    "ClassScores",
    "Curve",
    "Drift",
    "GroupRisk",
    "Importance",
    "LearningCurve",
    "PairedTest",
    "Reliability",
    "Score",
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
