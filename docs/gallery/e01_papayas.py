"""
Papayas in a rectangle
========================

Classification, papayas: the tightest rectangle around the tasty ones makes no mistake.
"""

import matplotlib.pyplot as plt

import assay

papayas = assay.dataset("papayas")
model = assay.RectangleClassifier(method="tightest", pos_label="tasty").fit(papayas.X, papayas.y)
fig, ax = plt.subplots(figsize=(6.5, 5))
assay.plots.decision_regions(model, papayas.X, papayas.y, names=papayas.names, ax=ax)
