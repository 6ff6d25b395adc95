"""
The perceptron, 5N iterations
===============================

Lecture 5, section 3.2: N = 150 points, five times over all of them. The last line is where the last mistake
threw it.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(150)
X = np.vstack([rng.normal((-1.1, -0.7), 1.0, (75, 2)), rng.normal((1.1, 0.9), 1.0, (75, 2))])
y = np.repeat([-1, 1], 75)
order = rng.permutation(150)
X, y = X[order], y[order]
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for ax, variant in zip(axes, ["last", "averaged"]):
    model = assay.notes.online_perceptron(5, variant=variant).fit(X, y)
    assay.plots.decision_regions(model, X, y, ax=ax)
    ax.set_title(f"{variant} weights: {model.t_} visits, {model.mistakes_} mistakes", pad=24)
