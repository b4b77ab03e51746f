"""
How do I make one ranking out of many?
======================================

Majorities may be cyclic, and then every order contradicts some of them. Kemeny's order contradicts
the fewest votes. Left: the majorities of an election in that order. Right: the cost of faster
rules.
"""

# %%
# Twelve voters rank thirty candidates. Most see the same truth with some noise; the last three see
# little of it, and all leave some candidates out.

import matplotlib.pyplot as plt
import numpy as np

from rankwise.aggregation import (
    borda,
    copeland,
    footrule,
    kemeny,
    kemeny_cost,
    kwiksort,
    markov_chain,
    pairwise_wins,
)

random = np.random.default_rng(3)
truth = np.arange(30)
votes = []
for voter in range(12):
    seen = truth + (8 if voter < 9 else 40) * random.standard_normal(30)
    listed = random.permutation(30)[:24]
    votes.append(listed[np.argsort(seen[listed])].tolist())

# %%
# The optimum, with its proof.

best = kemeny(votes)
best.cost, best.lower_bound, best.optimal

# %%
# Above the diagonal, blue is a majority for the order and red one against it. Most red cells are
# pale and near the diagonal: small majorities over neighbours.

_, wins = pairwise_wins(votes, candidates=best.order)
margins = wins - wins.T
costs = {
    rule.__name__: kemeny_cost(rule(votes), votes)
    for rule in (borda, copeland, footrule, markov_chain)
}
costs["kwiksort"] = kwiksort(votes, random_state=0).cost
costs["kwiksort,\nbest of 20"] = kwiksort(votes, repeats=20, random_state=0).cost
costs["kemeny,\nlocal search"] = kemeny(votes, method="local").cost

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
image = left.imshow(np.triu(margins, 1), cmap="RdBu", vmin=-12, vmax=12)
left.set(xticks=[], yticks=[], xlabel="worse", ylabel="better", title="Majorities, Kemeny's order")
fig.colorbar(image, ax=left, label="voters for the order less those against", shrink=0.8)
names = sorted(costs, key=costs.get)
right.barh(names, [100 * (costs[name] / best.cost - 1) for name in names], color="0.5")
right.invert_yaxis()
right.set(xlabel="cost above the optimum, in percent", title="What the other rules lose")
right.spines[["top", "right"]].set_visible(False)
