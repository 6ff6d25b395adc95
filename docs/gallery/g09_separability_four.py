"""
Four data sets, one of which no line separates
================================================

L2, separability: XOR needs a decision function that is not linear.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(2)
X = rng.uniform(-2, 2, (160, 2))
X = X[np.abs(X).min(axis=1) > 0.15]
y = np.where(X[:, 0] * X[:, 1] > 0, "A", "B")
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model in zip(axes, [assay.LogisticRegression(), assay.notes.kernel_svm("rbf", C=10.0, gamma=1.0)]):
    assay.plots.decision_regions(model.fit(X, y), X, y, ax=ax)
    ax.set_title(f"{type(model).__name__}: training error {1 - model.score(X, y):.2f}", pad=24)
