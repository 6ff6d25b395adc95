"""
Coins by size and mass
========================

Classification: four coins are four clouds.
"""

import matplotlib.pyplot as plt

import assay

coins = assay.dataset("coins")
model = assay.notes.map_classifier().fit(coins.X, coins.y)
fig, ax = plt.subplots(figsize=(6.5, 5))
assay.plots.covariance_ellipses(model, coins.X, coins.y, names=coins.names, ax=ax)
