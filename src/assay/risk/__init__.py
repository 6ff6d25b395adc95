"""Losses and empirical risk: how wrong a predictor is on given rows."""

from assay.risk.empirical import empirical_risk
from assay.risk.losses import HAMMING, HINGE, LOG, LOSSES, PERCEPTRON, SQUARED, ZERO_ONE, Loss, custom

__all__ = [
    "HAMMING",
    "HINGE",
    "LOG",
    "LOSSES",
    "PERCEPTRON",
    "SQUARED",
    "ZERO_ONE",
    "Loss",
    "custom",
    "empirical_risk",
]
