"""
How does PRank learn from a mistake?
====================================

A row of rank 4 is projected into the range of rank 2. The two thresholds between the prediction and
the truth each move down by 1, and the direction turns so that the score moves up. The other
thresholds do not move.
"""

# %%
# Learn from some rows, then find the next one of rank 4 that is predicted as rank 2.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.ordinal import PRank

random = np.random.default_rng(0)
X = 0.4 * random.standard_normal((1_000, 5))
noise = 0.3 * random.standard_normal(1_000)
y = 1 + np.searchsorted([-0.9, -0.3, 0.3, 0.9], X.sum(axis=1) + noise)

model = PRank(vote=None).partial_fit(X[:100], y[:100], classes=[1, 2, 3, 4, 5])
row = 100 + np.flatnonzero((y[100:] == 4) & (model.predict(X[100:]) == 2))[0]
x, rank = X[row : row + 1], y[row : row + 1]

# %%
# Draw the line before and after the model learns from that row.

fig, axes = plt.subplots(2, figsize=(7.5, 3.2), sharex=True, layout="constrained")
for ax, when in zip(axes, ["before", "after"], strict=True):
    if when == "after":
        model.partial_fit(x, rank)
    score = model.project(x)[0]
    places = [-5, *model.thresholds_, 5]
    ax.axvspan(places[rank[0] - 1], places[rank[0]], color="tab:green", alpha=0.2)
    ax.vlines(model.thresholds_, -1, 1, color="0.3")
    for label, left, right in zip(model.classes_, places, places[1:], strict=False):
        ax.text((left + right) / 2, 0.6, label, ha="center", va="center", color="0.4")
    ax.plot(score, -0.2, "o", color="crimson")
    ax.set(ylim=(-1, 1), yticks=[], ylabel=when)
    ax.set_title(f"true rank {rank[0]}, predicted {model.predict(x)[0]}")
axes[1].set(xlim=(-5, 5), xlabel="w · x")
