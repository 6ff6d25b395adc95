"""
The update rule
=================

Classification: at a mistake w turns towards a row of class +1, or away from one of class −1.
"""

import matplotlib.pyplot as plt
import numpy as np

fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, t, x in zip(axes, [1, -1], [np.array([-1.0, 1.2]), np.array([1.4, 0.7])]):
    w = np.array([1.3, 0.5])
    for v, name, colour in [(w, "w", "C0"), (t * x, "y·x", "C1"), (w + t * x, "w + y·x", "C3")]:
        ax.annotate("", xy=v, xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 2})
        ax.text(*(1.05 * v), name, color=colour)
    ax.set(xlim=(-2, 2), ylim=(-1.2, 2), title=f"y = {t:+d}", aspect="equal")
