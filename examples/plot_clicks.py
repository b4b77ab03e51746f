"""
Which pairs can I learn from clicks?
====================================

People click good results, and results near the top. Five ways to learn from clicks are compared by
their pairwise accuracy on new items. The pages were ordered by a ranker that knows a part of the
truth and also uses an irrelevant feature. People look at position p with probability
:math:`p^{-e}`, and a tenth of their likes and dislikes are mistakes.
"""

# %%
# Pages of ten. With ``swap``, the places 1 and 2, 3 and 4 and so on change at random before they
# are shown.

import numpy as np
from matplotlib import pyplot as plt

from rankwise.pairwise import RankSVM, pairs_from_clicks

truth = np.array([1.0, 1.0, 0.5, 0.0, 0.0])
shown_by = np.array([0.0, 1.0, 0.0, 1.0, 0.0])
n_shown = 10


def pages(random, n_pages, exponent, swap):
    """Rows of the pages from top to bottom, their pages and places, and whether clicked."""
    X = random.normal(size=(n_pages, n_shown, 5))
    order = np.argsort(-(X @ shown_by), axis=1)
    if swap:
        neighbours = order.reshape(n_pages, -1, 2)
        order = random.permuted(neighbours, axis=2).reshape(n_pages, n_shown)
    X = np.take_along_axis(X, order[:, :, None], axis=1).reshape(-1, 5)
    qid = np.repeat(np.arange(n_pages), n_shown)
    place = np.tile(np.arange(1, n_shown + 1), n_pages)
    liked = (X @ truth > 1.5) ^ (random.uniform(size=len(X)) < 0.1)
    return X, qid, place, liked & (random.uniform(size=len(X)) < place**-exponent)


# %%
# The five ways. The rules for pairs have a direction: all pairs of "skip-above" and "skip-previous"
# turn the page round, all of "skip-next" repeat it.

rules = {
    "skip above": ["skip-above"],
    "skip next and previous": ["skip-next", "skip-previous"],
    "swapped neighbours": ["skip-previous"],
}
ways = ["clicked over the rest", *rules, "the rest, weighted"]


def learned(seed, way, n_pages, exponent):
    swap = way == "swapped neighbours"
    random = np.random.default_rng(seed)
    X, qid, place, clicked = pages(random, n_pages, exponent, swap)
    if way not in rules:
        # a click at a place where one in ten look stands for ten
        weight = np.where(clicked & (way == "the rest, weighted"), place**exponent, 1.0)
        return RankSVM().fit(X, clicked.astype(int), qid=qid, sample_weight=weight)
    found = [pairs_from_clicks(place, clicked, qid=qid, rule=rule)[0] for rule in rules[way]]
    pairs = np.concatenate(found)
    if swap:  # only those that changed places at random
        pairs = pairs[place[pairs[:, 1]] % 2 == 0]
    return RankSVM().fit_pairs(X, pairs)


new = np.random.default_rng(99).normal(size=(1_000, 5))
one_list = np.zeros(len(new), dtype=int)


def share_right(way, n_pages, exponent):
    models = [learned(seed, way, n_pages, exponent) for seed in range(5)]
    return np.mean([model.score(new, new @ truth, qid=one_list) for model in models])


# %%
# Left, 400 pages and people who stop looking ever faster; right, more and more pages from people
# who look at place p with probability :math:`1 / p^2`.

exponents, sizes = [0.0, 0.5, 1.0, 1.5, 2.0], [100, 400, 1_600, 6_400]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
for way in ways:
    by_exponent = [share_right(way, 400, exponent) for exponent in exponents]
    by_size = [share_right(way, n_pages, 2.0) for n_pages in sizes]
    shares = ["  ".join(f"{share:.2f}" for share in found) for found in (by_exponent, by_size)]
    print(f"{way:24}{shares[0]}    {shares[1]}")
    left.plot(exponents, by_exponent, "o-", label=way)
    right.plot(sizes, by_size, "o-")
left.set(xlabel="exponent: how fast people stop looking", ylabel="pairs in the right order")
left.set(title="400 pages", ylim=(0.3, 1))
right.set(xlabel="pages", title="exponent 2", xscale="log")
_ = left.legend(fontsize="small")

# %%
# "Skip above" is worse than a coin: the model sees the features by which the page was ordered, and
# every pair says that this order was wrong. Comparing neighbours in both directions is better than
# treating unclicked results as bad, but stays biased: more pages don't help. Two ways succeed with
# enough pages. One shows neighbours in random order. The other must know how many people look at
# each position.
