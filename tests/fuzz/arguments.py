"""Good arguments for the fuzz, by the name of the parameter."""

import asyncio
import tempfile
from inspect import Parameter
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise.bounds import Bound
from rankwise.magnitude import MPRank
from rankwise.model_selection import progressive_validation
from rankwise.ordinal import PRank
from rankwise.pairwise import RankBoost, RankSVM
from rankwise.reports import Report, Table
from rankwise.testing.strategies import draw_rankings

REQUIRED = Parameter.empty


class World:
    """One case: its random numbers, and the sizes that its arguments share."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.n, self.d, self.k = (int(self.random.integers(*r)) for r in [(4, 13), (1, 4), (2, 6)])
        self.folder = Path(tempfile.gettempdir()) / "rankwise-fuzz"
        self.folder.mkdir(exist_ok=True)

    def choose(self, *values):
        return values[self.random.integers(len(values))]

    def real(self, *shape):
        return self.random.normal(size=shape).round(2)

    def grades(self):
        y = self.random.integers(1, 4, self.n)
        y[:3] = [1, 3, 2]
        return y

    def rows(self):
        X = self.real(self.n, self.d)
        return X if self.random.random() < 0.8 else sparse.csr_array(X)

    def order(self):
        return self.random.permutation(self.k).tolist()

    def file(self, text, name):
        path = self.folder / name
        path.write_bytes(text.encode())
        return path

    def matrix(self):
        P = np.triu(self.random.random((self.k, self.k)), 1)
        return P + np.tril(1 - P.T, -1) + 0.5 * np.eye(self.k)

    def pairs(self):
        first = self.random.integers(0, self.n, 5)
        return np.column_stack([first, (first + 1) % self.n])

    def ordinal(self):
        return PRank().fit(self.real(self.n, self.d), self.grades())

    def ranker(self):
        model = self.choose(MPRank(), RankSVM(max_iter=20), RankBoost(5))
        return model.fit(self.real(self.n, self.d), self.grades())

    def weight_of_places(self):
        kinds = ("top", 1), ("bipartite", 1), ("partite", [1, 2]), lambda i, j: 1.0
        return self.choose("kemeny", *kinds)


def by_mean(u, v):
    return 0.5 + 0.5 * np.tanh(np.mean(np.asarray(u, float)) - np.mean(np.asarray(v, float)))


async def by_mean_later(u, v):
    await asyncio.sleep(0)
    return by_mean(u, v)


def _two_ranks(w):
    return w.random.permutation(np.array([0, 1] * 7)[: w.n]) + w.choose(0, 1)


def _cystic_fibrosis(w):
    folder = w.folder / "cf"
    folder.mkdir(exist_ok=True)
    (folder / "cf74").write_bytes(b"PN 74001\nRN 00001\nTI Infection.\n\n")
    (folder / "cfquery").write_bytes(b"QN 00001\nQU Why?\nNR 00001\nRD    1 1222\n")
    return folder


# Parameter name, or "function.parameter" -> a good value.
GOOD = {
    **dict.fromkeys(["X", "Y", "U", "V"], World.rows),
    "y": World.grades,
    "y_true": lambda w: w.choose(w.grades(), _two_ranks(w)),
    **dict.fromkeys(["auc_score.y_true", "auc_interval.y_true"], _two_ranks),
    **dict.fromkeys(["auc_difference_test.y_true", "auc_scorer.y_true"], _two_ranks),
    "y_pred": World.grades,
    **dict.fromkeys(
        ["y_score", "y_score_1", "y_score_2", "scores", "projections", "values", "margins"],
        lambda w: w.real(w.n),
    ),
    "qid": lambda w: w.choose(np.repeat([5, 2], w.n)[: w.n], w.random.integers(0, 2, w.n)),
    "sample_weight": lambda w: w.random.integers(1, 4, w.n) / 2,
    **dict.fromkeys(["labels", "classes", "label_order"], lambda w: [1, 2, 3]),
    **dict.fromkeys(["pairs", "other_pairs"], World.pairs),
    "fit_pairs.pair_weight": lambda w: w.random.integers(1, 4, 5) / 2,
    "pair_weight": lambda w: w.choose("uniform", "magnitude"),
    "rankings": lambda w: draw_rankings(w.random, w.k, 4, ties=True, partial=False),
    "weights": lambda w: w.random.integers(1, 4, 4) / 2,
    "candidates": lambda w: list(range(w.k)),
    "unlisted": lambda w: w.choose("ignored", "last"),
    **dict.fromkeys(["order", "target", "a", "b", "best"], World.order),
    "targets": lambda w: [w.order() for _ in range(3)],
    "alternatives_gap.targets": lambda w: [[w.order(), w.order()] for _ in range(3)],
    "prefer_matrix": World.matrix,
    "weight": World.weight_of_places,
    "preference_regret.items": lambda w: [list("abcdefgh"[: w.k])],
    "items": lambda w: w.choose(list(range(w.k)), w.real(w.k), w.real(w.k, 2)),
    "prefer": lambda w: by_mean,
    **dict.fromkeys(["aquicksort.prefer", "asort_by_degree.prefer"], lambda w: by_mean_later),
    "log": lambda w: [],
    "progress": lambda w: lambda calls, expected: None,
    "Report.save.self": lambda w: Report("A", "b", [Table("c", ["d"], [["1"]])], ["e"]),
    "folder": lambda w: w.folder / "report",
    "coef": lambda w: w.real(w.d),
    "thresholds": lambda w: np.sort(w.real(2)),
    "complexity": lambda w: (0.1, Bound(0.2, 1.0, {})),
    "kernel": lambda w: w.choose("linear", "rbf", "poly"),
    "gamma": lambda w: 0.5,
    "gammas": lambda w: [0.5, 1.0],
    "Cs": lambda w: [0.1, 1.0, 10.0],
    **dict.fromkeys(["empirical", "delta"], lambda w: 0.25),
    **dict.fromkeys(
        ["C", "kappa", "M", "prank_regret_bound.margin", "rho"], lambda w: w.choose(0.5, 2.0)
    ),
    **dict.fromkeys(["m", "n", "n_pos", "n_neg", "n_samples"], lambda w: w.choose(3, 40)),
    "power": lambda w: w.choose(1, 2),
    "cost": lambda w: w.choose("magnitude", "epsilon_insensitive", "hinge_rank"),
    "ties": lambda w: w.choose("wrong", "half", "right"),
    "empirical_rademacher.kind": lambda w: w.choose("linear", "kernel", "stumps"),
    "kind": lambda w: w.choose("weak", "strong"),
    "auc_interval.method": lambda w: w.choose("score", "newcombe", "delong"),
    "kemeny.method": lambda w: w.choose("auto", "exact", "local"),
    "order.method": lambda w: w.choose("quicksort", "degree"),
    "features": lambda w: w.choose("difference", lambda U, V: np.hstack([U - V, U])),
    "from_estimator.features": lambda w: [0],
    "feature": lambda w: w.d - 1,
    **dict.fromkeys(
        ["k", "min_keep", "max_keep", "budget", "max_voters"], lambda w: w.choose(1, 2)
    ),
    **dict.fromkeys(
        ["n_estimators", "n_pairs", "max_calls", "max_pairs"], lambda w: w.choose(1, 9)
    ),
    **dict.fromkeys(["max_iter", "max_passes"], lambda w: w.choose(1, 50)),
    "max_bins": lambda w: w.choose(2, 200),
    "time_limit": lambda w: 1.0,
    "grid_resolution": lambda w: w.choose(2, 9),
    "random_state": lambda w: int(w.random.integers(99)),
    "n_jobs": lambda w: w.choose(None, 1),
    **dict.fromkeys(["ax", "axes"], lambda w: None),
    "estimator": World.ranker,
    "neg_mean_rank_loss_scorer.estimator": World.ordinal,
    "ProjectionDisplay.from_estimator.estimator": World.ordinal,
    "DecisionRegionDisplay.from_estimator.estimator": lambda w: PRank().fit(
        w.real(w.n, 2), w.grades()
    ),
    "DecisionRegionDisplay.from_estimator.X": lambda w: w.real(w.n, 2),
    "FeatureScoreDisplay.from_estimator.estimator": lambda w: RankBoost(5).fit(
        w.real(w.n, w.d), w.grades()
    ),
    "leave_pair_out.estimator": lambda w: w.choose(MPRank(), RankSVM(max_iter=20), Ridge()),
    "progressive_validation.estimator": lambda w: PRank(),
    "PreferenceRanker.estimator": lambda w: LogisticRegression(),
    "merge.other": lambda w: MPRank().partial_fit(w.real(w.n, w.d), w.grades()),
    "ProgressiveResult.regret.self": lambda w: progressive_validation(
        PRank(), w.real(w.n, w.d), w.grades()
    ),
    "comparator": World.ordinal,
    "estimators": lambda w: w.choose([PRank()], {"a": PRank()}),
    "streams": lambda w: [(w.real(w.n, w.d), w.grades()) for _ in range(2)],
    "ROCDisplay.y_true": _two_ranks,
    "ROCDisplay.from_estimator.y": _two_ranks,
    "ROCDisplay.scores": lambda w: {"a": w.real(w.n), "b": w.real(w.n)},
    "FeatureScoreDisplay.scores": lambda w: {
        "a": RankBoost(5).fit(w.real(w.n, 1), w.grades()).feature_score(0)
    },
    "missing": lambda w: ["a"],
    "curves": lambda w: {"a": w.real(2, w.n)},
    "predictions": lambda w: {"a": w.grades()},
    **dict.fromkeys(["x1", "x2"], lambda w: np.array([0.0, 1.0, 2.0])),
    "regions": lambda w: w.random.integers(1, 4, (3, 3)),
    "DecisionRegionDisplay.X": lambda w: w.real(w.n, 2),
    "dataset_info.name": lambda w: "ml-1m",
    "load_ordinal.name": lambda w: w.choose("diabetes", "esl"),
    "read_book_crossing.path": lambda w: w.file(
        '"User-ID";"ISBN";"Book-Rating"\r\n"7";"1";"5"\r\n', "BX-Book-Ratings.csv"
    ),
    "read_jester.path": lambda w: w.file("2,-7.82,99,4.17\n3,0.5,-10,10\n", "jester.csv"),
    "read_letor.path": lambda w: w.file("2 qid:1 1:0.5 3:1 # a\n0 qid:1 2:.25\n", "letor.txt"),
    "read_movielens.path": lambda w: w.file("1::7::5::978\n1::8::4::979\n", "ratings.dat"),
    "read_ratings.path": lambda w: w.file("7,b,3.5\n7,c,1\n", "ratings.csv"),
    "columns": lambda w: ["item", "user", "rating"],
    "separator": lambda w: ",",
    "scale": lambda w: (0, 5),
    "read_ordinal.path": lambda w: w.file("response,acid\n3,7.4\n5,1.2\n", "ordinal.csv"),
    "read_preflib.path": lambda w: w.file(
        "# DATA TYPE: soc\n# NUMBER ALTERNATIVES: 2\n# ALTERNATIVE NAME 1: a\n"
        "# ALTERNATIVE NAME 2: b\n3: 1,2\n2: 2,1\n",
        "x.soc",
    ),
    "read_cystic_fibrosis.path": _cystic_fibrosis,
    "on_bad_rows": lambda w: w.choose("raise", "skip"),
    "encoding": lambda w: "utf-8",
    "read_ordinal.target": lambda w: "acid",
    "n_features": lambda w: 3,
    # No download: nobody answers at this address.
    "data_home": lambda w: w.folder / "home",
    "url": lambda w: "http://127.0.0.1:9/x.zip",
    "timeout": lambda w: 1.0,
}


def good(name, default, constraints, w):
    """Return a good value for the parameter ``name``, written a.b.c, or fail with KeyError."""
    parts = name.split(".")
    for start in range(len(parts)):
        if make := GOOD.get(".".join(parts[start:])):
            return make(w)
    options = [c for c in constraints if isinstance(c, StrOptions)]
    if options and w.random.random() < 0.8:
        return w.choose(*sorted(options[0].options))
    ranges = [c for c in constraints if isinstance(c, Interval)]
    if ranges and default is not REQUIRED and not isinstance(default, (int, float)):
        return max(2, ranges[0].left or 0)
    if isinstance(default, bool):
        return w.choose(True, False)
    if isinstance(default, int):
        return default + w.choose(0, 1)
    if isinstance(default, float):
        return default * w.choose(1.0, 0.5)
    if default is REQUIRED:
        raise KeyError(f"the fuzz knows no argument for {name}: add one to GOOD")
    return default
