"""
E falls step by step
======================

Linear models: gradient descent on the oaks with three learning speeds; the largest safe one is what
eta="auto" takes.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

oaks = assay.dataset("oaks")
X = (oaks.X - oaks.X.mean()) / oaks.X.std()
fig, ax = plt.subplots(figsize=(6.5, 4.5))
for eta in [0.002, 0.01, 0.05]:
    steps = assay.LinearRegression(solver="gd", init=[0, 0], eta=eta, max_iter=60, tol=1e-12).steps(X, oaks.y)
    E = [0.5 * np.sum((s.values["intercept_"] + X @ s.values["coef_"] - oaks.y) ** 2) for s in steps]
    ax.plot(E, label=f"ε = {eta}")
ax.set(xlabel="step", ylabel="E(w)", yscale="log")
ax.legend()
