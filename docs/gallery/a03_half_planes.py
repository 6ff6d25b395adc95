"""
A line splits the plane in two
================================

Lecture 5, section 3.1: w·x = b is the decision boundary, w its normal; here ‖w‖ = 1.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(1)
X = rng.uniform(-2, 2, (80, 2))
y = np.where(X @ [0.8, 0.6] - 0.3 >= 0, 1, -1)
model = assay.Perceptron().fit(X, y)
w = model.coef_[0] / np.linalg.norm(model.coef_)
b = -model.intercept_[0] / np.linalg.norm(model.coef_)
fig, ax = plt.subplots(figsize=(6, 5))
assay.plots.decision_regions(model, X, y, ax=ax)
ax.annotate("", xy=b * w + w, xytext=b * w, arrowprops={"arrowstyle": "->", "linewidth": 2.5})
ax.text(*(b * w + 1.1 * w), "w", fontsize=12)
ax.set_title(f"⟨w, x⟩ = {b:.2f}", pad=24)
