"""
Bias and variance
===================

Ten methods, context: the same estimator fitted to 200 samples; E[(y − f̂)²] = bias² + variance + σ².
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(0)
x = np.linspace(-1, 1, 60)
truth, noise, parts = np.sin(3 * x), 0.3, []
for degree in (1, 3, 5, 9):
    answers = np.array(
        [
            assay.notes.polynomial(degree).fit(x[:, None], truth + rng.normal(0, noise, 60)).predict(x[:, None])
            for _ in range(200)
        ]
    )
    parts.append((np.mean((answers.mean(axis=0) - truth) ** 2), np.mean(answers.var(axis=0))))
fig, ax = plt.subplots(figsize=(6.5, 4.5))
assay.plots.bias_variance(
    *np.array(parts).T, [noise**2] * 4, names=["degree 1", "degree 3", "degree 5", "degree 9"], ax=ax
)
