"""
The perceptron learning algorithm, mistake by mistake
=======================================================

Classification, PLA (after figure 4.7 of PRML): the line after each correction.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(47)
X = rng.uniform(-2, 2, (40, 2))
height = X @ [-0.6, 1.0]
X, y = X[np.abs(height) > 0.3], (height[np.abs(height) > 0.3] > 0).astype(int)
fig, ax = plt.subplots(figsize=(6.5, 5.5))
assay.plots.perceptron_path(assay.notes.perceptron(), X, y, ax=ax)
