"""
Gradient descent on the log loss
==================================

L2, gradient for binary class: the path of w on the surface of L(w).
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(70)
X = np.vstack([rng.normal((-1.0, 0.0), 1.0, (60, 2)), rng.normal((1.0, 0.6), 1.0, (60, 2))])
y = np.repeat([0, 1], 60)
steps = list(
    assay.LogisticRegression(solver="gd", fit_intercept=False, init=[0, -2, 2], C=1e6, tol=1e-6, max_iter=60).steps(
        X, y
    )
)
fig, ax = plt.subplots(figsize=(6.5, 5))
assay.plots.loss_surface(X, y, "log", path=[np.ravel(s.values["coef_"]) for s in steps], ax=ax)
