"""
The loss of a network by epoch
================================

Ten methods, section 8: s steps of SGD.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(10)
radius = np.concatenate([rng.uniform(0, 1, 60), rng.uniform(1.3, 2.2, 80)])
angle = rng.uniform(0, 2 * np.pi, 140)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.repeat(["A", "B"], [60, 80])
model = assay.notes.neural_network(8, activation="tanh", learning_rate_init=0.2, batch_size=20, max_iter=300).fit(X, y)
fig, axes = plt.subplots(2, 1, figsize=(6.5, 5.5), sharex=True, layout="constrained")
assay.plots.loss_curve(model, ax=axes)
