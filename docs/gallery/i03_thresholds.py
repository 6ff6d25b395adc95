"""
Probabilities and thresholds
==============================

Guide: precision, recall and cost over the threshold where a missed case costs five times a false alarm.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 3))
y = (X @ [1.0, 1.0, 0.0] + rng.logistic(size=1500) > 1.5).astype(int)
P = assay.LogisticRegression().fit(X[:700], y[:700]).predict_proba(X[700:])
fig, ax = plt.subplots(figsize=(6.5, 4.5))
assay.plots.thresholds(y[700:], P[:, 1], costs=(1.0, 5.0), ax=ax)
