"""
Losses of classes over the margin
===================================

L2, risks: the zero-one loss and its surrogates.
"""

import matplotlib.pyplot as plt

import assay

fig, ax = plt.subplots(figsize=(6.5, 4.5))
assay.plots.loss_functions("zero-one", "perceptron", "hinge", "log", ax=ax)
