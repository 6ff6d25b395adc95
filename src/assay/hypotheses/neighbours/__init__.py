"""Nearest neighbours: classes, numbers, or neighbours alone. Shape: pairwise blocks."""

from assay.hypotheses.neighbours.classifier import KNeighborsClassifier as KNeighborsClassifier
from assay.hypotheses.neighbours.kd_tree import KDTree as KDTree
from assay.hypotheses.neighbours.nearest import NearestNeighbors as NearestNeighbors
from assay.hypotheses.neighbours.regressor import KNeighborsRegressor as KNeighborsRegressor
