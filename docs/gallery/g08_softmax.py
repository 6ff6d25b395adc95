"""
Softmax of three classes
==========================

L2, multi-class: three straight boundaries that meet where all probabilities are a third.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(90)
centres = np.array([[-1.2, 0.8], [1.2, 1.0], [0.2, -1.2]])
X = np.vstack([rng.normal(c, 0.9, (50, 2)) for c in centres])
y = np.repeat(["A", "B", "C"], 50)
fig, ax = plt.subplots(figsize=(6.5, 5.2))
assay.plots.decision_regions(assay.LogisticRegression(C=float("inf")).fit(X, y), X, y, ax=ax)
