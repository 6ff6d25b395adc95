"""The estimator protocol: scikit-learn's words, implemented without scikit-learn."""

from assay.layout import Fact, Tensor
from assay.learner.classifier import BayesClassifier, Classifier
from assay.learner.docstrings import attribute
from assay.learner.learner import Learner
from assay.learner.regressor import Regressor
from assay.learner.step import Measure, Step

__all__ = ["BayesClassifier", "Classifier", "Fact", "Learner", "Measure", "Regressor", "Step", "Tensor", "attribute"]
