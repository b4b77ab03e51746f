"""
Where should a score be cut into grades?
========================================

A model gives scores, but you need grades. `ThresholdRanker` finds the thresholds with the lowest
cost. A model fits its training rows better than other rows, so thresholds that fit those rows don't
fit new ones. By default the thresholds are learned from scores of held-out rows.
"""

# %%
# A model that fits its 300 rows closely, cut in both ways, and 1,000 new rows.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.magnitude import MPRank
from rankwise.metrics import mean_rank_loss
from rankwise.ordinal import ThresholdRanker
from rankwise.plots import ProjectionDisplay

random = np.random.default_rng(0)
X = random.normal(size=(1_300, 6))
latent = X[:, 0] + np.sin(2 * X[:, 1]) + random.normal(0, 0.6, 1_300)
y = 1 + np.digitize(latent, [-2, -0.7, 0.7, 2])
new = slice(300, None)

fig, axes = plt.subplots(2, 1, figsize=(7, 5.6), sharex=True)
for ax, cv, name in zip(axes, (None, 5), ("rows it has learned", "rows left out"), strict=True):
    model = ThresholdRanker(MPRank(C=1_000.0, kernel="rbf"), cv=cv).fit(X[:300], y[:300])
    loss = mean_rank_loss(y[new], model.predict(X[new]))
    ProjectionDisplay.from_estimator(model, X[new], y[new], ax=ax)
    ax.set_title(f"cut by the scores of {name}: {loss:.2f} ranks off on new rows")
axes[0].set_xlabel("")
plt.tight_layout()
plt.show()
