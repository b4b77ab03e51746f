"""
Which measure sees which mistake?
=================================

One list of twenty items with grades from 0 to 4 in the right order, and five ways to spoil it. Each
measure detects some of them and not others. So decide first which mistakes matter to you.
"""

# %%
# The right scores, and five ways to spoil them.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.metrics import (
    average_precision_score,
    magnitude_loss,
    ndcg_score,
    pairwise_misranking_loss,
    reciprocal_rank_score,
)

y = np.repeat([4.0, 3, 2, 1, 0], 4)
right = y + np.linspace(0.2, -0.2, 20)


def swapped(i, j):
    """The right scores with two of them exchanged."""
    s = right.copy()
    s[[i, j]] = s[[j, i]]
    return s


spoiled = {
    "the first and the last exchanged": swapped(0, 19),
    "the worst four in front of all": np.where(y == 0, 5.0, right),
    "two exchanged at the top": swapped(3, 4),
    "two exchanged at the end": swapped(15, 16),
    "right order, half the differences": 0.5 * right,
}
measures = {
    "misranking": lambda s: pairwise_misranking_loss(y, s),
    "misranking,\nby size": lambda s: pairwise_misranking_loss(y, s, pair_weight="magnitude"),
    "1 - NDCG": lambda s: 1 - ndcg_score(y, s),
    "1 - average\nprecision": lambda s: 1 - average_precision_score(y, s),
    "1 - reciprocal\nrank": lambda s: 1 - reciprocal_rank_score(y, s),
    "magnitude loss": lambda s: magnitude_loss(y, s),
}
table = np.array([[measure(s) for measure in measures.values()] for s in spoiled.values()])

# %%
# The colours compare mistakes within a measure: dark is the worst of the five. Only the magnitude
# loss notices that differences shrink; only the measures of lists notice whether a mistake is at
# the top.

fig, ax = plt.subplots(figsize=(9, 3.8))
ax.imshow(table / table.max(axis=0), cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
for (i, j), value in np.ndenumerate(table):
    ax.text(j, i, f"{value:.3f}", ha="center", va="center")
ax.set_xticks(range(len(measures)), list(measures), fontsize=9)
ax.set_yticks(range(len(spoiled)), list(spoiled), fontsize=9)
ax.xaxis.tick_top()
plt.tight_layout()
plt.show()
