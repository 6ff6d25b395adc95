"""
Two classes, estimated
========================

Lecture 5, section 4.2: priors, means and covariances from 30 points a class.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(12)
X = np.vstack(
    [
        rng.multivariate_normal((-1, -0.3), [[2.2, 1.3], [1.3, 1.2]], 30),
        rng.multivariate_normal((1.2, 0.8), [[0.7, -0.3], [-0.3, 1.0]], 30),
    ]
)
y = np.repeat(["C1", "C2"], 30)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model in zip(axes, [assay.notes.map_classifier(), assay.LinearDiscriminantAnalysis()]):
    assay.plots.decision_regions(model.fit(X, y), X, y, ax=ax)
    ax.set_title(type(model).__name__, fontsize=10, pad=24)
