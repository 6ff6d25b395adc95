"""
The perceptron by hand, w⁽⁰⁾ to w⁽⁵⁾
======================================

Linear models, the worked example: three points, ε = 1, from (0, −1, 1) to (1, 2, −2).
"""

import matplotlib.pyplot as plt
import numpy as np

import assay

three = assay.dataset("three-points")
model = assay.Perceptron(init=[0, -1, 1])
states = [np.array([0.0, -1.0, 1.0]), *(step.values["w"] for step in model.steps(three.X, three.y))]
fig, axes = plt.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
x = np.array([-4.0, 6.0])
for t, (ax, w) in enumerate(zip(axes.flat, states)):
    ax.plot(*three.X[three.y == 1].T, "o", *three.X[three.y == 0].T, "s", markersize=9)
    if w[2] != 0:
        ax.plot(x, -(w[0] + w[1] * x) / w[2], "b-")
    elif w[1] != 0:
        ax.axvline(-w[0] / w[1], color="b")
    ax.annotate("", xy=w[1:] / np.linalg.norm(w[1:]), xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": "r"})
    ax.set(xlim=(-3, 5), ylim=(-4, 5), title=f"w({t}) = ({w[0]:g}, {w[1]:g}, {w[2]:g})")
