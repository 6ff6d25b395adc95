"""
The support vector machine
============================

Ten methods, section 5: the widest strip, and the few rows it rests on.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(5)
X = rng.uniform(-2, 2, (60, 2)) + np.array([2, 3])
height = X[:, 1] - X[:, 0] - 1
X, y = X[np.abs(height) > 0.5], np.where(height[np.abs(height) > 0.5] > 0, 1, -1)
fig, ax = plt.subplots(figsize=(6.5, 5.5))
assay.plots.margins(assay.notes.svm().fit(X, y), X, y, ax=ax)
