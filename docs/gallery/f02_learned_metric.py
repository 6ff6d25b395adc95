"""
A learned distance
====================

Ten methods, section 2: W of d_W by s steps of BFGS; the chance that soft neighbours answer rightly rises.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(8)
x = rng.uniform(0, 60, 120)
side = rng.uniform(0.02, 1, 120) * rng.choice([-1, 1], 120)
X, y = np.column_stack([x, side + 0.06 * x]), np.where(side > 0, "A", "B")
model = assay.KNeighborsClassifier(5, metric="learned").fit(X, y)
fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
assay.plots.decision_regions(model, X, y, ax=axes[0])
axes[1].plot(model.objective_, "o-")
axes[1].set(xlabel="step s of BFGS", ylabel="chance of a right answer, softly")
