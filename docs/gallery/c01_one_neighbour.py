"""
One neighbour, or fifteen
===========================

Lecture 5, section 5: with K = 1 every row owns the places nearest to it; with fifteen stray rows are
outvoted.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(51)
X = np.vstack([rng.normal((-0.9, 0), 1.0, (45, 2)), rng.normal((0.9, 0), 1.0, (45, 2))])
y = np.repeat(["A", "B"], 45)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, k in zip(axes, [1, 15]):
    model = assay.notes.k_nn(k).fit(X, y)
    assay.plots.decision_regions(model, X, y, ax=ax)
    ax.set_title(f"K = {k}, training error {1 - model.score(X, y):.2f}", pad=24)
