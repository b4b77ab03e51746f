"""Ask what tells most: pairs chosen by a model of what was answered so far."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise._core.arguments import check_level, check_whole, check_word
from rankwise._core.comparator import Asker, Progress, Sort, as_ranking, make_asker
from rankwise._core.ranking import Ranking
from rankwise.contests._bradley_terry import BradleyTerry
from rankwise.contests._design import choose_pairs, top_shares
from rankwise.contests._rank_intervals import draw_errors
from rankwise.contests._strengths import Floats

GOALS = ("order", "top", "best")


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
    ``level`` of the draws of the strengths the first k are the same ones. A pair may be asked
    again: this is for comparators that answer at random to some degree. For one that always says
    the same, `quicksort` needs fewer questions.

    Parameters
    ----------
    items : sequence, array or frame
        The things to put in order, two or more.
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
        As in `quicksort`; a log is gone on from.

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
    asker = _make_asker(items, prefer, batch, max_calls, log, progress)
    return asker.run(_informative(asker, goal, k, level, at_once, random_state))


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
    asker = _make_asker(items, prefer, batch, max_calls, log, progress)
    return await asker.arun(_informative(asker, goal, k, level, at_once, random_state), at_once)


def _make_asker(
    items: Any, prefer: Any, batch: bool, max_calls: int | None, log: Any, progress: Any
) -> Asker:
    kept = [] if log is None else log
    asker = make_asker(items, prefer, batch, 1, False, max_calls, kept, progress)
    if asker.n < 2:
        raise ValueError(f"items has {asker.n} items: there is nothing to compare")
    return asker


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


def _informative(
    asker: Asker, goal: str, k: int | None, level: float, at_once: int, random_state: Any
) -> Sort[Ranking]:
    top = _check_goal(goal, k, asker.n)
    check_level(level)
    check_whole(at_once, "at_once")
    random = check_random_state(random_state)
    log: list[Any] = asker.log if asker.log is not None else []
    if not log:
        # Everyone meets two others, each once as the first.
        circle = random.permutation(asker.n)
        pairs = np.column_stack([circle, np.roll(circle, -1)])[: asker.n if asker.n > 2 else 1]
        yield from _asked(asker, pairs)
    if not log:
        raise ValueError("max_calls=0 allows no question, and there is no log: allow one or more")
    while True:
        model = _model(asker.n, log)
        order = model.ranking().order.astype(np.int64)
        settled = _share(model, order, top) >= level
        left = np.inf if asker.max_calls is None else asker.max_calls - asker.n_calls
        if settled or left <= 0:
            break
        seed = int(random.randint(2**31))
        found = next_pairs(model, int(min(at_once, left)), goal=goal, k=k, random_state=seed)
        yield from _asked(asker, np.array(found, dtype=np.int64))
    certain = (np.arange(asker.n) < (asker.n if top is None else top)) & settled
    return as_ranking(asker, order, certain)


def _asked(asker: Asker, pairs: Any) -> Sort[None]:
    """Ask about pairs, as many as may be; the asker keeps the answers."""
    left = len(pairs) if asker.max_calls is None else asker.max_calls - asker.n_calls
    if min(left, len(pairs)) > 0:
        yield np.ascontiguousarray(pairs[:left, 0]), np.ascontiguousarray(pairs[:left, 1])


def _model(n: int, log: list[Any]) -> BradleyTerry:
    """Fit the answers; that some strengths rest on the prior is in the nature of the matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return BradleyTerry(n_draws=500).fit_log(range(n), log)


def _share(model: BradleyTerry, order: Any, top: int | None) -> float:
    """Return the share of draws whose first items, or whose order, are those of the estimate."""
    drawn: Floats = model.strengths_ + draw_errors(model.covariance("model"), model.n_draws, 0)
    if top is None:
        return float((np.diff(drawn[:, order], axis=1) < 0).all(axis=1).mean())
    inside = drawn[:, order[:top]].min(axis=1)
    return float((inside > drawn[:, order[top:]].max(axis=1)).mean())
