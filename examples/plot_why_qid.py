"""
Why say which query a row belongs to?
=====================================

Queries differ in level: some are easy, all their results are good. Whoever compares rows of
different queries learns the level of the query, which is of no use inside one. `qid` says which
rows may be compared.
"""

# %%
# The first column follows the level of the query, but inside a query less of it is better.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.metrics import pairwise_misranking_loss
from rankwise.pairwise import RankSVM

random = np.random.default_rng(0)
qid = np.repeat(np.arange(100), 10)
level = random.normal(size=100)[qid]
inside = random.normal(size=1_000)
X = np.column_stack([level - 0.5 * inside, inside + random.normal(size=1_000)])
y = 3 * level + inside
train, test = qid < 50, qid >= 50

# %%
# The same model, with and without queries, measured inside queries and over all rows.

with_qid = RankSVM().fit(X[train], y[train], qid=qid[train])
without = RankSVM().fit(X[train], y[train])
bars = {}
for name, model in {"fit without qid": without, "fit with qid": with_qid}.items():
    scores = model.predict(X[test])
    bars[name] = [
        pairwise_misranking_loss(y[test], scores),
        pairwise_misranking_loss(y[test], scores, qid=qid[test]),
    ]

fig, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for shift, (name, values) in zip([-0.2, 0.2], bars.items(), strict=True):
    drawn = ax.bar(np.arange(2) + shift, values, 0.36, label=name)
    ax.bar_label(drawn, fmt="%.2f")
ax.set_xticks([0, 1], ["measured over all rows", "measured inside queries"])
ax.set(ylabel="misranked pairs of new rows", ylim=(0, 1))
ax.legend()
