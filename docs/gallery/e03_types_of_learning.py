"""
Three types of learning
=========================

L2, recap: the coins with all labels, with none, and with a few. Assay does the first.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

coins = assay.dataset("coins")
X, y = coins.X[:400], coins.y[:400]
known = np.random.default_rng(0).random(400) < 0.05
fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharey=True)
for coin, colour in zip(np.unique(y), ["C0", "C1", "C2", "C3"]):
    axes[0].plot(*X[y == coin].T, "o", color=colour, markersize=4, label=coin)
    axes[2].plot(*X[(y == coin) & known].T, "o", color=colour, markersize=6, zorder=3)
axes[1].plot(*X.T, "o", color="grey", markersize=4)
axes[2].plot(*X[~known].T, "o", color="lightgrey", markersize=4)
for ax, title in zip(axes, ["supervised", "unsupervised", "semi-supervised"]):
    ax.set(title=title, xlabel="size (mm)")
axes[0].set_ylabel("mass (g)")
axes[0].legend()
