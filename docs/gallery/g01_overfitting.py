"""
Overfitting: two models, and the test points revealed
=======================================================

L2: which fits the training data better? Which the testing data?
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(15)


def truth(x):
    return 2 * x**3 - 1.2 * x


x, x_new = np.sort(rng.uniform(-1, 1, 16)), np.sort(rng.uniform(-1, 1, 40))
y, y_new = truth(x) + rng.normal(0, 0.18, 16), truth(x_new) + rng.normal(0, 0.18, 40)
models = {f"degree {p}": assay.notes.polynomial(p).fit(x[:, None], y) for p in (3, 12)}
fig, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
assay.plots.fitted_curve(models, x[:, None], y, ax=axes[0])
assay.plots.fitted_curve(models, x[:, None], y, test=(x_new[:, None], y_new), ax=axes[1])
axes[0].set_title("training points alone", pad=24)
axes[1].set_title("test points revealed", pad=24)
