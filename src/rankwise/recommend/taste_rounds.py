"""Rounds of the taste kernel, and how well it predicts people who have no part in it.

`rankwise.recommend.taste_parts` has the formulas. All matrices have the type of C: float64, or
float32 for large tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.threads import Pool
from rankwise.recommend._loops import combine_rows, factor, gather, half_solve, solve, subtract_own
from rankwise.recommend.taste import Matrix, Vector
from rankwise.recommend.taste_parts import Ints, Parts

# Weight of C beside F'F.
FIRST = 0.3
# Scores below this share of the range of the ratings, over the noise, are rounding.
_ROUNDING = 1e-6
# Rows and columns of a tile of F'F; columns of F, and people, in a task.
_TILE, _COLUMNS, _PEOPLE = 512, 128, 16


@dataclass(frozen=True)
class Stage:
    """The kernel between two rounds: ``K = first C + second F'F``.

    Attributes
    ----------
    K : ndarray of shape (n, n)
    first, second : float
    rows : ndarray of shape (n_users,)
        The row of F that each person has; -1 for none.
    F : ndarray of shape (any, n)
    """

    K: Matrix
    first: float
    second: float
    rows: Ints
    F: Matrix


class Group(NamedTuple):
    """Some people's problems, one after the other: person g has ``starts[g]`` to ``starts[g + 1]``.

    Attributes
    ----------
    people : ndarray of shape (g,)
        Who they are.
    starts : ndarray of shape (g + 1,)
    things : ndarray
        Rated items, then places.
    t, a, b : ndarrays
        Targets, and the own rows of A and B at the things.
    n_places : int
    """

    people: Ints
    starts: Ints
    things: Ints
    t: Vector
    a: Vector
    b: Vector
    n_places: int

    @classmethod
    def of(cls, parts: Parts, people: Ints) -> "Group":
        """Return the problems of these people."""
        ratings, n_places = parts.ratings, parts.x.shape[1]
        first, sizes = ratings.indptr[people], ratings.sizes[people]
        starts = np.concatenate([[0], np.cumsum(sizes + n_places)])
        shift = first - np.concatenate([[0], np.cumsum(sizes)])[:-1]
        of_items = np.arange(sizes.sum()) + np.repeat(shift, sizes)
        is_place = np.zeros(starts[-1], dtype=bool)
        for k in range(1, n_places + 1):
            is_place[starts[1:] - k] = True

        def flat(items: Any, places: Any) -> Any:
            values = np.empty(len(is_place), dtype=items.dtype)
            values[~is_place], values[is_place] = items, places.ravel()
            return values

        items = ratings.indices[of_items].astype(np.int64)
        y = ratings.values[of_items] - parts.means[items]
        places = np.tile(ratings.n_items + np.arange(n_places), len(people))
        return cls(
            people,
            starts,
            flat(items, places),
            flat(y, parts.x[people]),
            flat(parts.a[of_items], parts.xa[people]),
            flat(parts.b[of_items], np.zeros((len(people), n_places))),
            n_places,
        )

    def at(self, g: int) -> slice:
        """Return where the things of a person are."""
        return slice(self.starts[g], self.starts[g + 1])

    def is_rating(self, g: int) -> Vector:
        """Return 1 for each rating of a person and 0 for each place."""
        e = np.ones(self.starts[g + 1] - self.starts[g])
        e[len(e) - self.n_places :] = 0.0
        return e

    def gram(self, stage: Stage, g: int, shift: float, space: Any) -> Matrix:
        """Return the upper half of the kernel among a person's things, without own rows.

        It is made in ``space``, which is as large as the largest of them.
        """
        at = self.at(g)
        things, f = self.things[at], stage.rows[self.people[g]]
        own = np.zeros((3, len(things)))
        own[0] = np.sqrt(stage.first) * self.a[at]
        own[1] = np.sqrt(stage.first) * self.b[at]
        if f >= 0:
            own[2] = np.sqrt(stage.second) * stage.F[f, things]
        out = space[: len(things) ** 2].reshape(len(things), len(things))
        gather(stage.K, things, own, shift, out)
        return out

    def space(self, stage: Stage, n: int) -> Any:
        """Return room for n of the largest matrix of a person."""
        return np.empty((n, int(np.diff(self.starts).max(initial=0)) ** 2), stage.K.dtype)


def next_stage(
    C: Matrix, stage: Stage, parts: Parts, groups: Sequence[Group], noise: float, pool: Pool
) -> Stage:
    """Return the kernel after a round over some groups of people."""
    counts = parts.ratings.counts
    people = np.concatenate([group.people for group in groups])
    F = np.empty((len(people), len(C)), C.dtype)
    last = 0
    for group in groups:
        first, last = last, last + len(group.people)
        score_all(stage, group, noise, pool, F[first:last])
    total = weigh_scores(F, counts)
    second = weigh_squares(total, counts, noise)
    rows = np.full(parts.ratings.n_users, -1)
    rows[people] = np.arange(len(people))
    K = stage.K if stage.K is not C else np.empty_like(C)
    add_squares(F, second, C, FIRST, K, pool)
    return Stage(K, FIRST, second, rows, F)


def score_all(stage: Stage, group: Group, noise: float, pool: Pool, out: Matrix) -> None:
    """Set the rows of ``out`` to the scores of everyone in a group."""
    n = len(stage.K)
    weights, along = solve_group(stage, group, noise, pool)
    # one by one: all at once would be a copy of F for a moment
    for g, f in enumerate(stage.rows[group.people].tolist()):
        out[g] = stage.F[f] if f >= 0 else 0.0
    keep = (-stage.second * along[:, 2]).astype(stage.K.dtype)
    edges = list(range(0, n, _COLUMNS))

    def columns(t: int) -> None:
        ends = np.array([edges[t], min(edges[t] + _COLUMNS, n)])
        strip = np.empty((n, _COLUMNS), stage.K.dtype)
        combine_rows(group.starts, group.things, weights, (stage.K, strip), ends, keep, out)

    pool.run(columns, len(edges), work=float(len(group.things) * n))
    subtract_own(group.starts, group.things, group.a, group.b, stage.first * along, out)


def weigh_scores(F: Matrix, counts: Ints) -> float:
    """Return the sum of the squared scores of the items, each times its count."""
    n_items = len(counts)
    return float(np.einsum("ui,ui,i->", F[:, :n_items], F[:, :n_items], counts))


def weigh_squares(total: float, counts: Ints, noise: float) -> float:
    """Return the weight of F'F that makes the mean square of the scores 1, given their sum.

    Scores that are rounding errors weigh nothing: enlarged, they would be a kernel that is not
    positive definite.
    """
    n = float(counts.sum())
    return n / total if total * max(noise, 1.0) ** 2 > _ROUNDING**2 * n else 0.0


def solve_group(stage: Stage, group: Group, noise: float, pool: Pool) -> tuple[Vector, Matrix]:
    """Return the weights of everyone's things, and their products with the own rows."""
    weights = np.empty(len(group.things), stage.K.dtype)
    along = np.zeros((len(group.people), 3))

    def person(g: int, space: Any) -> None:
        at, e = group.at(g), group.is_rating(g)
        gram = group.gram(stage, g, noise, space[0])
        found = np.array([group.t[at], e], gram.dtype)
        factor(gram)
        solve(gram, found)
        weights[at] = found[0] - (e @ found[0]) / (e @ found[1]) * found[1]
        along[g, 0] = group.a[at] @ weights[at]
        along[g, 1] = group.b[at] @ weights[at]
        f = stage.rows[group.people[g]]
        if f >= 0:
            along[g, 2] = stage.F[f, group.things[at]] @ weights[at]

    run_blocks(person, len(group.people), pool, partial(group.space, stage, 1))
    return weights, along


def run_blocks(
    task: Callable[[int, Any], None], n: int, pool: Pool, space: Callable[[], Any]
) -> None:
    """Call a function for 0 to n - 1, some at a time on each thread, with room of its own."""
    free: list[Any] = []

    def block(t: int) -> None:
        try:
            room = free.pop()
        except IndexError:
            room = space()
        for g in range(t * _PEOPLE, min((t + 1) * _PEOPLE, n)):
            task(g, room)
        free.append(room)

    pool.run(block, -(-n // _PEOPLE), work=1e6 * n)


def add_squares(F: Matrix, second: float, C: Matrix, first: float, K: Matrix, pool: Pool) -> None:
    """Set K to ``first C + second F'F``, tile by tile."""
    edges = range(0, len(C), _TILE)
    tiles = [(i, j) for i in edges for j in edges if i <= j]

    def tile(t: int) -> None:
        i, j = (slice(start, start + _TILE) for start in tiles[t])
        found = first * C[i, j] + second * (F[:, i].T @ F[:, j])
        K[i, j] = found
        K[j, i] = found.T

    pool.run(tile, len(tiles), work=float(F.size * len(C)))


def in_order(K: Matrix, things: Ints, pool: Pool) -> Matrix:
    """Return a kernel among some things, in this order and in double precision."""
    out = np.empty((len(things), len(things)))
    edges = range(0, len(things), _TILE)

    def rows(t: int) -> None:
        at = slice(edges[t], edges[t] + _TILE)
        out[at] = np.take(K[things[at]], things, axis=1)

    pool.run(rows, len(edges), work=float(out.size))
    return out


class HeldOut(NamedTuple):
    """Ratings that the kernel knows nothing of: person g has ``starts[g]`` to ``starts[g + 1]``."""

    starts: Ints
    items: Ints
    y: Vector

    def of_people(self, chosen: NDArray[np.bool_]) -> "HeldOut":
        """Return those of some people."""
        sizes = np.diff(self.starts)
        kept = np.repeat(chosen, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[chosen])])
        return HeldOut(starts, self.items[kept], self.y[kept])


def predict_held(
    stage: Stage,
    parts: Parts,
    group: Group,
    held: HeldOut,
    noises: Vector,
    priors: Vector,
    pool: Pool,
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Return the errors of ratings that were held out, and their variances in units of the spread.

    All have a row for each noise. The variances are without the levels of people, of which the
    third are the squared shares that are not shown; the last are the variances for somebody who
    has rated nothing. The kernel is that without the rows A and B of the person.
    """
    errors, variances, hidden, before = np.empty((4, len(noises), len(held.items)))
    of_people = replace(stage, rows=np.full_like(stage.rows, -1))

    def person(g: int, space: Any) -> None:
        at, wanted = group.at(g), slice(held.starts[g], held.starts[g + 1])
        items, things = held.items[wanted], group.things[at]
        if len(items) == 0:
            return
        e = group.is_rating(g)
        right = np.concatenate([[group.t[at], e], stage.K[np.ix_(items, things)]])
        right = right.astype(stage.K.dtype)
        kernel = group.gram(of_people, g, 0.0, space[0])
        first = len(things) - group.n_places
        gram = space[1, : kernel.size].reshape(kernel.shape)
        for k in range(len(noises)):
            gram[:] = kernel
            gram.flat[:: len(gram) + 1] += noises[k]
            factor(gram)
            found = right.copy()
            half_solve(gram, found)
            t, one, cross = found[0], found[1], found[2:]
            weight, n = one @ one, e.sum()
            level, shown = one @ t / weight, n / (n + noises[k] * priors[k])
            scores = parts.means[items] + shown * level + cross @ (t - level * one)
            errors[k, wanted] = held.y[wanted] - scores
            total = stage.K[items, items] + noises[k]
            explained = np.einsum("ij,ij->i", cross, cross)
            variances[k, wanted] = total - explained + (shown - cross @ one) ** 2 / weight
            hidden[k, wanted] = (1 - shown) ** 2
            places = kernel[first:, first:].copy()
            places.flat[:: len(places) + 1] += noises[k]
            if len(places):
                found = right[2:, first:].copy()
                factor(places)
                half_solve(places, found)
                total = total - np.einsum("ij,ij->i", found, found)
            before[k, wanted] = total

    run_blocks(person, len(group.people), pool, partial(group.space, stage, 2))
    return errors, variances, hidden, before
