"""
Models and decision regions
=============================

Lecture 5, section 2.2: one training set, four hypothesis classes, and what each answers everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(5)
angle = rng.uniform(0, np.pi, 120)
upper = np.arange(120) < 60
X = np.column_stack([np.cos(angle) + ~upper, np.where(upper, np.sin(angle), 0.5 - np.sin(angle))])
X += rng.normal(0, 0.2, X.shape)
y = np.where(upper, "A", "B")
models = [assay.LogisticRegression(), assay.DecisionTreeClassifier(max_depth=4), assay.SVC(C=10.0), assay.notes.k_nn(1)]
fig, axes = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
for ax, model in zip(axes.flat, models):
    assay.plots.decision_regions(model.fit(X, y), X, y, ax=ax)
    loss = assay.empirical_risk(model, X, y)
    ax.set_title(f"{type(model).__name__}, L(f) = {loss:.3f}", fontsize=10, pad=24)
