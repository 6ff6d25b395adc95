"""
Occam's razor
===============

L2: a line does not fit; a parabola and degree 8 do. The simplest that fits is the most plausible.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(16)
x = np.sort(rng.uniform(-1, 1, 30))
y = 1.5 * x**2 - 0.5 + rng.normal(0, 0.15, 30)
models = {f"degree {p}": assay.notes.polynomial(p).fit(x[:, None], y) for p in (1, 2, 8)}
fig, ax = plt.subplots(figsize=(6.5, 4.8))
assay.plots.fitted_curve(models, x[:, None], y, ax=ax)
