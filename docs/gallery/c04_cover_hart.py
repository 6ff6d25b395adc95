"""
The error of one neighbour and the best possible
==================================================

Lecture 5, section 5.3: P* ≤ P(error) ≤ 2P*, where N → ∞. Two normal classes, whose best error is known.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import assay

shifts = np.linspace(0.2, 2.5, 12)
best, near = norm.cdf(-shifts), []
rng = np.random.default_rng(0)
for s in shifts:
    X = np.concatenate([rng.normal(-s, 1, 4000), rng.normal(s, 1, 4000)])[:, None]
    y = np.repeat([0, 1], 4000)
    T = np.concatenate([rng.normal(-s, 1, 4000), rng.normal(s, 1, 4000)])[:, None]
    near.append((assay.notes.k_nn(1).fit(X, y).predict(T) != y).mean())
fig, ax = plt.subplots(figsize=(6.5, 5))
ax.plot(best, best, label="P*, the MAP classifier")
ax.plot(best, 2 * best, "--", label="2P*")
ax.plot(best, 2 * best * (1 - best), ":", label="2P*(1 − P*), two classes")
ax.plot(best, near, "o", label="1-NN, measured")
ax.set(xlabel="P*(error)", ylabel="error", ylim=(0, 0.75))
ax.legend()
