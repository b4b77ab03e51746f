"""The entry points of the library, each with a small call.

The first call of each compiles what it needs. `rankwise warmup` makes them all, `rankwise doctor`
checks their results, and ``python -m benchmarks cold_start`` times them one by one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
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


def _fit(package: str, name: str, **options: Any) -> FirstCall:
    def call(data: Data) -> Any:
        model = getattr(getattr(rankwise, package), name)(**options)
        model.fit(data.X, data.y)
        return model.rank(data.X) if package == "preference" else model.predict(data.X)

    return FirstCall((package,), call, reads_rows=True)


def _fit_queries(package: str, name: str) -> FirstCall:
    def call(data: Data) -> Any:
        model = getattr(getattr(rankwise, package), name)().fit(data.X, data.y, qid=data.qid)
        return model.score(data.X, data.y, qid=data.qid)

    return FirstCall((package,), call, reads_rows=True)


def _fit_ratings(package: str, name: str) -> FirstCall:
    """Fit so many different ratings that pairs are swept and not listed."""

    def call(_: Data) -> Any:
        X = np.random.default_rng(0).normal(size=(1200, 4))
        return getattr(getattr(rankwise, package), name)().fit(X, X @ [1.0, 2.0, -1.0, 0.0]).coef_

    return FirstCall((package,), call)


def _score(name: str, **options: str) -> FirstCall:
    def call(data: Data) -> Any:
        score = getattr(rankwise.metrics, name)
        return score(data.y, data.s, **{key: getattr(data, of) for key, of in options.items()})

    return FirstCall(("metrics",), call)


def _two_classes(name: str) -> FirstCall:
    return FirstCall(("metrics",), lambda data: getattr(rankwise.metrics, name)(data.y > 1, data.s))


def _aggregate(name: str) -> FirstCall:
    def call(data: Data) -> Any:
        seed = {"random_state": 0} if name == "kwiksort" else {}
        return getattr(rankwise.aggregation, name)(data.votes, **seed).positions

    return FirstCall(("aggregation",), call)


def _contests(ties: str) -> FirstCall:
    def call(_: Data) -> Any:
        first, second = np.repeat(np.arange(4), 6), np.tile([1, 2, 3, 2, 3, 0], 4)
        apart, outcome = first != second, np.tile([1.0, 0.5, 0.0], 8)
        columns = first[apart], second[apart], outcome[apart]
        model = rankwise.contests.BradleyTerry(ties=ties)
        model.fit(*columns, sample_weight=np.ones(len(columns[0])))
        return model.fit(*columns).rank_interval()

    return FirstCall(("contests",), call)


def _scale(_: Data) -> Any:
    scaling = import_module("rankwise.cli._loops")
    return scaling.scale_as_seen(np.eye(2), 0, np.zeros(2), np.zeros(2))


def _read(name: str, text: str, ending: str, column: str) -> FirstCall:
    def call(_: Data) -> Any:
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"table{ending}"
            path.write_text(text)
            return np.asarray(getattr(rankwise.datasets, name)(path)[column])

    return FirstCall(("datasets",), call)


def _entries() -> Iterator[tuple[str, FirstCall]]:
    models: list[tuple[str, str, list[dict[str, Any]]]] = [
        (
            "ordinal",
            "PRank",
            [
                {},
                {"vote": None},
                {"vote": "voted"},
                {"update": "pa"},
                {"kernel": "rbf"},
                {"kernel": "rbf", "budget": 20},
                {"kernel": "poly"},
            ],
        ),
        ("ordinal", "OAPRank", [{}, {"kernel": "rbf"}, {"update": "pa"}]),
        ("ordinal", "WidrowHoff", [{}]),
        ("ordinal", "MulticlassPerceptron", [{}]),
        ("ordinal", "ThresholdRanker", [{}]),
        ("magnitude", "MPRank", [{}, {"kernel": "rbf"}]),
        ("magnitude", "MPRankCV", [{}]),
        ("magnitude", "SVRank", [{}]),
        ("pairwise", "RankSVM", [{}, {"power": 1}, {"kernel": "rbf"}]),
        ("boosting", "RankBoost", [{}, {"criterion": "edge"}, {"max_leaf_nodes": 31}]),
        ("pairwise", "TopPush", [{}]),
        ("pairwise", "AccuracyAtTop", [{}]),
        ("preference", "PreferenceRanker", [{}]),
    ]
    for package, name, variants in models:
        for options in variants:
            shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
            yield f"{name}({shown})", _fit(package, name, **options)
    for package, name in (
        ("magnitude", "MPRank"),
        ("pairwise", "RankSVM"),
        ("boosting", "RankBoost"),
    ):
        yield f"{name}() with qid", _fit_queries(package, name)
    yield "RankSVM() on many ratings", _fit_ratings("pairwise", "RankSVM")
    yield "SVRank() on many ratings", _fit_ratings("magnitude", "SVRank")
    for name in (
        "pairwise_misranking_loss",
        "magnitude_loss",
        "hinge_rank_loss",
        "hinge_magnitude_loss",
        "epsilon_insensitive_loss",
        "exponential_pair_loss",
        "ndcg_score",
    ):
        yield name, _score(name)
        yield f"{name} with qid", _score(name, qid="qid")
    yield (
        "mean_rank_loss",
        FirstCall(("metrics",), lambda data: rankwise.metrics.mean_rank_loss(data.y, data.y[::-1])),
    )
    yield "auc_score", _two_classes("auc_score")
    yield "auc_interval", _two_classes("auc_interval")
    yield (
        "leave_pair_out",
        FirstCall(
            ("magnitude", "model_selection"),
            lambda data: (
                rankwise.model_selection.leave_pair_out(
                    rankwise.magnitude.MPRank(), data.X, data.y
                ).msd
            ),
            reads_rows=True,
        ),
    )
    yield (
        "quicksort",
        FirstCall(
            ("preference",),
            lambda data: (
                rankwise.preference.quicksort(
                    range(60), lambda u, v: float(data.s[u] > data.s[v]), random_state=0
                ).positions
            ),
        ),
    )
    for ties in ("davidson", "half"):
        yield f"BradleyTerry(ties={ties!r})", _contests(ties)
    yield (
        "PlackettLuce()",
        FirstCall(
            ("contests",),
            lambda data: rankwise.contests.PlackettLuce().fit(data.votes).rank_interval(),
        ),
    )
    yield (
        "EloRating()",
        FirstCall(
            ("contests",),
            lambda data: rankwise.contests.EloRating().fit(data.y, data.y + 4, data.y > 1).ratings_,
        ),
    )
    for name in ("kemeny", "kwiksort", "borda"):
        yield name, _aggregate(name)
    yield (
        "concordance",
        FirstCall(("aggregation",), lambda data: rankwise.aggregation.concordance(data.votes).tau),
    )
    yield "rows of a stream", FirstCall(("cli._loops",), _scale)
    yield "read_letor", _read("read_letor", "1 qid:1 1:0.5 2:3\n0 qid:1 2:1\n", ".txt", "X")
    yield "read_movielens", _read("read_movielens", "1::7::4.5::97\n", ".dat", "rating")


FIRST_CALLS: dict[str, FirstCall] = dict(_entries())
