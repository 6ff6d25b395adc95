"""
A network of one layer
========================

Ten methods, section 8: each unit is a line; together they fence the disc in.
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
for ax, units in zip(axes, [2, 8]):
    model = assay.notes.neural_network(
        units, activation="tanh", learning_rate_init=0.2, batch_size=20, max_iter=400
    ).fit(X, y)
    assay.plots.decision_regions(model, X, y, ax=ax)
    ax.set_title(f"{units} units, training error {1 - model.score(X, y):.2f}", pad=24)
