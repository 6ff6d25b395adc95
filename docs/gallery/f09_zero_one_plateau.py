"""
Why no network minimises the zero-one loss
============================================

Ten methods, section 8: along one weight the zero-one objective is a staircase whose slope is zero wherever it
exists. The log loss, its surrogate, has a slope everywhere.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(10)
radius = np.concatenate([rng.uniform(0, 1, 60), rng.uniform(1.3, 2.2, 80)])
angle = rng.uniform(0, 2 * np.pi, 140)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
y = np.repeat(["A", "B"], [60, 80])
model = assay.notes.neural_network(4, activation="tanh", learning_rate_init=0.2, batch_size=20, max_iter=300).fit(X, y)
W, t = model.coefs_[0], (y == model.classes_[1]).astype(float)
moves, zero_one, log_loss = np.linspace(-4, 4, 400), [], []
for move in moves:
    hidden = np.tanh(X @ (W + move * np.eye(1, W.size).reshape(W.shape)) + model.intercepts_[0])
    z = np.ravel(hidden @ model.coefs_[1] + model.intercepts_[1])
    zero_one.append(np.mean((z >= 0) != t))
    log_loss.append(np.mean(np.logaddexp(0, z) - t * z))
fig, axes = plt.subplots(2, 1, figsize=(6.5, 5.5), sharex=True, layout="constrained")
axes[0].step(moves, zero_one, where="mid")
axes[0].set_ylabel("zero-one objective")
axes[1].plot(moves, log_loss)
axes[1].set(xlabel="change of one weight", ylabel="log loss")
