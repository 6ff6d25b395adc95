"""
How kernels grow
==================

The table of complexities, measured: a kernel machine touches pairs of rows, so that its work grows with n².
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(0)
sizes, taken = [250, 500, 1000, 2000], []
for n in sizes:
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)
    assay.SVC(C=10.0).fit(X, y)
    start = time.process_time()
    assay.SVC(C=10.0).fit(X, y)
    taken.append(time.process_time() - start)
fig, ax = plt.subplots(figsize=(6.5, 4.5))
ax.loglog(sizes, taken, "o-", label="SVC, RBF")
ax.loglog(sizes, [taken[-1] * (n / sizes[-1]) ** 2 for n in sizes], ":", label="n²")
ax.set(xlabel="rows n", ylabel="seconds")
ax.legend()
