"""
Are the probabilities right?
==============================

Guide: observed shares over predicted ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 3))
y = (X @ [1.0, 1.0, 0.0] + rng.logistic(size=3000) > 1.5).astype(int)
P = assay.LogisticRegression().fit(X[:1000], y[:1000]).predict_proba(X[1000:])
fig, axes = plt.subplots(2, 1, figsize=(6, 6), sharex=True, layout="constrained", height_ratios=[3, 1])
assay.plots.calibration(y[1000:], P[:, 1], ax=axes)
