"""
Would more rows help?
=====================

Learn from 50, 100, 200, ... rows and look at new ones. Where the curve is flat, more rows of this
kind bring nothing, and a better model or better columns might.
"""

# %%
# A saddle that no straight line can follow, and three models.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import learning_curve

from rankwise.datasets import make_herbrich
from rankwise.metrics import mean_rank_loss
from rankwise.ordinal import OAPRank, PRank

X, y = make_herbrich(2_000, random_state=0)


def loss(model, X, y):
    return mean_rank_loss(y, model.predict(X))


# %%
# Bands are one standard deviation over five splits.

models = {
    "PRank": PRank(random_state=0),
    "PRank, Gaussian kernel": PRank(kernel="rbf", gamma=4.0, random_state=0),
    "OAPRank": OAPRank(20, random_state=0),
}
fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for name, model in models.items():
    sizes, _, losses = learning_curve(
        model, X, y, train_sizes=np.geomspace(0.03, 1, 6), scoring=loss, cv=5
    )
    mean, spread = losses.mean(axis=1), losses.std(axis=1)
    ax.semilogx(sizes, mean, "o-", label=name)
    ax.fill_between(sizes, mean - spread, mean + spread, alpha=0.15)
ax.set(xlabel="rows learned from", ylabel="ranks off on new rows", ylim=(0, None))
ax.legend()
