"""
What if only the first ten count?
=================================

A search page shows ten results. The usual measure, AUC, weights all pairs equally, also those far
down the list. Here a few negatives look like the best positives: a model of all pairs puts them on
top, since they are few; a model of the top does not.
"""

# %%
# Most positives lie to the right; twenty negatives lie far to the right, and lower.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.metrics import auc_score, positives_at_top_score
from rankwise.pairwise import RankSVM, TopPush

random = np.random.default_rng(0)
positives = random.normal([1.5, 1.8], [1.0, 0.7], size=(400, 2))
negatives = random.normal([-1.5, 0.0], [1.0, 0.4], size=(1_600, 2))
decoys = random.normal([6.0, -1.0], 0.3, size=(20, 2))
X = np.vstack([positives, negatives, decoys])
y = np.repeat([1, 0], [400, 1_620])

# %%
# Each line joins points of equal score; everything beyond the solid one is above all negatives.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
for ax, model in zip(axes, [RankSVM(), TopPush()], strict=True):
    scores = model.fit(X, y).predict(X)
    ax.scatter(*X[y == 0].T, s=6, c="0.65", label="negative")
    ax.scatter(*X[y == 1].T, s=6, c="tab:blue", label="positive")
    u, v = np.meshgrid(np.linspace(-5, 7, 60), np.linspace(-2, 4, 60))
    surface = model.predict(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
    ax.contour(u, v, surface, levels=8, colors="0.5", linewidths=0.6)
    ax.contour(u, v, surface, levels=[scores[y == 0].max()], colors="tab:red")
    above = positives_at_top_score(y, scores)
    ax.set_title(
        f"{type(model).__name__}: AUC {auc_score(y, scores):.3f}\n"
        f"{above:.0%} of the positives above all negatives"
    )
axes[0].legend(loc="lower left")
