"""
The normal density
====================

Linear models, reminder: N[μ, σ²] for three variances.
"""

import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(-5, 5, 400)
fig, ax = plt.subplots(figsize=(6.5, 4))
for sigma in [0.5, 1.0, 2.0]:
    ax.plot(x, np.exp(-(x**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi)), label=f"μ = 0, σ = {sigma}")
ax.set(xlabel="x", ylabel="p(x)")
ax.legend()
