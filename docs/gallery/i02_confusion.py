"""
Which coins are taken for which
=================================

Guide: the confusion of held-out rows.
"""

import matplotlib.pyplot as plt

import assay

coins = assay.dataset("coins")
model = assay.notes.map_classifier().fit(coins.X[:900], coins.y[:900])
fig, ax = plt.subplots(figsize=(5.5, 4.8))
assay.plots.confusion(coins.y[900:], model.predict(coins.X[900:]), model.classes_, ax=ax)
