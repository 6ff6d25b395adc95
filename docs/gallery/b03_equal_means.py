"""
Equal means
=============

Lecture 5, section 4.2: μ₁ = μ₂. The quadratic boundary is two crossing lines.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

means, covariance = [[0.0, 0.0], [0.0, 0.0]], np.array([np.diag([4.0, 0.4]), np.diag([0.4, 4.0])])
model = assay.QuadraticDiscriminantAnalysis.from_moments(means, covariance, classes=["C1", "C2"])
rng = np.random.default_rng(22)
spread = np.broadcast_to(covariance, (2, 2, 2))
X = np.vstack([rng.multivariate_normal(m, S, 80) for m, S in zip(means, spread)])
y = np.repeat(["C1", "C2"], 80)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
assay.plots.covariance_ellipses(model, X, y, ax=axes[0])
assay.plots.decision_regions(model, X, y, ax=axes[1])
