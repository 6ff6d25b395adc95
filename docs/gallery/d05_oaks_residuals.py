"""
Residuals of the oaks
=======================

Linear models: what is left of the data when the line is taken away.
"""

import matplotlib.pyplot as plt

import assay

oaks = assay.dataset("oaks")
model = assay.LinearRegression().fit(oaks.X, oaks.y)
fig, ax = plt.subplots(figsize=(6.5, 4.5))
assay.plots.residuals(oaks.y, model.predict(oaks.X), ax=ax)
