"""
Which classes have the three green points?
============================================

Lecture 5, section 1: red and blue points are given, three green ones are asked for. Two are easy; for the
third every model has its own answer.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(3)
X = np.vstack([rng.normal((-1.4, 1.0), 0.5, (30, 2)), rng.normal((1.5, -0.8), 0.5, (30, 2))])
y = np.repeat(["red", "blue"], 30)
green = np.array([[-1.6, 1.2], [1.7, -0.9], [0.1, 0.6]])
fig, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, model in zip(axes, [assay.LogisticRegression(), assay.notes.k_nn(1), assay.notes.map_classifier()]):
    assay.plots.decision_regions(model.fit(X, y), X, y, ax=ax)
    ax.plot(*green.T, "o", color="green", markersize=9)
    ax.set_title(f"{type(model).__name__}: " + ", ".join(model.predict(green)), fontsize=9, pad=24)
