"""
What adds what: the bars of all rows and the way of one
=========================================================

SHAP values of gradient boosting, exact: with the base they add up to the answer for each row. The rents are made up; rooms and dice mean nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(11)
names = ["area", "rooms", "year", "floor", "tram minutes", "dice"]
X = np.column_stack([rng.uniform(20, 120, 600), rng.integers(1, 6, 600), rng.integers(1900, 2025, 600), rng.integers(0, 9, 600), rng.uniform(1, 30, 600), rng.integers(1, 7, 600)])  # fmt: skip
rent = 200 + 9 * X[:, 0] + 60 * (X[:, 2] > 2000) + 8 * X[:, 3] - 6 * X[:, 4] + rng.normal(0, 40, 600)
model = assay.GradientBoostingRegressor().fit(X, rent)
values = model.shap_values(X)
fig, axes = plt.subplots(1, 2, figsize=(12, 3.8), layout="constrained")
assay.plots.shap_importance(values, names, ax=axes[0])
assay.plots.waterfall(values[0], model.shap_base_, names, x=X[0], ax=axes[1])
