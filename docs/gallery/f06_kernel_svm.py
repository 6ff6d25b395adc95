"""
Kernel support vector machines
================================

Ten methods, section 6: the dual by quadratic programming; how far the kernel reaches decides how it bends.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(10)
radius = np.concatenate([rng.uniform(0, 1, 60), rng.uniform(1.3, 2.2, 80)])
angle = rng.uniform(0, 2 * np.pi, 140)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.repeat(["A", "B"], [60, 80])
fig, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, gamma in zip(axes, [0.05, 1.0, 50.0]):
    model = assay.notes.kernel_svm("rbf", C=10.0, gamma=gamma).fit(X, y)
    assay.plots.decision_regions(model, X, y, ax=ax)
    ax.set_title(f"γ = {gamma:g}: {model.n_support_.sum()} support vectors", pad=24)
