"""
Unequal covariances
=====================

Lecture 5, section 4.2: means and covariances differ, and the boundary bends around the smaller ellipse.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

means, covariance = [[-1.0, 0.0], [1.6, 0.4]], np.array([np.diag([4.8, 3.2]), [[0.4, 0.1], [0.1, 0.3]]])
model = assay.QuadraticDiscriminantAnalysis.from_moments(means, covariance, classes=["C1", "C2"])
rng = np.random.default_rng(22)
spread = np.broadcast_to(covariance, (2, 2, 2))
X = np.vstack([rng.multivariate_normal(m, S, 80) for m, S in zip(means, spread)])
y = np.repeat(["C1", "C2"], 80)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
assay.plots.covariance_ellipses(model, X, y, ax=axes[0])
assay.plots.decision_regions(model, X, y, ax=axes[1])
