"""Learns the taste kernel of a table of ratings, its noise and its spread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2
from threadpoolctl import threadpool_limits

from rankwise._core.threads import Pool
from rankwise.recommend.fold_in import Evidence, fold_in
from rankwise.recommend.taste import (
    FEW,
    DenseKernel,
    Kernel,
    KernelWithout,
    Matrix,
    Taste,
    Vector,
)
from rankwise.recommend.taste_parts import (
    Ints,
    Levels,
    Parts,
    Ratings,
    few_ratings,
    find_levels,
    find_parts,
    multiply_items,
)
from rankwise.recommend.taste_rounds import (
    FIRST,
    Group,
    HeldOut,
    Stage,
    in_order,
    next_stage,
    predict_held,
    run_blocks,
)

NOISES = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
# Noise of the rounds, in units of that by which the first kernel predicts best: of 1 and 2 the
# better for MovieLens-1M (.5 and 1) and the embedded films (4 and 8), MovieLens-100K is
# indifferent.
_OF_ROUNDS = 2.0
# The prior of a person's level is PRIOR / noise: as if so many ratings had been of level 0.
PRIOR = 3.0
# If no rating can be held out.
_NOISE = 1.0
# Half of the people take part in rounds, but at least so many if there are.
_LEAST = 3_000
# Ratings that are held out: one in so many of a person's, of people with so many at least and at
# most, and about so many in all. If that is more than a share of all ratings, the kernel is learned
# again with them.
_ONE_IN, _ABLE, _MOST, _HELD, _SHARE = 10, 3, 1_000, 5_000, 0.01

# Steps of the iteration for the spread and the variance of levels, which is a contraction.
_SETTLED = 50
# The level of the intervals that are calibrated, and the standard errors that are added to it.
_COVERED, _CONFIDENCE = 0.95, 2.0
# Ten squared errors of a normal distribution, added to those of people with few ratings.
_ORDINARY = chi2.ppf((np.arange(10) + 0.5) / 10, 1)
# The noise of the rounds is chosen by the ratings of one in so many of these people.
_FIRST_ONE_IN = 3
# People whose own ratings are left out one at a time, in the end.
_HEARD = 100
# From so many items on, rounds are in single precision, which takes about half the time: scores on
# MovieLens-1M differ by 2e-6. A noise outside of these needs more digits.
_SINGLE, _LEAST_NOISE, _MOST_NOISE = 2_000, 0.1, 100.0
# Ratings are compared by their rounded shares of the range, so that sums of them are exact.
_GRADES = 2.0**20

Say = Callable[[str], None]


class Limits(NamedTuple):
    """Who takes part in the rounds.

    Attributes
    ----------
    parts : int
        The people are cut into so many parts. Each has a round, and then all have one.
    most : int
        At most so many people.
    longest : int
        With at most so many ratings.
    """

    parts: int
    most: int
    longest: int


class Work(NamedTuple):
    """Who takes the two steps that take most of the time.

    Attributes
    ----------
    multiply : callable
        As `multiply_items`.
    next_stage : callable
        As `rankwise.recommend.taste_rounds.next_stage`.
    """

    multiply: Callable[[Parts, Pool, Any], Matrix]
    next_stage: Callable[[Matrix, Stage, Parts, Sequence[Group], float, Pool], Stage]


HERE = Work(multiply_items, next_stage)
EXACT = Limits(parts=3, most=10_000, longest=800)


class Learned(NamedTuple):
    """The kernel, in the precision of the rounds, its parts, and what held-out ratings chose."""

    parts: Parts
    K: Matrix
    noise: float
    spread: float
    bias_variance: float
    calibration: tuple[float, ...]


@dataclass(frozen=True)
class OwnRows:
    """What each person has added to the kernel directly, so that it can be taken away again.

    Attributes
    ----------
    starts : ndarray of shape (n_users + 1,)
    items : ndarray of shape (n,)
        Person u has added at ``items[starts[u]:starts[u + 1]]`` and, if anywhere, at all places.
    a, b : ndarrays of shape (n,)
        Two rows at the items.
    places : ndarray of shape (n_users, n_places)
        The first row at the places; the second is 0 there.
    echo : float
        `Taste.echo` for these people.
    """

    starts: Ints
    items: Ints
    a: Vector
    b: Vector
    places: Matrix
    echo: float = 1.0

    @classmethod
    def of(cls, parts: Parts, items: Ints) -> "OwnRows":
        """Gather the rows of all people of the parts, whose items are these."""
        ratings, weight = parts.ratings, np.sqrt(FIRST)
        named = ratings._replace(indices=items[ratings.indices].astype(np.int32))
        entries = named.with_values(np.arange(len(ratings.values)))
        entries.sort_indices()
        a, b = weight * parts.a[entries.data], weight * parts.b[entries.data]
        return cls(ratings.indptr, entries.indices, a, b, weight * parts.xa)

    def for_users(self, users: Ints, n_users: int) -> "OwnRows":
        """Return the rows if these people get new places among n_users."""
        sizes, order = np.diff(self.starts), np.argsort(users)
        moved = np.zeros(n_users, dtype=np.int64)
        moved[users] = sizes
        places = np.zeros((n_users, self.places.shape[1]))
        places[users] = self.places
        starts = np.concatenate([[0], np.cumsum(moved)])
        shift = self.starts[:-1][order] - np.concatenate([[0], np.cumsum(sizes[order])[:-1]])
        entries = np.arange(starts[-1]) + np.repeat(shift, sizes[order])
        a, b = self.a[entries], self.b[entries]
        return OwnRows(starts, self.items[entries], a, b, places, self.echo)

    def without(self, taste: Taste, user: int) -> Taste:
        """Return a taste whose kernel is without the rows of a person."""
        at = slice(self.starts[user], self.starts[user + 1])
        if at.start == at.stop:
            return taste
        n_places = taste.n_places
        things = np.concatenate([self.items[at], taste.n_items + np.arange(n_places)])
        own = np.zeros((2, len(things)))
        own[0] = np.concatenate([self.a[at], self.places[user]])
        own[1, : at.stop - at.start] = self.b[at]
        return replace(taste, kernel=KernelWithout(taste.kernel, things, own), echo=self.echo)


def memory_of_exact(n_users: int, n_items: int, n_ratings: int, limits: Limits = EXACT) -> int:
    """Return about how many bytes the exact form takes at most: C, K, F and the ratings."""
    people = min(n_users, max(_LEAST, n_users // 2), limits.most)
    return 8 * (2 * n_items * n_items + people * n_items + 8 * n_ratings)


def learn_exact(
    ratings: Ratings,
    *,
    side: Matrix | None,
    noise: float | None,
    pool: Pool,
    say: Say,
    work: Work = HERE,
) -> tuple[Taste, OwnRows]:
    """Return the taste of a table, with all similarities of items in one matrix.

    ``side`` are standardised columns of what else is known of the items.
    """
    # Similarities of items that are rated much are read much: they lie side by side, and at the
    # end, since those of an item with the items after it are read.
    items = by_count(ratings)[::-1]
    part, _ = ratings.only_items(items)
    of_items = None if side is None else side[items]
    learned = learn_kernel(
        part, partial(find_levels, side=of_items), EXACT, noise=noise, pool=pool, say=say, work=work
    )
    parts, n = learned.parts, ratings.n_items
    place = np.arange(parts.n)
    place[items] = np.arange(n)
    K = in_order(learned.K, place, pool)
    own, place = OwnRows.of(parts, items), place[:n]
    taste = make_taste(learned, DenseKernel(K), parts.means[place], parts.places[place])
    return taste, replace(own, echo=find_echo(taste, own, ratings, pool))


def find_echo(taste: Taste, own: OwnRows, ratings: Ratings, pool: Pool) -> float:
    """Return the squared errors of ratings left out of known people, over what is stated."""
    order = by_size(ratings)
    several = order[(ratings.sizes[order] > 1) & (ratings.sizes[order] <= _MOST)]
    people = several[:: -(-len(several) // _HEARD) or 1]
    sums = np.zeros((len(people), 2))

    def leave_out(g: int, _: None) -> None:
        u = int(people[g])
        at = slice(ratings.indptr[u], ratings.indptr[u + 1])
        items = ratings.indices[at].astype(np.int64)
        evidence = Evidence.of(np.arange(len(items)), ratings.values[at])
        errors, variances = fold_in(own.without(taste, u).only(items), evidence).left_out()
        stated = variances * taste.calibrate(len(items) - 1)
        sums[g] = np.sum(errors * errors / stated), len(items)

    with threadpool_limits(1, "blas"):
        run_blocks(leave_out, len(people), pool, lambda: None)
    stated = taste.spread * sums[:, 1].sum()
    return float(sums[:, 0].sum() / stated) or 1.0 if stated > 0 else 1.0


def make_taste(learned: Learned, kernel: Kernel, means: Vector, places: Matrix) -> Taste:
    """Gather what was learned."""
    y = learned.parts.ratings.values
    return Taste(
        means,
        kernel,
        places,
        learned.noise,
        PRIOR / learned.noise,
        float(y.min()),
        float(y.max()),
        learned.parts.sigma,
        learned.spread,
        bias_variance=learned.bias_variance,
        calibration=learned.calibration,
    )


def learn_kernel(
    ratings: Ratings,
    levels_of: Callable[[Ratings], Levels],
    limits: Limits,
    *,
    noise: float | None,
    pool: Pool,
    say: Say,
    work: Work = HERE,
) -> Learned:
    """Return the kernel of a table; noise, unless given, and spread by ratings held out."""
    rest, judges, held = hold_out(ratings)
    usual = noise is None or _LEAST_NOISE <= noise <= _MOST_NOISE
    precision = np.float32 if usual and ratings.n_items >= _SINGLE else np.float64
    noises = NOISES if noise is None else np.array([noise])

    def judge(stage: Stage, parts: Parts, one_in: int) -> tuple[float, float, float]:
        group = Group.of(parts, judges[::one_in])
        judged = held.of_people(np.arange(len(judges)) % one_in == 0)
        if len(judged.y) == 0:
            used = _NOISE if noise is None else noise
            return used, parts.sigma**2 or 1.0, used / PRIOR
        found = predict_held(stage, parts, group, judged, noises, PRIOR / noises, pool)
        squares = np.square(found[0])
        best = int(np.argmin(squares.mean(axis=1)))
        at_first = np.square(judged.y - parts.means[judged.items])
        used = float(noises[best])
        variances, hidden, before = (part[best] for part in found[1:])
        return used, *find_spread(squares[best], at_first, variances, hidden, before, used / PRIOR)

    def calibrate(n: int) -> float:
        able = parts.ratings.sizes[judges] >= n
        few = few_ratings(parts, judges[able], max(n, 1))
        group, judged = Group.of(few, np.arange(few.ratings.n_users)), held.of_people(able)
        priors = np.array([PRIOR / used])
        found = predict_held(stage, few, group, judged, np.array([used]), priors, pool)
        errors, variances, hidden, before = (part[0] for part in found)
        if n == 0:
            errors, variances, hidden = judged.y - parts.means[judged.items], before, 1.0
        ratios = errors * errors / (spread * (variances + bias_variance * hidden))
        return find_calibration(ratios, judged.starts)

    with threadpool_limits(1, "blas"):
        parts, C, stage = first_stage(rest, levels_of(rest), precision, pool, say, work)
        of_rounds = noise or _OF_ROUNDS * judge(stage, parts, _FIRST_ONE_IN)[0]
        stage = run_rounds(parts, C, stage, limits, of_rounds, pool, say, work)
        used, spread, bias_variance = judge(stage, parts, 1)
        calibration = tuple(calibrate(n) for n in FEW)
        if len(held.y) > _SHARE * len(ratings.values):
            del C, stage
            say(f"again with the {len(held.y)} ratings held out, noise {used:g}")
            parts, C, stage = first_stage(ratings, levels_of(ratings), precision, pool, say, work)
            stage = run_rounds(parts, C, stage, limits, of_rounds, pool, say, work)
    return Learned(parts, stage.K, used, spread, bias_variance, calibration)


def find_calibration(ratios: Vector, starts: Ints) -> float:
    """Return the factor of the variances for which intervals of 95 % cover new people's ratings.

    The ratings of one person are covered or missed together. So the intervals cover 95 % of these
    ratings and two standard errors more, with people as the independent units.

    Parameters
    ----------
    ratios : ndarray of shape (n,)
        Squared errors over variances. Ten of a normal distribution are added, as of one person.
    starts : ndarray of shape (n_people + 1,)
        Person g has the ratios from ``starts[g]`` to ``starts[g + 1]``.
    """
    ratios = np.append(ratios, _ORDINARY)
    ends = np.append(starts, len(ratios))
    missed = ratios > np.quantile(ratios, _COVERED)
    excess = np.concatenate([[0.0], np.cumsum(missed - (1.0 - _COVERED))])
    error = np.sqrt(np.square(np.diff(excess[ends])).sum()) / len(ratios)
    found = np.quantile(ratios, min(_COVERED + _CONFIDENCE * error, 1.0))
    return float(found / chi2.ppf(_COVERED, 1))


def find_spread(
    squares: Vector,
    at_first: Vector,
    variances: Vector,
    hidden: Vector,
    before: Vector,
    bias_variance: float,
) -> tuple[float, float]:
    """Return the spread, and the variance of the levels of people over it.

    With these two, squared errors are on average what is stated: those of people with all their
    ratings, and those of the same people as if they had rated nothing.

    Parameters
    ----------
    squares, at_first : ndarrays of shape (n,)
        Squared errors of ratings with all others known, and with none.
    variances, hidden, before : ndarrays of shape (n,)
        As `predict_held` returns them.
    bias_variance : float
        A first guess.
    """
    for _ in range(_SETTLED):
        spread = float(np.mean(squares / (variances + bias_variance * hidden)))
        if spread == 0.0:
            return 1.0, bias_variance
        bias_variance = max(float(at_first.mean() / spread - before.mean()), 0.0)
    return spread, bias_variance


def first_stage(
    ratings: Ratings, levels: Levels, precision: type, pool: Pool, say: Say, work: Work
) -> tuple[Parts, Matrix, Stage]:
    """Return the kernel before the first round."""
    parts = find_parts(ratings, levels)
    say(f"products of {ratings.n_items} items over {ratings.n_users} people")
    C = work.multiply(parts, pool, precision)
    rows = np.full(ratings.n_users, -1)
    return parts, C, Stage(C, 1.0, 0.0, rows, np.zeros((0, len(C)), C.dtype))


def run_rounds(
    parts: Parts,
    C: Matrix,
    stage: Stage,
    limits: Limits,
    noise: float,
    pool: Pool,
    say: Say,
    work: Work,
) -> Stage:
    """Return the kernel after the last round."""
    groups = [Group.of(parts, people) for people in chosen(parts.ratings, limits)]
    rounds = [*([group] for group in groups), groups]
    for k, taking_part in enumerate(rounds, 1):
        n = sum(len(group.people) for group in taking_part)
        say(f"round {k} of {len(rounds)} with {n} people, noise {noise:g}")
        stage = work.next_stage(C, stage, parts, taking_part, noise, pool)
    return stage


def by_size(ratings: Ratings) -> Ints:
    """Return the people by their number of ratings, most first, whatever they are called.

    Of equal numbers, those of the more popular items come first, and of these, as where all have
    rated all, those who rate high what others rate high.
    """
    counts, first = ratings.counts.astype(np.float64)[ratings.indices], ratings.indptr[:-1]
    popular = np.add.reduceat(counts, first)
    crowded = np.add.reduceat(counts * counts, first)
    grades = np.rint(_GRADES * ratings.values)
    totals = np.bincount(ratings.indices, grades, minlength=ratings.n_items)
    agreed = np.add.reduceat(totals[ratings.indices] * grades, first)
    return np.lexsort((-agreed, -crowded, -popular, -ratings.sizes))


def by_count(ratings: Ratings) -> Ints:
    """Return the items by their number of ratings, most first, whatever they are called.

    Of equal numbers, those that the busier people have rated come first.
    """
    sizes = ratings.sizes.astype(np.float64)[ratings.people]
    busy = np.bincount(ratings.indices, sizes, minlength=ratings.n_items)
    busier = np.bincount(ratings.indices, sizes * sizes, minlength=ratings.n_items)
    return np.lexsort((-busier, -busy, -ratings.counts))


def chosen(ratings: Ratings, limits: Limits) -> list[Ints]:
    """Return who takes part in the rounds, in parts: those with most ratings, but for very many.

    People of all sizes are in each part.
    """
    order = by_size(ratings)
    short = order[ratings.sizes[order] <= limits.longest]
    people = short[: min(max(_LEAST, ratings.n_users // 2), limits.most)]
    n_parts = max(1, min(limits.parts, len(people)))
    return [np.sort(people[k::n_parts]) for k in range(n_parts)]


def hold_out(ratings: Ratings) -> tuple[Ratings, Ints, HeldOut]:
    """Return most of the ratings, some people, and ratings of theirs that were held out.

    The people are of all sizes, but for the few with most ratings, and the ratings are of items of
    all counts. Neither depends on the names of people and items.
    """
    order, sizes = by_size(ratings), ratings.sizes
    able = order[(sizes[order] >= _ABLE) & (sizes[order] <= _MOST)]
    total = int(np.maximum(sizes[able] // _ONE_IN, 1).sum())
    judges = able[:: max(1, -(-total // _HELD))]
    position = np.empty(ratings.n_items, dtype=np.int64)
    position[by_count(ratings)] = np.arange(ratings.n_items)
    entries = []
    for j, u in enumerate(judges.tolist()):
        n = int(sizes[u])
        taken = (j + _ONE_IN * np.arange(max(n // _ONE_IN, 1))) % n
        own = np.argsort(position[ratings.indices[ratings.indptr[u] : ratings.indptr[u + 1]]])
        entries.append(np.sort(ratings.indptr[u] + own[taken]))
    counts = np.array([len(part) for part in entries], dtype=np.int64)
    at = np.concatenate([np.zeros(0, dtype=np.int64), *entries])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    held = HeldOut(starts, ratings.indices[at].astype(np.int64), ratings.values[at])
    kept = np.ones(len(ratings.values), dtype=bool)
    kept[at] = False
    return ratings.only(kept)[0], judges, held
