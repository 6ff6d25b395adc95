"""
Three neighbours or five
==========================

L2, 1st glance: the test point is red with k = 3 and blue with k = 5.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

X = np.array(
    [
        [0.5, 0.4],
        [-0.3, 0.75],
        [2.2, 1.3],
        [1.2, 2.0],
        [-0.6, 2.3],
        [-0.6, -0.3],
        [0.6, -0.85],
        [-1.0, 0.55],
        [-1.8, -1.4],
        [0.9, -2.1],
    ]
)
y = np.array(["red"] * 5 + ["blue"] * 5)
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, k in zip(axes, [3, 5]):
    model = assay.notes.k_nn(k).fit(X, y)
    assay.plots.neighbours(model, X, y, [[0.0, 0.0]], ax=ax)
    ax.set_title(f"k = {k}: {model.predict([[0.0, 0.0]])[0]}", pad=24)
