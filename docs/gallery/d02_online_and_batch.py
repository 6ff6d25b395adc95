"""
Online and batch
==================

Linear models: row after row, or all mistakes of a pass at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(4)
X = rng.uniform(-3, 3, (80, 2))
keep = np.abs(X @ [1, 0.5] - 0.5) > 0.4
X, y = X[keep], (X[keep] @ [1, 0.5] > 0.5).astype(int)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, model in zip(axes, [assay.Perceptron(), assay.notes.batch_perceptron()]):
    assay.plots.perceptron_path(model, X, y, ax=ax)
    ax.set_title(f"order={model.order!r}", pad=24)
