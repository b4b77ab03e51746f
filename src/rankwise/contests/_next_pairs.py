"""Choose the pairs to ask about next by a model of the answers so far.

With strengths normal around their estimates, the answer about a pair informs about who of the two
is the stronger: the mutual information of the answer and the sign of the difference. It counts as
much as the pair matters for the goal. Pairs are chosen one by one; each choice narrows the
covariance as its answer will, whatever it is, so that the next asks something else.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, ndtr, ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_level, check_whole, check_word
from rankwise._core.comparator import Comparator, Progress
from rankwise._core.ranking import Ranking
from rankwise.contests._bradley_terry import BradleyTerry
from rankwise.contests._intervals import Floats, draw_errors

GOALS = ("order", "top", "best")
# After this number of answers about a pair two items count as equal: a share of 55 % would be two
# standard errors away from one of 50 %.
_MOST_ASKED = 400
# Nodes of Gauss and Legendre on each side of 0.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def sign_information(mean: Any, variance: Any) -> Floats:
    """Return the information, in nats, that an answer has about the sign of a normal difference.

    The answer is 1 with the probability 1 / (1 + e^-d), d the difference. With u = P(d < 0), the
    two sides of 0 are integrated over the quantiles from 0 to u and from u to 1.
    """
    mean, error = np.asarray(mean, float), np.sqrt(np.asarray(variance, float))
    below = ndtr(-mean / error)
    information = np.zeros(mean.shape)
    both = np.zeros(mean.shape)
    for share, low in ((below, 0.0), (1 - below, below)):
        yes = np.zeros(mean.shape)
        for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2, strict=True):
            quantile = np.clip(low + node * share, 1e-12, 1 - 1e-12)
            yes += weight * expit(mean + error * ndtri(quantile))
        information -= share * (entr(yes) + entr(1 - yes))
        both += share * yes
    return np.maximum(information + entr(both) + entr(1 - both), 0.0)


def top_shares(strengths: Floats, covariance: Floats, k: int, n_draws: int, seed: int) -> Floats:
    """Return how often exactly one of two items is among the first k, over draws: (n, n)."""
    drawn = strengths + draw_errors(covariance, n_draws, seed)
    first = np.zeros(drawn.shape)
    np.put_along_axis(first, np.argpartition(-drawn, k - 1, axis=1)[:, :k], 1.0, axis=1)
    both = first.T @ first / n_draws
    share = np.diag(both)
    return share[:, None] + share[None, :] - 2 * both


def choose_pairs(
    strengths: Floats, covariance: Floats, weight: Floats | None, n_pairs: int
) -> list[tuple[int, int]]:
    """Return the codes of pairs (i < j), the most telling first.

    Gains only fall as the covariance narrows, so that a pair whose gain was computed again and
    still is the largest is the best one: O(n^2) and a few gains for each choice.

    Parameters
    ----------
    strengths : ndarray of shape (n,)
        Estimates.
    covariance : ndarray of shape (n, n)
        Of their errors.
    weight : ndarray of shape (n, n) or None
        How much each pair matters; None: all the same.
    n_pairs : int
        How many to choose; a pair may be chosen again.
    """
    first, second = np.triu_indices(len(strengths), 1)
    covariance = covariance.copy()

    def gain(i: Any, j: Any) -> Floats:
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        information = sign_information(strengths[i] - strengths[j], np.maximum(variance, 1e-12))
        return information if weight is None else information * (weight[i, j] + 1e-6)

    gains = gain(first, second)
    kept = np.argsort(-gains, kind="stable")[: max(4 * n_pairs, 1000)]
    heap = [(-gains[c], int(first[c]), int(second[c])) for c in kept]
    heapify(heap)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < n_pairs:
        _, i, j = heappop(heap)
        now = float(gain(np.array(i), np.array(j)))
        if heap and now < -heap[0][0]:
            heappush(heap, (-now, i, j))
            continue
        chosen.append((i, j))
        difference = covariance[:, i] - covariance[:, j]
        chance = float(expit(strengths[i] - strengths[j]))
        fisher_information = chance * (1 - chance)
        covariance -= np.outer(difference, difference) * (
            fisher_information / (1 + fisher_information * (difference[i] - difference[j]))
        )
        heappush(heap, (-float(gain(np.array(i), np.array(j))), i, j))
    return chosen


def next_pairs(
    model: Any, n: int, *, goal: str = "order", k: int | None = None, random_state: int = 0
) -> list[tuple[Any, Any]]:
    """Return the contests that would tell most, the most telling first.

    What an answer about u and v tells is its mutual information with the question which of the two
    is the stronger, under the normal approximation of the model. For ``goal="top"`` that counts
    times the probability that exactly one of the two is among the first k; "best" is k = 1. After
    each choice the covariance is narrowed as its answer will narrow it.

    Parameters
    ----------
    model : BradleyTerry or PlackettLuce
        A fitted model.
    n : int
        How many. A pair may come more than once.
    goal : {"order", "top", "best"}, default="order"
        What is to be found out.
    k : int, default=None
        Size of the top, for ``goal="top"`` only.
    random_state : int, default=0
        Draws the top, and who of a pair is named first.

    Returns
    -------
    list of (u, v)

    See Also
    --------
    ask, aask : Ask until the top is settled.

    Notes
    -----
    O(N^2) for N items, and as much again for each pair that is chosen.

    Examples
    --------
    >>> from rankwise.contests import BradleyTerry, next_pairs
    >>> first, second = ["a", "b", "c", "a", "d"] * 4, ["b", "c", "d", "d", "a"] * 4
    >>> model = BradleyTerry().fit(first, second, [1, 0.5, 1, 1, 1] * 4)
    >>> sorted(next_pairs(model, 1, goal="best")[0])
    ['a', 'c']
    """
    check_is_fitted(model)
    if not hasattr(model, "covariance"):
        raise ValueError(f"model={model!r} has no covariance: fit a BradleyTerry or PlackettLuce")
    check_whole(n, "n")
    top = _check_goal(goal, k, len(model.items_))
    random = np.random.default_rng(check_whole(random_state, "random_state", 0))
    covariance = model.covariance("model")
    weight = None
    if top is not None:
        weight = top_shares(model.strengths_, covariance, top, model.n_draws, random_state)
    chosen = choose_pairs(model.strengths_, covariance, weight, n)
    turned = random.random(n) < 0.5
    items = model.items_.tolist()
    return [
        (items[j], items[i]) if turn else (items[i], items[j])
        for (i, j), turn in zip(chosen, turned, strict=True)
    ]


def ask(
    items: Any,
    prefer: Callable[..., Any],
    *,
    goal: str = "top",
    k: int | None = None,
    level: float = 0.95,
    at_once: int = 8,
    batch: bool = False,
    max_calls: int | None = None,
    log: list[Any] | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Ask about the pairs that tell most until the top k is settled.

    A `BradleyTerry` is fitted to all answers; `next_pairs` chooses what to ask; it ends when in
    ``level`` of the draws of the strengths the first k are the same ones, or when only pairs are
    left that were asked about 400 times: such items are as good as equal. A pair may be asked
    again: this is for comparators that answer at random to some degree. For one that always says
    the same, `quicksort` needs fewer questions.

    Parameters
    ----------
    items : sequence, array or frame
        The items to put in order, two or more.
    prefer : callable
        ``prefer(u, v)``, the probability that u goes before v, or True and False; 1/2 is a tie.
    goal : {"top", "best", "order"}, default="top"
        What must be settled: the set of the first k, the best one, or the whole order.
    k : int, default=None
        Size of the top, for ``goal="top"`` only.
    level : float, default=0.95
        How sure it must be. As it is looked at again and again, the probability of an error at the
        end may be larger than 1 - level; the experiment ``contests`` counts it.
    at_once : int, default=8
        Questions that are chosen together, and asked concurrently by `aask`.
    batch, max_calls, log, random_state, progress
        As in `quicksort`; a log is continued.

    Returns
    -------
    Ranking
        Items by strength; ``certain`` is True for the first k places if they were settled. The
        model is ``BradleyTerry().fit_log(items, ranking.log)``.

    See Also
    --------
    aask : The same for a comparator that is awaited.

    Examples
    --------
    >>> import random
    >>> from rankwise.contests import ask
    >>> words = ["pear", "fig", "apple", "quince", "kiwi"]
    >>> coin = random.Random(0)
    >>> def prefer(u, v):
    ...     return (u < v) == (coin.random() < 0.8)
    >>> ranking = ask(words, prefer, goal="best", random_state=0)
    >>> ranking.order[0], bool(ranking.certain[0])
    ('apple', True)
    """
    comparator = Comparator(
        items, prefer, batch=batch, max_calls=max_calls, log=[] if log is None else log,
        progress=progress,
    )  # fmt: skip
    search = _Search(comparator, goal, k, level, at_once, random_state)
    while len(pairs := search.plan()):
        comparator.call(*pairs.T)
    return search.ranking()


async def aask(
    items: Any,
    prefer: Callable[..., Any],
    *,
    goal: str = "top",
    k: int | None = None,
    level: float = 0.95,
    at_once: int = 8,
    batch: bool = False,
    max_calls: int | None = None,
    log: list[Any] | None = None,
    random_state: int | np.random.RandomState | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Ask an async comparator about the pairs that tell most; see `ask`.

    All ``at_once`` questions of a round are awaited concurrently.

    Examples
    --------
    >>> import asyncio, random
    >>> from rankwise.contests import aask
    >>> coin = random.Random(0)
    >>> async def prefer(u, v):
    ...     return (u < v) == (coin.random() < 0.8)
    >>> words = ["pear", "fig", "apple", "quince", "kiwi"]
    >>> asyncio.run(aask(words, prefer, goal="best", random_state=0)).order[0]
    'apple'
    """
    comparator = Comparator(
        items, prefer, batch=batch, max_calls=max_calls, log=[] if log is None else log,
        progress=progress, max_concurrency=at_once,
    )  # fmt: skip
    search = _Search(comparator, goal, k, level, at_once, random_state)
    while len(pairs := search.plan()):
        await comparator.acall(*pairs.T)
    return search.ranking()


def _check_goal(goal: str, k: int | None, n: int) -> int | None:
    """Return the size of the top, None for the whole order."""
    check_word(goal, "goal", GOALS)
    if (goal == "top") != (k is not None):
        raise ValueError(
            f"k={k!r} with goal={goal!r}: k is the size of the top, goal='top' needs it"
        )
    if k is not None and check_whole(k, "k") >= n:
        raise ValueError(f"k={k} must be less than the {n} items")
    return {"order": None, "top": k, "best": 1}[goal]


class _Search:
    """Rounds of questions until the goal is settled, or the limit is reached."""

    def __init__(
        self,
        comparator: Comparator,
        goal: str,
        k: int | None,
        level: float,
        at_once: int,
        random_state: Any,
    ) -> None:
        if comparator.n < 2:
            raise ValueError(f"items has {comparator.n} items: there is nothing to compare")
        self.top = _check_goal(goal, k, comparator.n)
        self.level, self.at_once = check_level(level), check_whole(at_once, "at_once")
        self.random = check_random_state(random_state)
        self.comparator, self.goal, self.k = comparator, goal, k

    def plan(self) -> NDArray[np.int64]:
        """Return the pairs of the next round, of shape (m, 2), after a fit to all answers."""
        n, left, log = self.comparator.n, self.comparator.left, self.comparator.log
        if not log:
            if not left:
                raise ValueError(
                    "max_calls=0 allows no question, and log is None: allow one or more"
                )
            # Everyone meets two others, each once as the first.
            circle = self.random.permutation(n)
            pairs = np.column_stack([circle, np.roll(circle, -1)])
            return pairs[: min(n if n > 2 else 1, left)]
        model = _model(n, log)
        self.order = model.ranking().order.astype(np.int64)
        self.settled = _share(model, self.order, self.top) >= self.level
        if self.settled or left <= 0:
            return np.empty((0, 2), dtype=np.int64)
        seed = int(self.random.randint(2**31))
        chosen = next_pairs(
            model, min(self.at_once, left), goal=self.goal, k=self.k, random_state=seed
        )
        answered = Counter(frozenset(entry[:2]) for entry in log)
        if all(answered[frozenset(pair)] >= _MOST_ASKED for pair in chosen):
            return np.empty((0, 2), dtype=np.int64)
        return np.array(chosen, dtype=np.int64)

    def ranking(self) -> Ranking:
        """Return the items by strength; the places of the goal are certain if it is settled."""
        n = self.comparator.n
        certain = (np.arange(n) < (n if self.top is None else self.top)) & self.settled
        return self.comparator.ranking(self.order, certain)


def _model(n: int, log: list[Any]) -> BradleyTerry:
    """Fit the answers; that some strengths rest on the prior is in the nature of the matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        # without a win nothing tells how likely ties are
        ties = "half" if all(answer == 0.5 for _, _, answer in log) else "davidson"
        return BradleyTerry(ties=ties, n_draws=500).fit_log(range(n), log)


def _share(model: BradleyTerry, order: Any, top: int | None) -> float:
    """Return the share of draws whose first items, or whose order, are those of the estimate."""
    drawn: Floats = model.strengths_ + draw_errors(model.covariance("model"), model.n_draws, 0)
    if top is None:
        return float((np.diff(drawn[:, order], axis=1) < 0).all(axis=1).mean())
    inside = drawn[:, order[:top]].min(axis=1)
    return float((inside > drawn[:, order[top:]].max(axis=1)).mean())
