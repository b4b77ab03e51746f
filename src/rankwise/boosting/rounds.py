"""What takes the rounds of `RankBoost`, and when they end."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.pairs import Pairs, count_pairs
from rankwise._core.ranker import Ranked
from rankwise._core.threads import Pool
from rankwise.boosting._ensemble import Forest
from rankwise.boosting.gradients import gradient_of
from rankwise.boosting.pair_weights import AllPairs, GivenPairs
from rankwise.boosting.stumps import PairRounds, StumpRounds, few_groups
from rankwise.boosting.trees import Limits, Trees

if TYPE_CHECKING:
    from rankwise.boosting._rankboost import RankBoost

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Loss = Callable[[Floats], float]
Relation = AllPairs | GivenPairs

# The highest grade that NDCG is made for: gains of higher ones leave no digits for lower ones.
MOST_GAIN = 50
# The highest grade that is weighed by NDCG unasked.
HIGHEST_GRADE = 10
# What a tree adds of its step unasked.
RATE_OF_TREES = 0.1


def rate_of(model: "RankBoost") -> float:
    """Return the learning rate: "auto" is 1 for base rankers, and less for trees."""
    if isinstance(model.learning_rate, str):
        return 1.0 if model.max_leaf_nodes == 2 else RATE_OF_TREES
    return float(model.learning_rate)


def is_paper(model: "RankBoost", pair_weight: str) -> bool:
    """Return whether rounds are those of the paper: one base ranker each, and its exact step."""
    steps = model.max_leaf_nodes == 2 and rate_of(model) == 1.0
    return steps and model.loss != "logistic" and pair_weight != "ndcg"


def pair_weight_of(model: "RankBoost", data: Ranked) -> str:
    """Return what weighs a pair: "auto" is NDCG for trees on lists of few grades."""
    if model.pair_weight != "auto":
        return model.pair_weight
    y = data.y
    graded = y.min() >= 0 and y.max() <= HIGHEST_GRADE and bool((y == np.floor(y)).all())
    return "ndcg" if model.max_leaf_nodes > 2 and data.n_queries > 1 and graded else "uniform"


def check_steps(model: "RankBoost", pair_weight: str, *, given: bool = False) -> None:
    """Refuse what does not go with a push, or with steps for the margin."""
    named = f"push={model.push}" if model.push != 1 else f"step={model.step!r}"
    if model.push == 1 and model.step == "exact":
        return
    if not is_paper(model, pair_weight):
        raise ValueError(
            f"{named} is for base rankers, max_leaf_nodes=2, learning_rate=1 and the exponential "
            "loss: leave these at their defaults, or take push=1 and step='exact'"
        )
    if model.criterion == "loss":
        raise ValueError(
            f"{named} chooses base rankers by their edge: use criterion='edge' or 'auto'"
        )
    if model.push != 1 and model.step != "exact":
        raise ValueError(f"{named} has no margin: use step='exact', or push=1")
    if model.push != 1 and (given or pair_weight == "magnitude"):
        what = "given pairs" if given else "pair_weight='magnitude'"
        raise ValueError(
            f"{named} sums over the positives of each negative, and {what} can't be summed so: "
            "use fit with pair_weight='uniform', or push=1"
        )


def check_two_classes(push: float, data: Ranked) -> None:
    """Refuse a push if a query has more than two targets."""
    if push == 1:
        return
    found = np.unique(np.stack([data.codes, data.y], axis=1), axis=0)
    n_targets = np.bincount(found[:, 0].astype(np.int64))
    worst = int(np.argmax(n_targets))
    if n_targets[worst] > 2:
        where = f"query number {worst + 1} has" if data.n_queries > 1 else "there are"
        raise ValueError(
            f"push={push} is for two classes, and {where} {n_targets[worst]} different targets: "
            "make two of them, such as y > 0, or use push=1"
        )


def check_gains(y: Floats) -> None:
    """Refuse targets that have no gain."""
    if not (y.min() >= 0 and y.max() <= MOST_GAIN):
        raise ValueError(
            f"y runs from {y.min()} to {y.max()}, but pair_weight='ndcg' takes grades from 0 to "
            f"{MOST_GAIN}, for the gain is 2^y - 1: shift them or use 'uniform'"
        )


def split_rows(
    data: Ranked, fraction: float, random: np.random.RandomState
) -> tuple[Indices, Indices]:
    """Return the rows to learn from and those to set aside: whole queries if there are some."""
    codes, n = data.codes, data.n_queries
    if n == 1:
        codes, n = np.arange(len(data.y)), len(data.y)
    chosen = random.permutation(n) < np.ceil(fraction * n)
    return np.flatnonzero(~chosen[codes]), np.flatnonzero(chosen[codes])


def limits_of(model: "RankBoost") -> Limits:
    """Return how large trees may be."""
    return Limits(
        model.max_leaf_nodes,
        model.max_depth,
        model.min_samples_leaf,
        model.l2,
        rate_of(model),
    )


def learner_of(
    model: "RankBoost",
    relation: Relation,
    bins: Any,
    counts: Indices,
    pool: Pool,
    pair_weight: str,
) -> StumpRounds | PairRounds | Trees:
    """Return what takes the rounds: RankBoost as in its paper, or second-order steps."""
    if is_paper(model, pair_weight):
        criterion = model.criterion
        if criterion == "auto" and (model.push != 1 or model.step != "exact"):
            criterion = "edge"
        if isinstance(relation, GivenPairs):
            criterion = "loss" if criterion == "auto" else criterion
            return PairRounds(relation, bins, criterion, pool, model.step)
        if criterion == "auto":
            criterion = "loss" if few_groups(relation, bins) else "edge"
        return StumpRounds(relation, bins, criterion, pool, model.step)
    limits = limits_of(model)
    loss = "exponential" if model.loss == "auto" else model.loss
    gradient = gradient_of(relation, loss, pair_weight, pool, counts)
    return Trees(relation.s, gradient, bins, limits, counts, pool)


def misranking(held: Pairs, scores: Floats) -> float:
    """Return the share of misranked pairs, a tie counting half."""
    found = count_pairs(held, scores)
    return (found.misranked + 0.5 * found.tied) / found.comparable


def misranked_share(worse: Indices, better: Indices, share: Floats, scores: Floats) -> float:
    """Return the share of misranked pairs among given ones, a tie counting half."""
    return float(share @ (0.5 + 0.5 * np.sign(scores[worse] - scores[better])))


class Stopping:
    """Ends boosting when a loss, averaged over ``patience`` rounds, has no new low for as many.

    Before the first round all pairs are tied, half of them wrong: the averages begin with that, so
    that no single good round at the beginning is taken for the best.

    Parameters
    ----------
    patience : int
        See above.
    rows : ndarray or csr_array of shape (n, n_features)
        Rows that the loss is of.
    loss : callable
        Takes their scores.

    Attributes
    ----------
    losses : list of float
        The averages.
    """

    def __init__(self, patience: int, rows: Any, loss: Loss) -> None:
        self.patience, self.rows, self.loss = patience, rows, loss
        self.scores = np.zeros(rows.shape[0])
        self.wrong, self.losses = [0.5] * patience, list[float]()

    def after(self, added: Forest) -> bool:
        """Return whether to stop after a round that added this to the score."""
        self.scores += added.scores(self.rows)
        self.wrong.append(self.loss(self.scores))
        self.losses.append(float(np.mean(self.wrong[-self.patience :])))
        return len(self.losses) - int(np.argmin(self.losses)) > self.patience

    @property
    def n_best(self) -> int:
        """The number of rounds up to the lowest average."""
        return int(np.argmin(self.losses)) + 1 if self.losses else 0
