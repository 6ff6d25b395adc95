"""
The error surface of the oaks, and the path down it
=====================================================

Linear models: E(w₀, w₁) is a convex paraboloid. In years it is a long valley; with ages brought to mean 0 and
deviation 1 gradient descent runs straight down.
"""

import matplotlib.pyplot as plt

import assay

oaks = assay.dataset("oaks")
X = (oaks.X - oaks.X.mean()) / oaks.X.std()
fig, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for ax, A, steps in zip(axes, [oaks.X, X], [400, 40]):
    way = assay.LinearRegression(solver="gd", init=[0, 0], max_iter=steps).steps(A, oaks.y)
    assay.plots.loss_surface(
        A, oaks.y, "squared", path=[(s.values["coef_"][0], s.values["intercept_"]) for s in way], ax=ax
    )
axes[0].set_title("age in years", pad=24)
axes[1].set_title("age standardised", pad=24)
