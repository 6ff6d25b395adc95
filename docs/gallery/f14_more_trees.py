"""
More trees steady the vote
============================

Ten methods, section 10: the out-of-bag error over the number of trees.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(90)
centres = np.array([[-1.2, 0.8], [1.2, 1.0], [0.2, -1.2]])
X = np.vstack([rng.normal(c, 0.9, (50, 2)) for c in centres])
y = np.repeat(["A", "B", "C"], 50)
fig, ax = plt.subplots(figsize=(6.5, 4.2))
assay.plots.oob_curve(assay.notes.random_forest(200, 0.5, oob_score=True).fit(X, y), ax=ax)
