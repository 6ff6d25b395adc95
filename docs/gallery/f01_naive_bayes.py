"""
Naive Bayes: a density for each class and column
==================================================

Ten methods, section 1: closed-form maximum likelihood, column by column.
"""

import matplotlib.pyplot as plt

import assay

coins = assay.dataset("coins")
model = assay.notes.gaussian_naive_bayes().fit(coins.X, coins.y)
fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for j, ax in enumerate(axes):
    assay.plots.densities(model, coins.X, coins.y, column=j, ax=ax)
    ax.set_xlabel(coins.names[j])
