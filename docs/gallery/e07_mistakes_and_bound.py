"""
Mistakes and their bound
==========================

Classification, runtime guarantee: the wider the margin, the fewer mistakes, and R²/γ² is never passed.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(0)
gaps, mistakes, bounds = np.geomspace(0.02, 0.8, 12), [], []
for gap in gaps:
    X = rng.uniform(-2, 2, (300, 2))
    height = X @ [0.6, 0.8]
    X, y = X[np.abs(height) > gap], (height[np.abs(height) > gap] > 0).astype(int)
    mistakes.append(assay.Perceptron(fit_intercept=False).fit(X, y).mistakes_)
    bounds.append(assay.separability(X, y, fit_intercept=False).bound)
fig, ax = plt.subplots(figsize=(6.5, 4.5))
ax.loglog(gaps, bounds, "s--", label="R²/γ²")
ax.loglog(gaps, mistakes, "o-", label="mistakes made")
ax.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"], minor=False)
ax.set_xticks([], minor=True)
ax.set(xlabel="half the width of the strip", ylabel="mistakes")
ax.legend()
