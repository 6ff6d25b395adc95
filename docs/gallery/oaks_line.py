"""
Oaks of Wisconsin: the least-squares line
=========================================

Age against diameter, and the line that makes the sum of the squared residuals least.
"""

import matplotlib.pyplot as plt

import assay

oaks = assay.dataset("oaks")
model = assay.LinearRegression().fit(oaks.X, oaks.y)
fig, ax = plt.subplots()
ax.plot(oaks.X, oaks.y, "o", oaks.X, model.predict(oaks.X), "-")
