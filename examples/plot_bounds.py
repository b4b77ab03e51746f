"""
What does a theorem promise about my data?
==========================================

A bound says how bad a model can be at worst. It is drawn with the actual result and the trivial
bound, which holds without any theorem: a bound that is not below it says nothing.
"""

# %%
# Two streams of three grades. On the left some ranker is right about every row, and the mistake
# bound does not grow. On the right every 50th grade is wrong: there the regret bound grows with
# the stream, and so does the loss.

import matplotlib.pyplot as plt
import numpy as np

from rankwise import bounds, metrics
from rankwise.magnitude import MPRank
from rankwise.ordinal import PRank

random = np.random.default_rng(0)
w, b = np.array([1.0, 1.0]), np.array([-0.5, 0.5])
X = random.uniform(-1, 1, size=(5_000, 2))
X = X[np.abs((X @ w)[:, None] - b).min(axis=1) > 0.2]
clean = 1 + np.searchsorted(b, X @ w)
noisy = clean.copy()
noisy[::50] = 4 - noisy[::50]


def regret_bound(X, y):
    """The least of the bounds for fifty margins: all of them hold at once."""
    margins = np.geomspace(0.01, 1, 50)
    return min(bounds.prank_regret_bound(X, y, w, b, g).value for g in margins)


def mistake_bound(X, y):
    """The bound for streams that the ranker (w, b) gets right."""
    return bounds.prank_mistake_bound(X, y, w, b).value


fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
rounds = np.unique(np.geomspace(20, len(X), 25).astype(int))
streams = [("a ranker is right", clean, mistake_bound), ("2 % wrong grades", noisy, regret_bound)]
for ax, (title, y, bound) in zip(axes, streams, strict=True):
    guesses = PRank(vote=None).partial_fit_predict(X, y, classes=[1, 2, 3])
    happened = np.abs(guesses - y).cumsum()
    promised = [bound(X[:n], y[:n]) for n in rounds]
    ax.plot(rounds, 2 * rounds, ":", color="gray", label="trivial")
    ax.plot(rounds, promised, color="tab:red", label="bound")
    ax.plot(rounds, happened[rounds - 1], color="tab:blue", label="happened")
    ax.set(xscale="log", yscale="log", title=title, xlabel="rounds")
axes[0].set_ylabel("ranks lost so far")
axes[0].legend()
plt.tight_layout()
plt.show()

# %%
# Four theorems on the same 20,000 rows, each as a share of what holds without it. The guide's page
# `Every bound on one data set` computes them one by one.

m = 20_000
X = random.uniform(-1, 1, size=(m, 2))
rating = np.clip(X.sum(axis=1) + random.normal(scale=0.1, size=m), -2, 2)
grade = 1 + np.searchsorted([-0.5, 0.5], rating)
high, score = grade == 3, X @ w

seen = PRank(vote=None, epochs=1, shuffle=False).fit(X, grade).rank_loss_
loss = metrics.magnitude_loss(rating, MPRank(C=0.1).fit(X, rating).predict(X))
stability = bounds.stability_bound(
    empirical=loss, C=0.1, kappa=bounds.kernel_radius(X), m=m, M=4.0, delta=0.05, power=2
)
worse, better = bounds.disjoint_pairs(rating, random_state=0).T
unit = score / 2**0.5
margin = bounds.margin_bound(
    unit[better] - unit[worse],
    complexity=[
        bounds.empirical_rademacher(X[rows], kind="linear", radius=1.0) for rows in (worse, better)
    ],
    rho=[0.05, 0.1, 0.2, 0.4],
)
deviation = bounds.auc_deviation(int(high.sum()), int((~high).sum()))
auc = metrics.auc_score(high, score)
rows = [
    ("regret: ranks lost on the stream", regret_bound(X, grade) / (2 * m), seen / (2 * m)),
    ("stability: cost of new pairs, C = 0.1", stability.value / stability.trivial, loss / 64),
    ("margins: misranked pairs", margin.value, margin.pieces["misranked"]),
    ("AUC of a fixed score: how far off", deviation.value / 0.5, None),
]
fig, ax = plt.subplots(figsize=(8, 2.8))
for place, (_, promised, happened) in enumerate(rows):
    ax.plot(promised, place, "o", color="tab:red", label=None if place else "bound")
    if happened is not None:
        ax.plot(happened, place, "o", color="tab:blue", label=None if place else "happened")
ax.axvline(1, ls=":", color="gray")
ax.set(xscale="log", xlabel="share of what holds without a theorem")
ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
ax.invert_yaxis()
ax.legend(loc="center right", bbox_to_anchor=(0.97, 0.62))
plt.tight_layout()
plt.show()
