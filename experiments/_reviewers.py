"""One reviewer's ratings from those of others (paper 4, section 4): problems, methods, trials.

A problem has the items of one reviewer as rows. Its features are the ratings of reference
reviewers, what is missing filled by the median of each; or what a `TasteModel` of everyone else has
learned about the items. Half of the rows are learned from. All that a number depends on is here, so
that a change of it is noticed by the trials that are kept.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import euclidean_distances

from experiments._runs import Result, Setting
from rankwise.magnitude import MPRank, SVRank
from rankwise.metrics import magnitude_loss, pairwise_misranking_loss
from rankwise.pairwise import RankSVM
from rankwise.papers import mprank, rankboost, ranking_svm, svrank
from rankwise.recommend import RatingTable, TasteModel

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Grid = list[dict[str, float]]

# Of more items of a reviewer, so many are drawn.
MOST_ITEMS = 300
FACTORS = 50
# The squared width of a Gaussian kernel, in mean squared distances of two rows.
WIDTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
CS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
# Of the methods whose fits take longer.
FEW_WIDTHS = (1.0, 10.0, 100.0)
FEW_CS = (1.0, 10.0, 100.0, 1_000.0, 10_000.0)
# The insensitive part of SVRank, as a share of the scale.
EPSILONS = (0.0, 0.1)
ROUNDS = (10.0, 20.0, 50.0, 100.0, 200.0)
# Books has few people: all are tested, in folds, each with settings chosen on people of the others.
FOLDS = 5
# Draws of one seed that have nothing to do with each other.
_PEOPLE, _HALVES, _RATERS = 0, 1, 2

MEASURES: dict[str, Callable[[Array, Array], float]] = {
    "MSD": magnitude_loss,
    "M1D": lambda y, s: magnitude_loss(y, s, power=1),
    "misranking": pairwise_misranking_loss,
    "misranking, tie half": lambda y, s: pairwise_misranking_loss(y, s, ties="half"),
    "misranking by size": lambda y, s: pairwise_misranking_loss(y, s, pair_weight="magnitude"),
}


class Group(NamedTuple):
    """Whose ratings are the features, and whose are predicted.

    Attributes
    ----------
    raters : tuple of int
        The least and most items of a reference reviewer.
    own : tuple of int
        The least and most items of a reviewer who is predicted.
    popular : int
        The least ratings of an item, others being left out.
    own_total : int
        The least items of a reviewer who is predicted, before unpopular ones are left out.
    taste : bool
        Whether the features are those of a `TasteModel`, rather than the ratings of references.
    """

    raters: tuple[int, int] = (1, 10**9)
    own: tuple[int, int] = (50, 300)
    popular: int = 0
    own_total: int = 0
    taste: bool = False


_ANY = 10**9
GROUPS = {
    "MovieLens 20-40": Group((20, 40)),
    "MovieLens 40-60": Group((40, 60)),
    "MovieLens 60-80": Group((60, 80)),
    "Netflix 32 %": Group((151, _ANY), own=(50, _ANY), popular=360, own_total=151),
    "Netflix 46 %": Group((501, _ANY), own=(50, _ANY), popular=1_200, own_total=151),
    "Netflix 58 %": Group((1_501, _ANY), own=(50, _ANY), popular=1_800, own_total=151),
    # The density of the ratings of more than 150, 250 and 300 films, of popular ones, on ML-1M.
    "Netflix 32 % (stand-in)": Group((151, _ANY), own=(50, _ANY), popular=500, own_total=151),
    "Netflix 46 % (stand-in)": Group((251, _ANY), own=(50, _ANY), popular=650, own_total=151),
    "Netflix 58 % (stand-in)": Group((301, _ANY), own=(50, _ANY), popular=900, own_total=151),
    "MovieLens, taste": Group(taste=True),
    "Jester 20-40": Group((20, 40)),
    "Jester 40-60": Group((40, 60)),
    "Jester 60-80": Group((60, 80)),
    "Jester, taste": Group(taste=True),
    "Books": Group(own=(8, _ANY), popular=10),
}


class Problem(NamedTuple):
    """Ratings and squared distances of a reviewer's items, and which are learned from."""

    X: Array
    y: Array
    distances: Array
    train: Places
    test: Places
    span: float

    def gram(self, width: float, scale: float) -> tuple[Array, Array]:
        """Return the Gaussian kernel among the training rows, and of test and training rows."""
        K = np.exp(self.distances / (-width * scale))
        return K[np.ix_(self.train, self.train)], K[np.ix_(self.test, self.train)]


class People(NamedTuple):
    """The ratings that count, who may be a reference, and who may be predicted."""

    table: RatingTable
    references: Places
    pool: Places


def people_of(table: RatingTable, group: Group) -> People:
    """Return the people of a group, by their places in the table."""
    total = np.diff(table.matrix.indptr)
    if group.popular:
        ratings = np.bincount(table.matrix.indices, minlength=table.n_items)
        table = table._entries(ratings[table.matrix.indices] >= group.popular)
    own = np.diff(table.matrix.indptr)
    references = (total >= group.raters[0]) & (total <= group.raters[1]) & (own > 0)
    pool = (own >= group.own[0]) & (own <= group.own[1]) & (total >= group.own_total)
    return People(table, np.flatnonzero(references), np.flatnonzero(pool))


def parts(pool: Places, n_held_out: int, n_parts: int, n_each: int, seed: int) -> list[Places]:
    """Return people to choose settings with, and then disjoint sets of people to test on.

    There are ``n_each`` in a set, or as many as the pool has for each.
    """
    drawn = np.random.default_rng([seed, _PEOPLE]).permutation(pool)
    n_held_out = min(n_held_out, len(pool) // (n_parts + 1))
    n_each = min(n_each, (len(pool) - n_held_out) // n_parts)
    ends = n_held_out + n_each * np.arange(n_parts + 1)
    return np.split(drawn[: ends[-1]], ends[:-1])


def problems(
    people: People, group: Group, chosen: Places, n_references: int, seed: int
) -> "Iterator[tuple[Problem, Array | None] | None]":
    """Yield the problem of each chosen person, and with taste what a `TasteRanker` says.

    None stands for a person whose ratings are all equal in a half.
    """
    table = people.table
    model = _taste(table, chosen) if group.taste else None
    for person in chosen:
        items = table.matrix.indices[slice(*table.matrix.indptr[person : person + 2])]
        random = np.random.default_rng([seed, _HALVES, int(person)])
        drawn = random.permutation(len(items))[:MOST_ITEMS]
        half = len(drawn) // 2
        y = table.matrix.data[table.matrix.indptr[person] + drawn]
        train, test = np.arange(half), np.arange(half, len(drawn))
        if np.ptp(y[train]) == 0 or np.ptp(y[test]) == 0:
            yield None
            continue
        said = None
        if model is None:
            others = people.references[people.references != person]
            draw = np.random.default_rng([seed, _RATERS, int(person)])
            raters = draw.permutation(others)[:n_references]
            X, _, _ = table.problem_for(table.users[person], raters=table.users[raters])
            X = X[drawn]
        else:
            X = model.features[items[drawn]]
            said = model.say(table.items[items[drawn]], y, half)
        distances = euclidean_distances(X, squared=True)
        span = table.scale[1] - table.scale[0]
        yield Problem(X, y, distances, train, test, span), said


class _Everyone(NamedTuple):
    """A taste model of everyone but those who are tested."""

    model: TasteModel
    features: Array

    def say(self, items: NDArray[Any], y: Array, half: int) -> Array:
        """Return what a new person who rates the first half would give to the second."""
        live = self.model.person()
        for item, rating in zip(items[:half], y[:half], strict=True):
            live.rate(item, float(rating))
        return live.predict(items[half:])[0]


def _taste(table: RatingTable, without: Places) -> _Everyone:
    """Learn taste from all but some people; items have their mean and their factors as features."""
    row = np.repeat(np.arange(table.n_users), np.diff(table.matrix.indptr))
    model = TasteModel(rank=min(FACTORS, table.n_items - 1), n_jobs=1)
    model.fit(table._entries(~np.isin(row, without)))
    taste: Any = model.taste_
    factors = taste.kernel.factors[: table.n_items]
    return _Everyone(model, np.column_stack([taste.to_ratings(taste.means), factors]))


def _gaussian(
    make: Callable[[Problem, dict[str, float]], Any],
) -> Callable[[Problem, Grid, float], Iterator[Array]]:
    def scores(problem: Problem, grid: Grid, scale: float) -> Iterator[Array]:
        # Settings of one width follow each other.
        for width, some in groupby(grid, key=lambda at: at["width"]):
            K, between = problem.gram(width, scale)
            for at in some:
                yield make(problem, at).fit(K, problem.y[problem.train]).predict(between)

    return scores


def _boosted(by_size: bool) -> Callable[[Problem, Grid, float], Iterator[Array]]:
    def scores(problem: Problem, grid: Grid, scale: float) -> Iterator[Array]:
        del scale
        rounds = [int(at["rounds"]) for at in grid]
        y = problem.y[problem.train]
        worse, better = np.nonzero(y[:, np.newaxis] < y)
        # fit would find the same; with a hundred rows it takes 2 to 10 times as long.
        model = rankboost(max(rounds)).fit_pairs(
            problem.X[problem.train],
            np.column_stack([worse, better]),
            pair_weight=y[better] - y[worse] if by_size else None,
        )
        stages = list(model.staged_predict(problem.X[problem.test]))
        # It may stop early.
        yield from (stages[min(n, len(stages)) - 1] for n in rounds)

    return scores


def _mprank(problem: Problem, at: dict[str, float]) -> MPRank:
    del problem
    return mprank(at["C"], kernel="precomputed")


def _svrank(problem: Problem, at: dict[str, float]) -> SVRank:
    return svrank(at["C"], at["epsilon"] * problem.span, kernel="precomputed")


def _kernel_ridge(problem: Problem, at: dict[str, float]) -> KernelRidge:
    # The penalty that MPRank has with this C.
    return KernelRidge(alpha=len(problem.train) / (2 * at["C"]), kernel="precomputed")


def _ranksvm(problem: Problem, at: dict[str, float]) -> RankSVM:
    del problem
    return ranking_svm(at["C"], pair_weight="magnitude", kernel="precomputed")


class Method(NamedTuple):
    """How scores are learned for each of some settings, which there are, and what decides."""

    scores: Callable[[Problem, Grid, float], Iterator[Array]]
    grid: Grid
    cost: str


_SMOOTH: Grid = [{"width": w, "C": c} for w in WIDTHS for c in CS]
_SHARP: Grid = [{"width": w, "C": c} for w in FEW_WIDTHS for c in FEW_CS]
_TUBES: Grid = [{**at, "epsilon": e} for at in _SHARP for e in EPSILONS]
_STAGES: Grid = [{"rounds": n} for n in ROUNDS]
METHODS = {
    "MPRank": Method(_gaussian(_mprank), _SMOOTH, "MSD"),
    "SVRank": Method(_gaussian(_svrank), _TUBES, "M1D"),
    "RankBoost": Method(_boosted(by_size=False), _STAGES, "misranking"),
    "kernel ridge": Method(_gaussian(_kernel_ridge), _SMOOTH, "MSD"),
    "RankBoost by size": Method(_boosted(by_size=True), _STAGES, "misranking by size"),
    "RankSVM by size": Method(_gaussian(_ranksvm), _SHARP, "misranking by size"),
}


def _measure(problem: Problem, scores: Array) -> list[float]:
    truth = problem.y[problem.test]
    return [float(measure(truth, scores)) for measure in MEASURES.values()]


def choose(setting: Setting, table: RatingTable) -> Result:
    """Try every setting of every method on people who are never tested; keep the best.

    Returns the mean squared distance of rows as ``scale``, and for each method its ``best`` setting
    and the ``errors`` of all, by the method's own cost.
    """
    group = GROUPS[setting["group"]]
    people = people_of(table, group)
    chosen = parts_of(setting, people)[0]
    every = problems(people, group, chosen, setting["n_references"], setting["seed"])
    known = [found[0] for found in every if found]
    scale = float(np.mean([problem.distances.mean() for problem in known]))
    result: Result = {"scale": scale, "n": len(known)}
    for name, method in METHODS.items():
        cost = MEASURES[method.cost]
        errors = np.mean(
            [
                [
                    cost(problem.y[problem.test], s)
                    for s in method.scores(problem, method.grid, scale)
                ]
                for problem in known
            ],
            axis=0,
        )
        result[name] = {"best": method.grid[int(errors.argmin())], "errors": errors}
    return result


def repeat(setting: Setting, table: RatingTable) -> Result:
    """Return the errors of every method for one set of people, a row each; NaN if left out."""
    group, chosen = GROUPS[setting["group"]], setting["chosen"]
    people = people_of(table, group)
    tested = parts_of(setting, people)[1 + setting["repetition"]]
    errors: dict[str, list[list[float]]] = {}
    nothing = [np.nan] * len(MEASURES)
    names = ["a constant", *METHODS, *(["TasteRanker"] if group.taste else [])]
    for found in problems(people, group, tested, setting["n_references"], setting["seed"]):
        for name in names:
            rows = errors.setdefault(name, [])
            if found is None:
                rows.append(nothing)
                continue
            problem, said = found
            if name in METHODS:
                (scores,) = METHODS[name].scores(problem, [chosen[name]], chosen["scale"])
            elif said is not None and name == "TasteRanker":
                scores = said
            else:
                scores = np.zeros(len(problem.test))
            rows.append(_measure(problem, scores))
    return {"errors": errors}


def parts_of(setting: Setting, people: People) -> list[Places]:
    """Return the `parts` of a setting; with a ``fold``, people of the others and those of it."""
    if "fold" in setting:
        drawn = np.random.default_rng([setting["seed"], _PEOPLE]).permutation(people.pool)
        folds = np.array_split(drawn, FOLDS)
        tested = folds.pop(setting["fold"])
        return [np.concatenate(folds)[: setting["n_held_out"]], tested]
    return parts(
        people.pool, setting["n_held_out"], setting["n_repetitions"], setting["n_reviewers"],
        setting["seed"],
    )  # fmt: skip
