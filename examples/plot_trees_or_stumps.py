"""
When do trees beat stumps?
==========================

A sum of stumps can't represent interactions of two columns. Trees can. On the left the truth is a
sum of single columns, on the right a product: there stumps learn nothing from the two columns, in
any number of rounds.
"""

# %%
# The same rows, two truths.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.boosting import RankBoost
from rankwise.metrics import pairwise_misranking_loss

random = np.random.default_rng(0)
X = random.normal(size=(3_000, 5))
noise = 0.3 * random.normal(size=3_000)
truths = {
    "sum of columns": np.tanh(2 * X[:, 0]) + X[:, 1] + noise,
    "product of columns": X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + noise,
}

# %%
# Misranked pairs of new rows after each round.

fig, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for ax, (name, truth) in zip(axes, truths.items(), strict=True):
    y = np.digitize(truth, np.quantile(truth, [0.2, 0.4, 0.6, 0.8]))
    for label, settings in {
        "stumps": {},
        "trees of 8 leaves": {"max_leaf_nodes": 8, "learning_rate": 0.2},
    }.items():
        model = RankBoost(100, **settings).fit(X[:1_500], y[:1_500])
        stages = list(model.staged_predict(X[1_500:]))[::5]
        losses = [pairwise_misranking_loss(y[1_500:], s, ties="half") for s in stages]
        ax.plot(np.arange(len(losses)) * 5 + 1, losses, label=label)
    ax.set(title=name, xlabel="rounds", ylim=(0, 0.55))
axes[0].set_ylabel("misranked pairs of new rows")
axes[1].legend()
