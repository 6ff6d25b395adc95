"""
Regularised empirical risk
============================

L2: R_n(w, ℓ) + λΩ(w) for three λ; the larger λ, the wider the strip f = ±1.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(28)
X = np.vstack([rng.normal((-0.9, -0.2), 1.0, (25, 2)), rng.normal((0.9, 0.3), 1.0, (25, 2))])
y = np.repeat([0, 1], 25)
fig, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, lam in zip(axes, [0.0001, 0.1, 1.0]):
    assay.plots.margins(assay.ERM(loss="hinge", penalty="l2", lam=lam).fit(X, y), X, y, ax=ax)
    ax.set_title(f"λ = {lam:g}", pad=44)
