"""
Training and test error over the degree
=========================================

L2, simpler is better: the training error only falls, the test error rises again.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(15)


def truth(x):
    return 2 * x**3 - 1.2 * x


x, x_new = rng.uniform(-1, 1, 24), rng.uniform(-1, 1, 2000)
y, y_new = truth(x) + rng.normal(0, 0.18, 24), truth(x_new) + rng.normal(0, 0.18, 2000)
degrees = np.arange(1, 13)
fits = [assay.notes.polynomial(int(p)).fit(x[:, None], y) for p in degrees]
train = [np.mean((m.predict(x[:, None]) - y) ** 2) for m in fits]
test = [np.mean((m.predict(x_new[:, None]) - y_new) ** 2) for m in fits]
fig, ax = plt.subplots(figsize=(6.5, 4.5))
ax.plot(degrees, train, "o-", label="training")
ax.plot(degrees, test, "s--", label="test")
ax.set(xlabel="degree", ylabel="mean squared error", yscale="log")
ax.legend()
