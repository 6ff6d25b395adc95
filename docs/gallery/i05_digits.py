"""
Digits of eight by eight shades
=================================

Classification, hand-written digits: the first of each class, and its nearest neighbour's answer.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

digits = assay.dataset("digits")
model = assay.notes.k_nn(3).fit(digits.X[:450], digits.y[:450])
X, y = digits.X[450:], digits.y[450:]
fig, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for k, ax in enumerate(axes.flat):
    at = int(np.flatnonzero(y == k)[0])
    ax.imshow(X[at].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[], title=f"{model.predict(X[at : at + 1])[0]}")
fig.suptitle(f"error on {len(y)} new digits: {1 - model.score(X, y):.3f}")
