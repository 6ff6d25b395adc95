"""
Maximum likelihood is least squares
=====================================

Linear models: the likelihood of the slope for three variances, the intercept at its best. The maximum is at
the same w₁, whatever σ² is.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

oaks = assay.dataset("oaks")
model = assay.LinearRegression().fit(oaks.X, oaks.y)
slopes = np.linspace(0.08, 0.18, 200)
centred, f = oaks.X[:, 0] - oaks.X.mean(), oaks.y - oaks.y.mean()
E = ((f[:, None] - centred[:, None] * slopes) ** 2).sum(axis=0)
fig, ax = plt.subplots(figsize=(6.5, 4.5))
for variance in [4.0, model.sigma2_, 12.0]:
    ax.plot(slopes, -0.5 * (12 * np.log(2 * np.pi * variance) + E / variance), label=f"σ² = {variance:.2f}")
ax.axvline(model.coef_[0], color="black", linestyle=":", label="least squares")
ax.set(xlabel="slope w₁", ylabel="log L(w, σ²)")
ax.legend()
