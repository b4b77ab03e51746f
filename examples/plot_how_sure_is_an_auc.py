"""
How sure is an AUC of twenty rows?
==================================

The AUC of a sample is an estimate. The interval says how far it may be from the truth: with ten
rows of each class it is too wide to distinguish two good models. It also works if all pairs are in
the right order, where other methods give 1 with a width of 0.
"""

# %%
# Scores of one true AUC, in samples of growing size.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from rankwise.metrics import auc_interval, auc_score

truth = norm.cdf(1.4 / np.sqrt(2))
sizes = [10, 20, 50, 100, 300, 1_000]
random = np.random.default_rng(3)

# %%
# Six samples of each size; red ones miss the truth.

fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for place, n in enumerate(sizes):
    y = np.repeat([0, 1], n)
    for shift in np.linspace(-0.3, 0.3, 6):
        s = random.normal(size=2 * n) + 1.4 * y
        low, high = auc_interval(y, s)
        color = "tab:blue" if low <= truth <= high else "tab:red"
        ax.plot([place + shift] * 2, [low, high], color=color)
        ax.plot(place + shift, auc_score(y, s), "o", color=color, markersize=3)
ax.axhline(truth, color="0.4", linestyle=":", label=f"the truth, {truth:.3f}")
ax.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
ax.set(xlabel="rows of each class", ylabel="AUC and its 95 % interval")
ax.legend(loc="lower right")
