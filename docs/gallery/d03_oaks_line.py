"""
Oaks of Wisconsin: the least-squares line
===========================================

Linear models: age against diameter, and the line that makes E least.
"""

import matplotlib.pyplot as plt

import assay

oaks = assay.dataset("oaks")
model = assay.LinearRegression().fit(oaks.X, oaks.y)
fig, ax = plt.subplots(figsize=(6.5, 4.8))
assay.plots.fitted_curve(model, oaks.X, oaks.y, residuals=True, ax=ax)
ax.set(
    xlabel="age (years)",
    ylabel="diameter (inches)",
)
ax.set_title(f"{model.intercept_:.4f} + {model.coef_[0]:.4f} · age", pad=24)
