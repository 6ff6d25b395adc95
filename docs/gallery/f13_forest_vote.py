"""
The vote of a forest
======================

Ten methods, section 10: T trees of m < n draws; the vote is calmer than any of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(90)
centres = np.array([[-1.2, 0.8], [1.2, 1.0], [0.2, -1.2]])
X = np.vstack([rng.normal(c, 0.9, (50, 2)) for c in centres])
y = np.repeat(["A", "B", "C"], 50)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model in zip(axes, [assay.notes.decision_tree(), assay.notes.random_forest(100, 0.5)]):
    assay.plots.decision_regions(model.fit(X, y), X, y, ax=ax)
    ax.set_title(type(model).__name__, pad=24)
