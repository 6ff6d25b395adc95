"""
K-NN under two metrics
========================

Lecture 5, section 5.2: x runs over 60 units and y over 6. The Euclidean distance is nearly all x; the
Mahalanobis distance measures along the covariance.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(8)
x = rng.uniform(0, 60, 120)
side = rng.uniform(0.02, 1, 120) * rng.choice([-1, 1], 120)
X, y = np.column_stack([x, side + 0.06 * x]), np.where(side > 0, "A", "B")
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, metric in zip(axes, ["euclidean", "mahalanobis"]):
    model = assay.notes.k_nn(5, metric=metric).fit(X, y)
    assay.plots.decision_regions(model, X, y, ax=ax)
    ax.set_title(f"{metric}: training error {1 - model.score(X, y):.3f}", pad=24)
