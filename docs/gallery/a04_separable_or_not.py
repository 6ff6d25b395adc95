"""
Linearly separable, and not
=============================

Lecture 5, section 3.1: the witness of either answer. Left the widest strip; right rows whose convex hulls
meet.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(4)
X = rng.uniform(-2, 2, (60, 2))
height = X @ [0.6, 0.8]
y = np.where(height > 0, "A", "B")
apart = np.abs(height) > 0.35
mixed = np.where(rng.random(60) < 0.1, np.where(y == "A", "B", "A"), y)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
assay.plots.margins(assay.notes.svm().fit(X[apart], y[apart]), X[apart], y[apart], ax=axes[0])
found = assay.separability(X, mixed)
assay.plots.decision_regions(assay.LogisticRegression().fit(X, mixed), X, mixed, ax=axes[1])
axes[1].plot(*X[found.witness.rows].T, "o", markersize=14, markerfacecolor="none", markeredgecolor="black")
axes[0].set_title(f"separable, γ = {assay.margin(X[apart], y[apart]).margin:.3f}", pad=44)
axes[1].set_title(f"not separable: the hulls of {len(found.witness.rows)} ringed rows meet", pad=44)
