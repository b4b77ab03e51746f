"""The taste kernel of a large table: exact for the items with most ratings, factors for all.

The exact kernel of the *head*, the items that are rated most, is replaced by ``V V' + diag`` of a
given rank. In these coordinates every person is a vector c_u, found by the same ridge as ever. Each
other item gets the row of V that explains its ratings best, by a ridge on the vectors of those who
rated it. Its own ratings have no part in these vectors, so nothing is told twice.

Cost: that of the exact form for the head, and O(N rank^2 + (U + n) rank^3) for the others.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from rankwise._core.threads import Pool
from rankwise.recommend._loops import factor, solve
from rankwise.recommend.taste import FactorKernel, Matrix, Taste, Vector
from rankwise.recommend.taste_fit import (
    HERE,
    PRIOR,
    Learned,
    Limits,
    Say,
    Work,
    by_count,
    learn_kernel,
    make_taste,
    memory_of_exact,
)
from rankwise.recommend.taste_parts import Levels, Ratings, find_levels
from rankwise.recommend.taste_rounds import run_blocks

LIMITS = Limits(parts=1, most=10_000, longest=500)
_HEAD, _LEAST_HEAD = 8_000, 500
# Penalty of the ridge of an item outside of the head, in units of rank / mean |V_i|^2.
_PENALTY = 0.35
# Steps of the iteration that finds the factors, directions beyond the rank, rows of a task.
_STEPS, _BEYOND, _ROWS = 10, 20, 256


def learn_factors(
    ratings: Ratings,
    *,
    rank: int,
    head: int,
    side: Matrix | None,
    noise: float | None,
    pool: Pool,
    say: Say,
    work: Work = HERE,
) -> Taste:
    """Return the taste of a table in factors.

    ``side`` are standardised columns of what else is known of the items.
    """
    say(f"levels of {ratings.n_users} people and {ratings.n_items} items")
    levels = find_levels(ratings, side)
    items = by_count(ratings)[:head]
    part, people = ratings.only_items(items)
    own = Levels(levels.mean, levels.users[people], levels.items[items])
    learned = learn_kernel(part, lambda _: own, LIMITS, noise=noise, pool=pool, say=say, work=work)
    n_places = learned.parts.places.shape[1]
    with threadpool_limits(1, "blas"):
        say(f"factors of rank {rank}")
        V, extra = factorise(learned.K.astype(np.float64, copy=False), rank, pool)
        factors = np.zeros((ratings.n_items + n_places, rank))
        things = np.concatenate([items, ratings.n_items + np.arange(n_places)])
        factors[things] = V
        added = np.full(len(factors), float(np.mean(extra[: len(items)])))
        added[things] = extra
        places = np.zeros((ratings.n_items, n_places))
        places[items] = learned.parts.places
        tail = np.setdiff1d(np.arange(ratings.n_items), items)
        if len(tail):
            say(f"vectors of {part.n_users} people")
            vectors, their_levels = person_vectors(learned, V, extra, pool)
            say(f"factors of {len(tail)} items with fewer ratings")
            typical = float(np.mean(np.square(V[: len(items)]).sum(axis=1)))
            everyone = np.zeros((ratings.n_users, rank))
            everyone[people] = vectors
            offsets = levels.users.copy()
            offsets[people] = their_levels
            rest, raters = ratings.only_items(tail)
            penalty = _PENALTY * rank / typical
            means = (levels.mean + levels.items)[tail]
            found = tail_factors(rest, everyone[raters], offsets[raters], means, penalty, pool)
            factors[tail] = found
    means = levels.mean + levels.items
    return make_taste(learned, FactorKernel(factors, added), means, places)


def head_for(n_users: int, n_items: int, n_ratings: int, memory: float) -> int:
    """Return how many items the head has: at most 8,000, fewer if the memory is small."""
    head = min(_HEAD, n_items)
    while head > _LEAST_HEAD and memory_of_exact(n_users, head, n_ratings, LIMITS) > memory:
        head = max(_LEAST_HEAD, int(0.9 * head))
    return min(head, n_items)


def factorise(K: Matrix, rank: int, pool: Pool) -> tuple[Matrix, Vector]:
    """Return V and what is left of the diagonal, so that ``K ~ V V' + diag``: leading directions.

    By subspace iteration from a fixed start.
    """
    n = len(K)
    width = min(rank + _BEYOND, n)
    Q = np.random.default_rng(0).normal(size=(n, width))
    edges = range(0, n, _ROWS)
    for _ in range(_STEPS):
        Q, _ = np.linalg.qr(Q)
        Z = np.empty_like(Q)

        def rows(t: int, Q: Matrix = Q, Z: Matrix = Z) -> None:
            at = slice(edges[t], edges[t] + _ROWS)
            np.matmul(K[at], Q, out=Z[at])

        pool.run(rows, len(edges), work=float(K.size * width))
        last, Q = Q, Z
    values, vectors = np.linalg.eigh(last.T @ Q)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    V = np.zeros((n, rank))
    V[:, : len(values)] = (last @ vectors) * np.sqrt(np.maximum(values, 0.0))
    return V, np.maximum(np.diagonal(K) - np.square(V).sum(axis=1), 0.0)


def person_vectors(learned: Learned, V: Matrix, extra: Vector, pool: Pool) -> tuple[Matrix, Vector]:
    """Return the coordinates of all people, and their levels."""
    parts, noise = learned.parts, learned.noise
    ratings, x, means = parts.ratings, parts.x, parts.means
    n_items, rank = ratings.n_items, V.shape[1]
    weights = 1 / (noise + extra)
    scaled = V * weights[:, None]
    # the part of the places is the same for all
    common = np.eye(rank) + scaled[n_items:].T @ V[n_items:]
    of_places = x @ scaled[n_items:]
    vectors, levels = np.empty((ratings.n_users, rank)), np.empty(ratings.n_users)

    def person(u: int, _: None) -> None:
        at = slice(ratings.indptr[u], ratings.indptr[u + 1])
        items = ratings.indices[at]
        left, w = scaled[items], weights[items]
        t = ratings.values[at] - means[items]
        right = np.array([of_places[u] + t @ left, left.sum(axis=0)])
        M, found = common + left.T @ V[items], right.copy()
        factor(M)
        solve(M, found)
        above = w @ t - right[1] @ found[0]
        below = w.sum() - right[1] @ found[1]
        levels[u] = above / (below + PRIOR / noise)
        vectors[u] = found[0] - levels[u] * found[1]

    run_blocks(person, ratings.n_users, pool, lambda: None)
    return vectors, levels


def tail_factors(
    ratings: Ratings, vectors: Matrix, levels: Vector, means: Vector, penalty: float, pool: Pool
) -> Matrix:
    """Return the rows of V of items, by a ridge of their ratings on the vectors of the raters."""
    by_item = ratings.with_values(ratings.values).tocsc()
    rank = vectors.shape[1]
    found = np.zeros((ratings.n_items, rank))

    def item(i: int, _: None) -> None:
        at = slice(by_item.indptr[i], by_item.indptr[i + 1])
        people = by_item.indices[at]
        if len(people) == 0:
            return
        X, y = vectors[people], by_item.data[at] - means[i] - levels[people]
        few = len(people) < rank
        M = X @ X.T if few else X.T @ X
        M[np.diag_indices_from(M)] += penalty
        solution = (y if few else X.T @ y)[None, :]
        factor(M)
        solve(M, solution)
        found[i] = solution[0] @ X if few else solution[0]

    run_blocks(item, ratings.n_items, pool, lambda: None)
    return found
