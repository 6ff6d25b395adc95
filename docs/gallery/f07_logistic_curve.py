"""
Logistic regression on one column
===================================

Ten methods, section 7: the probability 1 / (1 + exp(−(wx + w₀))), fitted by Newton's method.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(2)
x = rng.normal(0, 2, 80)
y = (rng.random(80) < 1 / (1 + np.exp(-1.5 * x))).astype(int)
model = assay.notes.logistic_regression().fit(x[:, None], y)
over = np.linspace(-6, 6, 300)
fig, ax = plt.subplots(figsize=(6.5, 4.2))
ax.plot(x, y, "|", markersize=12)
ax.plot(over, model.predict_proba(over[:, None])[:, 1])
ax.set(xlabel="x", ylabel="P(y = 1 | x)")
