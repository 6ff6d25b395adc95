"""
The margin of a dataset
=========================

Classification: γ is the distance of the nearest row from the widest hyperplane.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(11)
X = rng.uniform(-2, 2, (80, 2))
height = X @ [0.6, 0.8] - 0.5
X, y = X[np.abs(height) > 0.4], (height[np.abs(height) > 0.4] > 0).astype(int)
fig, ax = plt.subplots(figsize=(6.5, 5.5))
assay.plots.margins(assay.LinearSVC(C=float("inf"), loss="hinge").fit(X, y), X, y, ax=ax)
ax.set_title(f"γ = {assay.margin(X, y).margin:.3f}", pad=44)
