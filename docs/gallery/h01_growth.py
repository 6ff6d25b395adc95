"""
How the work grows
====================

The table of complexities, measured: time of fits over the number of rows or columns, with the growth that the
notes state as a dotted line. Least of three runs each; the constant is the machine's.
"""

import time
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import assay

rng = np.random.default_rng(0)


def seconds(work):
    taken = []
    for _ in range(3):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def rows(n, d=10):
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


sizes = [4000, 8000, 16000, 32000, 64000]
fig, axes = plt.subplots(2, 3, figsize=(13, 8), layout="constrained")
fits = {
    "naive Bayes, O(nd)": assay.notes.gaussian_naive_bayes(),
    "perceptron, one pass, O(nd)": assay.Perceptron(max_iter=1),
    "logistic regression, O(nd²s)": assay.LogisticRegression(C=1.0),
    "decision tree, O(n log n · d)": assay.notes.decision_tree(max_depth=12),
    "k-d tree, O(n log n · d)": assay.NearestNeighbors(algorithm="kd_tree"),
}

warnings.simplefilter("ignore")
for ax, (name, model) in zip(axes.flat, fits.items()):
    data = [rows(n, 5 if "k-d" in name else 10) for n in sizes]
    model.fit(*data[0])
    taken = [seconds(partial(model.fit, X, y)) for X, y in data]
    ax.loglog(sizes, taken, "o-", sizes, [taken[-1] * n / sizes[-1] for n in sizes], ":")
    ax.set(title=name, xlabel="rows n", ylabel="seconds")
trees = [assay.NearestNeighbors(algorithm="kd_tree").fit(rows(n, 3)[0]) for n in sizes]
asked = rows(4000, 3)[0]
taken = [seconds(partial(tree.kneighbors, asked, 1)) for tree in trees]
axes.flat[5].semilogx(sizes, taken, "o-", sizes, [taken[-1] * np.log(n) / np.log(sizes[-1]) for n in sizes], ":")
for ax in axes.flat:
    ax.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=30)
    ax.set_xticks([], minor=True)
axes.flat[5].set(title="4000 nearest neighbours, O(log n · d)", xlabel="rows n", ylabel="seconds", ylim=(0, None))
