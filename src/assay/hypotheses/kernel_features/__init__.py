"""Approximate kernel features: transformers, and linear models in them."""

from assay.hypotheses.kernel_features.classifier import KernelFeaturesClassifier
from assay.hypotheses.kernel_features.regressor import KernelFeaturesRegressor
from assay.hypotheses.kernel_features.transformers import Nystroem, RandomFourier

__all__ = ["KernelFeaturesClassifier", "KernelFeaturesRegressor", "Nystroem", "RandomFourier"]
