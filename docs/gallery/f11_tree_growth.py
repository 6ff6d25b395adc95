"""
A tree grows
==============

Ten methods, section 9: each split cuts one cell where the entropy falls most.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(90)
centres = np.array([[-1.2, 0.8], [1.2, 1.0], [0.2, -1.2]])
X = np.vstack([rng.normal(c, 0.9, (50, 2)) for c in centres])
y = np.repeat(["A", "B", "C"], 50)
fig, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, depth in zip(axes, [1, 3, None]):
    model = assay.notes.decision_tree(max_depth=depth).fit(X, y)
    assay.plots.decision_regions(model, X, y, ax=ax)
    ax.set_title(f"max_depth={depth}: training error {1 - model.score(X, y):.2f}", pad=24)
