"""
Margins grow after the error is nought
========================================

AdaBoost: the share of rows whose margin, the votes for the right class less those for the wrong one, is at most θ.
More stages push the left end of the curve to the right, though no row is wrong any more.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(3)
X = rng.uniform(-1, 1, (300, 2))
y = np.where((X**2).sum(axis=1) < 0.6, "in", "out")
fig, ax = plt.subplots(figsize=(6.5, 4.2))
for stages in (5, 20, 200):
    model = assay.AdaBoostClassifier(estimator={"max_depth": 3}, n_estimators=stages).fit(X, y)
    theta, share = model.margin_curve_.T
    ax.plot(theta, share, ".-", label=f"{stages} stages, training error {model.training_loss_:.3f}")
ax.set(xlabel="margin θ", ylabel="share of rows with at most that margin")
ax.legend()
