"""
Three classes, estimated
==========================

Lecture 5, section 4.2: arcs for the quadratic model, lines that meet in one point for the linear one.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(33)
X = np.vstack(
    [
        rng.multivariate_normal((-2, 0), [[0.5, 0.3], [0.3, 1.7]], 50),
        rng.multivariate_normal((1.2, 1.2), [[2.0, 0.4], [0.4, 0.6]], 50),
        rng.normal((1.0, -1.2), 0.7, (50, 2)),
    ]
)
y = np.repeat(["C1", "C2", "C3"], 50)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model in zip(axes, [assay.notes.map_classifier(), assay.LinearDiscriminantAnalysis()]):
    assay.plots.decision_regions(model.fit(X, y), X, y, ax=ax)
    ax.set_title(type(model).__name__, fontsize=10, pad=24)
