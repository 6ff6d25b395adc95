"""
The kernel perceptron
=======================

Ten methods, section 4: (1 + x·z)² holds x² and y², so a circle is a line in its feature space.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(10)
radius = np.concatenate([rng.uniform(0, 1, 60), rng.uniform(1.3, 2.2, 80)])
angle = rng.uniform(0, 2 * np.pi, 140)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.repeat(["A", "B"], [60, 80])
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model in zip(
    axes,
    [assay.notes.kernel_perceptron(max_iter=20), assay.notes.kernel_perceptron("poly", degree=2, coef0=1.0, gamma=1.0)],
):
    assay.plots.decision_regions(model.fit(X, y), X, y, ax=ax)
    ax.set_title(f"kernel={model.kernel!r}: {model.mistakes_} mistakes on the way", pad=24)
