"""The estimator protocol: scikit-learn's words, implemented without scikit-learn."""

from assay.layout import Fact, Tensor
from assay.learner.classifier import BayesClassifier, Classifier
from assay.learner.learner import Learner, Step
from assay.learner.regressor import Regressor

__all__ = ["BayesClassifier", "Classifier", "Fact", "Learner", "Regressor", "Step", "Tensor"]
