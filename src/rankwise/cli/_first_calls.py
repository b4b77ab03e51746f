"""The entry points of the library, each with a small call.

The first call of each compiles what it needs. `rankwise warmup` makes them all, `rankwise doctor`
checks their results, and ``python -m benchmarks cold_start`` times them one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import rankwise

INPUTS = ("dense", "csr", "float32")


@dataclass(frozen=True)
class Data:
    """Rows, their grades, scores and queries, and votes."""

    X: Any
    y: NDArray[np.int64]
    s: NDArray[np.float64]
    qid: NDArray[np.int64]
    votes: list[list[int]]


def make_data(kind: str = "dense") -> Data:
    """Return small data whose rows are of one of the kinds of `INPUTS`."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    s = X @ [1.0, 2.0, -1.0, 0.0]
    y = np.digitize(s, [-1.5, 0.0, 1.5])
    votes = [np.random.default_rng(i).permutation(12).tolist() for i in range(5)]
    rows = {"dense": X, "csr": csr_array(X), "float32": X.astype(np.float32)}[kind]
    return Data(rows, y, s + 0.1 * random.normal(size=60), np.arange(60) % 3, votes)


@dataclass(frozen=True)
class FirstCall:
    """One entry point.

    Attributes
    ----------
    packages : tuple of str
        The modules of rankwise that it needs.
    call : callable
        Takes a `Data` and returns numbers, which are finite if all is well.
    reads_rows : bool
        Whether it compiles again for another kind of rows.
    """

    packages: tuple[str, ...]
    call: Callable[[Data], Any]
    reads_rows: bool = False

    def load(self) -> None:
        """Import what it needs, and compile nothing."""
        for package in self.packages:
            import_module(f"rankwise.{package}")


# Estimators by package, and the parameters of each that compile other loops.
_MODELS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("ordinal", "PRank"): [
        {},
        {"vote": None},
        {"vote": "voted"},
        {"update": "pa"},
        {"kernel": "rbf"},
        {"kernel": "rbf", "budget": 20},
        {"kernel": "poly"},
    ],
    ("ordinal", "OAPRank"): [{}, {"kernel": "rbf"}, {"update": "pa"}],
    ("ordinal", "WidrowHoff"): [{}],
    ("ordinal", "MulticlassPerceptron"): [{}],
    ("ordinal", "ThresholdRanker"): [{}],
    ("magnitude", "MPRank"): [{}, {"kernel": "rbf"}],
    ("magnitude", "MPRankCV"): [{}],
    ("magnitude", "SVRank"): [{}],
    ("pairwise", "RankSVM"): [{}, {"power": 1}, {"kernel": "rbf"}],
    ("boosting", "RankBoost"): [{}, {"criterion": "edge"}, {"max_leaf_nodes": 31}],
    ("pairwise", "TopPush"): [{}],
    ("pairwise", "AccuracyAtTop"): [{}],
    ("preference", "PreferenceRanker"): [{}],
}
_WITH_QID = [("magnitude", "MPRank"), ("pairwise", "RankSVM"), ("boosting", "RankBoost")]
_LOSSES = [
    "pairwise_misranking_loss",
    "magnitude_loss",
    "hinge_rank_loss",
    "hinge_magnitude_loss",
    "epsilon_insensitive_loss",
    "exponential_pair_loss",
    "ndcg_score",
]
_AGGREGATIONS: dict[str, dict[str, Any]] = {
    "kemeny": {},
    "kwiksort": {"random_state": 0},
    "borda": {},
}


def _named(options: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in options.items())


def _fit(package: str, name: str, options: dict[str, Any], data: Data) -> Any:
    model = getattr(getattr(rankwise, package), name)(**options).fit(data.X, data.y)
    return model.rank(data.X) if package == "preference" else model.predict(data.X)


def _fit_queries(package: str, name: str, data: Data) -> Any:
    model = getattr(getattr(rankwise, package), name)().fit(data.X, data.y, qid=data.qid)
    return model.score(data.X, data.y, qid=data.qid)


def _fit_ratings(package: str, name: str, _: Data) -> Any:
    """Fit as many different ratings as need implicit pairs."""
    X = np.random.default_rng(0).normal(size=(1200, 4))
    return getattr(getattr(rankwise, package), name)().fit(X, X @ [1.0, 2.0, -1.0, 0.0]).coef_


def _list_measures(data: Data) -> Any:
    measures = import_module("rankwise.metrics.lists").LIST_MEASURES.values()
    return [measure(data.y, data.s, qid=data.qid) for measure in measures]


def _score(name: str, with_qid: bool, data: Data) -> Any:
    queries = {"qid": data.qid} if with_qid else {}
    return getattr(rankwise.metrics, name)(data.y, data.s, **queries)


def _two_classes(name: str, data: Data) -> Any:
    return getattr(rankwise.metrics, name)(data.y > 1, data.s)


def _aggregate(name: str, options: dict[str, Any], data: Data) -> Any:
    return getattr(rankwise.aggregation, name)(data.votes, **options).positions


def _leave_pair_out(data: Data) -> Any:
    model = rankwise.magnitude.MPRank()
    return rankwise.model_selection.leave_pair_out(model, data.X, data.y).msd


def _quicksort(data: Data) -> Any:
    def prefer(u: int, v: int) -> float:
        return float(data.s[u] > data.s[v])

    return rankwise.preference.quicksort(range(60), prefer, random_state=0).positions


def _contests(ties: str, _: Data) -> Any:
    first, second = np.repeat(np.arange(4), 6), np.tile([1, 2, 3, 2, 3, 0], 4)
    apart, outcome = first != second, np.tile([1.0, 0.5, 0.0], 8)
    columns = first[apart], second[apart], outcome[apart]
    model = rankwise.contests.BradleyTerry(ties=ties)
    model.fit(*columns, sample_weight=np.ones(len(columns[0])))
    return model.fit(*columns).rank_interval()


def _scale(_: Data) -> Any:
    scaling = import_module("rankwise.cli._loops")
    return scaling.scale_as_seen(np.eye(2), *np.zeros((3, 2)))


_CONTESTS, _METRICS, _VOTES = ("contests",), ("metrics",), ("aggregation",)
FIRST_CALLS: dict[str, FirstCall] = {
    **{
        f"{name}({_named(options)})": FirstCall(
            (package,), partial(_fit, package, name, options), reads_rows=True
        )
        for (package, name), variants in _MODELS.items()
        for options in variants
    },
    **{
        f"{name}() with qid": FirstCall(
            (package,), partial(_fit_queries, package, name), reads_rows=True
        )
        for package, name in _WITH_QID
    },
    "RankSVM() on many ratings": FirstCall(
        ("pairwise",), partial(_fit_ratings, "pairwise", "RankSVM")
    ),
    "SVRank() on many ratings": FirstCall(
        ("magnitude",), partial(_fit_ratings, "magnitude", "SVRank")
    ),
    **{
        f"{name} with qid" if with_qid else name: FirstCall(
            _METRICS, partial(_score, name, with_qid)
        )
        for name in _LOSSES
        for with_qid in (False, True)
    },
    "mean_rank_loss": FirstCall(
        _METRICS, lambda data: rankwise.metrics.mean_rank_loss(data.y, data.y[::-1])
    ),
    "all list measures": FirstCall(_METRICS, _list_measures),
    "auc_score": FirstCall(_METRICS, partial(_two_classes, "auc_score")),
    "auc_interval": FirstCall(_METRICS, partial(_two_classes, "auc_interval")),
    "leave_pair_out": FirstCall(("magnitude", "model_selection"), _leave_pair_out, reads_rows=True),
    "quicksort": FirstCall(("preference",), _quicksort),
    **{
        f"BradleyTerry(ties={ties!r})": FirstCall(_CONTESTS, partial(_contests, ties))
        for ties in ("davidson", "half")
    },
    "PlackettLuce()": FirstCall(
        _CONTESTS, lambda data: rankwise.contests.PlackettLuce().fit(data.votes).rank_interval()
    ),
    "EloRating()": FirstCall(
        _CONTESTS,
        lambda data: rankwise.contests.EloRating().fit(data.y, data.y + 4, data.y > 1).ratings_,
    ),
    **{
        name: FirstCall(_VOTES, partial(_aggregate, name, options))
        for name, options in _AGGREGATIONS.items()
    },
    "concordance": FirstCall(_VOTES, lambda data: rankwise.aggregation.concordance(data.votes).tau),
    "rows of a stream": FirstCall(("cli._loops",), _scale),
}
