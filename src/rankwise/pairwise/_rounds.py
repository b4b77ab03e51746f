"""What takes the rounds of `RankBoost`, and when they end."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankwise.base import Ranked
from rankwise.engine.pairs import Pairs, count_pairs
from rankwise.engine.pool import Pool
from rankwise.engine.solvers.boosting import AllPairs, GivenPairs
from rankwise.engine.solvers.slopes import gradient_of
from rankwise.engine.solvers.stumps import PairRounds, StumpRounds, few_groups
from rankwise.engine.solvers.trees import Limits, Trees

if TYPE_CHECKING:
    from rankwise.pairwise._rankboost import RankBoost

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Judge = Callable[[Floats], float]
Relation = AllPairs | GivenPairs

# What there is after some ways to fit, and not after others.
NOT_ALWAYS = (
    "alphas_", "children_", "criterion_", "leaf_values_", "tree_starts_", "validation_loss_",
)  # fmt: skip
# The highest grade that NDCG is made for: gains of higher ones leave no digits for lower ones.
MOST_GAIN = 50


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


def is_paper(model: "RankBoost") -> bool:
    """Return whether rounds are RankBoost as in its paper, or else second-order steps."""
    plain = model.loss in ("auto", "exponential") and model.pair_weight != "ndcg"
    return plain and (model.max_leaf_nodes, model.learning_rate) == (2, 1.0)


def limits_of(model: "RankBoost") -> Limits:
    """Return how large trees may be."""
    return Limits(
        model.max_leaf_nodes,
        model.max_depth,
        model.min_samples_leaf,
        model.l2,
        model.learning_rate,
    )


def learner_of(
    model: "RankBoost", relation: Relation, bins: Any, counts: Indices, pool: Pool
) -> StumpRounds | PairRounds | Trees:
    """Return what takes the rounds: RankBoost as in its paper, or second-order steps."""
    loss = "exponential" if model.loss == "auto" else model.loss
    if is_paper(model):
        if isinstance(relation, GivenPairs):
            criterion = "loss" if model.criterion == "auto" else model.criterion
            return PairRounds(relation, bins, criterion, pool)
        criterion = model.criterion
        if criterion == "auto":
            criterion = "loss" if few_groups(relation, bins) else "edge"
        return StumpRounds(relation, bins, criterion, pool)
    limits = limits_of(model)
    gradient = gradient_of(relation, loss, model.pair_weight, pool)
    return Trees(relation.s, gradient, bins, limits, counts, pool)


def misranking(held: Pairs, rows: Indices, scores: Floats) -> float:
    """Return the share of misranked pairs among some rows, a tie counting half."""
    found = count_pairs(held, scores[rows])
    return (found.misranked + 0.5 * found.tied) / found.comparable


def misranked_share(worse: Indices, better: Indices, share: Floats, scores: Floats) -> float:
    """Return the share of misranked pairs among given ones, a tie counting half."""
    return float(share @ (0.5 + 0.5 * np.sign(scores[worse] - scores[better])))


class Stopping:
    """Ends boosting when a loss, averaged over ``patience`` rounds, has no new low for as many.

    Before the first round all pairs are tied, half of them wrong: the averages begin with that, so
    that no single good round at the beginning is taken for the best.

    Attributes
    ----------
    losses : list of float
        The averages.
    """

    def __init__(self, patience: int, judge: Judge) -> None:
        self.patience, self.judge = patience, judge
        self.wrong, self.losses = [0.5] * patience, list[float]()

    def now(self, scores: Floats) -> bool:
        """Return whether to stop, after a round that led to these scores."""
        self.wrong.append(self.judge(scores))
        self.losses.append(float(np.mean(self.wrong[-self.patience :])))
        return len(self.losses) - int(np.argmin(self.losses)) > self.patience

    @property
    def n_best(self) -> int:
        """The number of rounds up to the lowest average."""
        return int(np.argmin(self.losses)) + 1 if self.losses else 0
