"""
A verdict as a picture
========================

Guide, reading a verdict: risks with their intervals.
"""

import matplotlib.pyplot as plt

import assay

found = assay.compare("papayas", "taste", models=["baseline", "lda", "rectangle", "decision-tree", "knn"])
fig, ax = plt.subplots(figsize=(7.5, 3.5))
found.plot(ax=ax)
