"""
A sine wave by stumps
=======================

Gradient boosting: each stump is grown for what the ones before it leave, and a tenth of it is added.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(7)
x = np.sort(rng.uniform(0, 2 * np.pi, 200))
y = np.sin(x) + rng.normal(0, 0.2, 200)
grid = np.linspace(0, 2 * np.pi, 600)[:, None]
model = assay.GradientBoostingRegressor(max_depth=1, n_estimators=200, min_samples_leaf=5).fit(x[:, None], y)
stages = list(model.staged_predict(grid))
fig, axes = plt.subplots(1, 4, figsize=(12, 3.4), sharey=True, layout="constrained")
for ax, s in zip(axes, (1, 10, 50, 200), strict=True):
    ax.plot(x, y, ".", color="0.6", markersize=4)
    ax.plot(grid[:, 0], np.sin(grid[:, 0]), "--", color="0.3", linewidth=1)
    ax.plot(grid[:, 0], stages[s - 1], linewidth=2)
    ax.set(title=f"{s} stump" + "s" * (s > 1), xlabel="x")
