"""What a user's typed program sees of rankwise: checked by ``mypy --strict``, see test_typing.py.

A line with ``type: ignore[...]`` is a mistake that the types must tell; mypy fails if it does not.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import rankwise
from rankwise.aggregation import kemeny
from rankwise.base import Ranking
from rankwise.boosting import RankBoost
from rankwise.bounds import prank_mistake_bound
from rankwise.contests import BradleyTerry
from rankwise.magnitude import MPRank, MPRankCV, SVRank
from rankwise.metrics import auc_interval, mean_rank_loss, ndcg_score
from rankwise.model_selection import leave_pair_out, progressive_validation
from rankwise.ordinal import OAPRank, PRank, ThresholdRanker
from rankwise.pairwise import RankSVM, TopPush, pairs_from_clicks
from rankwise.preference import PreferenceRanker, quicksort
from rankwise.recommend import RatingTable, TasteModel, TasteRanker

X: NDArray[np.float64] = np.zeros((4, 2))
y = [1, 2, 3, 1]


def grades() -> None:
    """Online models."""
    model = assert_type(PRank(vote="averaged").fit(X, y), PRank)
    assert_type(model.partial_fit(X, y), PRank)
    assert_type(model.predict(X), NDArray[Any])
    assert_type(model.project(X), NDArray[np.float64])
    assert_type(OAPRank(10, tau=0.3).fit(X, y).vote_shares(X), NDArray[np.float64])
    assert_type(ThresholdRanker(MPRank()).fit(X, y), ThresholdRanker)
    assert_type(mean_rank_loss(y, y), float)
    _ = progressive_validation(model, X, y).loss_curve
    assert_type(prank_mistake_bound(X, y, [1.0, 0.0], [0.0, 1.0]).value, float)
    PRank("averaged")  # type: ignore[call-arg]
    PRank(votes="averaged")  # type: ignore[call-arg]
    model.fit(X)  # type: ignore[call-arg]


def scores() -> None:
    """Rankers."""
    for model in (RankSVM(C=1.0), RankBoost(10), TopPush(), MPRank(), SVRank(), MPRankCV()):
        assert_type(model.predict(X), NDArray[np.float64])
        assert_type(model.rank(X, qid=y), NDArray[np.int64])
        assert_type(model.score(X, y), float)
    assert_type(RankSVM().fit(X, y, qid=["a", "a", "b", "b"]), RankSVM)
    pairs, weight = pairs_from_clicks([1, 2], [0, 1])
    assert_type(pairs, NDArray[np.int64])
    assert_type(RankBoost().fit_pairs(X, pairs, pair_weight=weight), RankBoost)
    assert_type(auc_interval([0, 1], [0.1, 0.9]), tuple[float, float])
    assert_type(ndcg_score(y, [0.1, 0.2, 0.3, 0.4], k=3), float)
    assert_type(leave_pair_out(MPRank(), X, y).msd, float)
    RankSVM(c=1.0)  # type: ignore[call-arg]
    RankSVM().fit(X, y, ["a", "a", "b", "b"])  # type: ignore[call-arg]
    ndcg_score(y, [0.1], k="three")  # type: ignore[arg-type]


def orders() -> None:
    """Comparators, contests, votes."""

    def prefer(u: str, v: str) -> float:
        return float(len(u) > len(v))

    ranking = assert_type(quicksort(["a", "bb"], prefer, k=1), Ranking)
    assert_type(ranking.positions, NDArray[np.int64])
    assert_type(ranking.n_calls, int | None)
    assert_type(kemeny([[1, 2], [2, 1]]), Ranking)
    assert_type(PreferenceRanker().fit(X, y).order(X), Ranking)
    assert_type(BradleyTerry().fit(["a"], ["b"], [1]).ranking(), Ranking)
    quicksort(["a"])  # type: ignore[call-arg]


def people() -> None:
    """Tables of ratings."""
    table = assert_type(RatingTable.from_arrays([1, 1], [5, 6], [3.0, 4.0]), RatingTable)
    assert_type(TasteModel().fit(table).person(), TasteRanker)
    TasteModel().fit(X)  # type: ignore[arg-type]


def files() -> None:
    """Names of the package itself."""
    rankwise.save(rankwise.ordinal.PRank(), "model.rankwise")
    assert_type(rankwise.load("model.rankwise"), Any)
    assert_type(rankwise.__version__, str)
    assert_type(rankwise.pairwise.RankSVM(), RankSVM)
    rankwise.save(PRank())  # type: ignore[call-arg]
