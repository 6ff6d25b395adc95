"""
The questions of a tree
=========================

Ten methods, section 9: the same tree as questions.
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(90)
centres = np.array([[-1.2, 0.8], [1.2, 1.0], [0.2, -1.2]])
X = np.vstack([rng.normal(c, 0.9, (50, 2)) for c in centres])
y = np.repeat(["A", "B", "C"], 50)
fig, ax = plt.subplots(figsize=(10, 5.5))
assay.plots.tree(assay.notes.decision_tree(max_depth=3).fit(X, y), ax=ax)
