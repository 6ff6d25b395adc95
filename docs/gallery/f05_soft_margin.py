"""
Soft margins: the cost C
==========================

Beyond section 5: a small C makes rows inside the margin cheap, a large one dear.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(55)
X = np.vstack([rng.normal((-1.1, -0.5), 1.0, (40, 2)), rng.normal((1.1, 0.5), 1.0, (40, 2))])
y = np.repeat([0, 1], 40)
fig, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, C in zip(axes, [0.01, 1.0, 100.0]):
    assay.plots.margins(assay.SVC(kernel="linear", C=C).fit(X, y), X, y, ax=ax)
    ax.set_title(f"C = {C:g}", pad=44)
