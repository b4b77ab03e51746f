"""
How do I rank texts with a language model?
==========================================

A language model can say which of two texts is better. It is slow, costs money, makes errors, and
prefers the text that it reads first. How many questions does a good order of 100 texts take?

The model here is simulated, so that the true order is known. To ask a real one, replace ``better``
and keep the rest.
"""

import asyncio
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from rankwise.preference import aquicksort, asort_by_degree, expected_calls, order_loss

# %%
# A hundred reviews of a telephone, each with a quality that the sorts don't see.

VERDICTS = ["Awful", "Bad", "Poor", "Weak", "Mediocre", "Fair", "Decent", "Good", "Great", "Superb"]
DETAILS = [
    "it broke in a week", "the screen flickers", "it is slow", "the sound is thin", "it is heavy",
    "it does what it should", "the battery lasts", "it is quick", "the camera is sharp",
    "everything just works",
]  # fmt: skip
quality = {
    f"{verdict}: {detail}.": 1.0 * i + 0.31 * j
    for (i, verdict), (j, detail) in product(enumerate(VERDICTS), enumerate(DETAILS))
}
texts = [str(text) for text in np.random.default_rng(0).permutation(list(quality))]
truth = sorted(texts, key=lambda text: -quality[text])
texts[:3]

# %%
# The model gives the probability that the first text is better, as real ones do by the
# probabilities of their next word. It sees the difference in quality with noise, and it favours the
# first text. A real service limits the questions per second, and fails now and then.


class RateLimit:
    """Let no more than so many questions through in a second."""

    def __init__(self, per_second):
        self.interval, self.free_at = 1 / per_second, 0.0

    async def wait(self):
        now = asyncio.get_running_loop().time()
        self.free_at = max(self.free_at, now) + self.interval
        await asyncio.sleep(self.free_at - self.interval - now)


class Model:
    def __init__(self, *, per_second=5_000, fails_at=None):
        self.limit, self.asked, self.fails_at = RateLimit(per_second), {}, fails_at
        self.n_asked = 0

    async def better(self, u, v):
        """The probability that text u is better than text v."""
        await self.limit.wait()
        self.n_asked += 1
        if self.n_asked == self.fails_at:
            raise ConnectionError("the service is overloaded")
        count = self.asked[u, v] = self.asked.get((u, v), 0) + 1
        random = np.random.default_rng([texts.index(u), texts.index(v), count])
        return expit(1.2 * (quality[u] - quality[v]) + 1.5 + random.normal(0, 1))


# %%
# Every answer is logged at once. When the service fails, the sort resumes from the log and asks no
# question again. ``symmetrise`` asks each pair in both orders, so that the preference for the first
# text cancels out.


async def best_ten():
    model, log = Model(fails_at=150), []
    options = {"k": 10, "symmetrise": True, "random_state": 0, "max_concurrency": 20}
    while True:
        try:
            return await aquicksort(texts, model.better, log=log, **options)
        except ConnectionError as error:
            print(f"{error}: {len(log)} answers kept, going on")


ranking = asyncio.run(best_ten())
print(f"{len(ranking.log)} questions, where all pairs both ways are {100 * 99}")
print(*ranking.order[:10], sep="\n")

# %%
# Now all ways side by side: the number of questions, and the share of wrong pairs.


def run(sort, **options):
    return asyncio.run(sort(texts, Model().better, max_concurrency=50, **options))


WAYS = {
    "QuickSort": (aquicksort, {}),
    "QuickSort, both ways": (aquicksort, {"symmetrise": True}),
    "QuickSort, both ways, 3 times": (aquicksort, {"symmetrise": True, "repeats": 3}),
    "top ten": (aquicksort, {"k": 10}),
    "top ten, both ways": (aquicksort, {"k": 10, "symmetrise": True}),
    "by degree: all pairs": (asort_by_degree, {}),
    "by degree: all pairs, both ways": (asort_by_degree, {"symmetrise": True}),
}
found = {}
for name, (sort, options) in WAYS.items():
    seeds = [{}] if sort is asort_by_degree else [{"random_state": seed} for seed in range(3)]
    rankings = [run(sort, **options, **seed) for seed in seeds]
    found[name] = (
        np.mean([ranking.n_calls for ranking in rankings]),
        np.mean([order_loss(ranking, truth) for ranking in rankings]),
        np.mean([len(set(ranking.order[:10]) & set(truth[:10])) for ranking in rankings]),
    )
    line = "{:32} {:6.0f} questions {:6.1%} of pairs wrong {:5.1f} of the best ten"
    print(line.format(name, *found[name]))

# %%
# One QuickSort takes some 600 questions, an eighth of all pairs. A coin decides which text of a
# pair comes first, so the preference for the first text acts like noise. Asking in both orders
# cancels it: little more than a third of the wrong pairs remain, for twice the questions. For the
# best ten it is enough to sort the best ten. All pairs in both orders give the best order: each
# text then has 198 answers, over which the noise averages out.
#
# Let the model return probabilities if it can. With yes or no, asking in both orders gains little:
# if the two answers disagree, a coin decides.
#
# The grey line below is QuickSort stopped early by ``max_calls``: a complete order at any time.

print(
    f"{expected_calls(100):.0f} questions for all, {expected_calls(100, 10):.0f} for the best ten"
)

budgets = [50, 100, 200, 300, 400, 600, 800]
curve = [
    np.mean([order_loss(run(aquicksort, max_calls=b, random_state=s), truth) for s in range(3)])
    for b in budgets
]
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), sharex=True, layout="constrained")
left.plot(budgets, curve, color="0.7", zorder=0, label="QuickSort, stopped")
for i, (name, (n_calls, loss, hits)) in enumerate(found.items()):
    marker = "s" if "top" in name else "^" if "degree" in name else "o"
    left.plot(n_calls, loss, marker, color=f"C{i}")
    right.plot(n_calls, hits, marker, color=f"C{i}", label=name)
left.set(xscale="log", ylim=(0, None), ylabel="share of pairs in the wrong order")
right.set(ylim=(0, 10.5), ylabel="found of the best ten")
for ax in (left, right):
    ax.set_xlabel("questions")
    ax.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False)
right.legend(frameon=False, loc="lower right")
plt.show()
