"""Good arguments for the fuzz, by the name of the parameter."""

import asyncio
import tempfile
from functools import cache
from inspect import Parameter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils._param_validation import Interval, StrOptions

from rankwise import save
from rankwise.boosting import RankBoost
from rankwise.bounds import Bound
from rankwise.contests import BradleyTerry
from rankwise.io import read_table
from rankwise.magnitude import MPRank
from rankwise.metrics.lists import LIST_MEASURES
from rankwise.model_selection import progressive_validation
from rankwise.ordinal import PRank
from rankwise.pairwise import RankSVM
from rankwise.recommend import RatingTable, TasteModel
from rankwise.reports import Report, Table
from rankwise.testing.strategies import draw_rankings

REQUIRED = Parameter.empty


class World:
    """One case: its random numbers, and the sizes that its arguments share.

    A third of the worlds is hard: one to six rows, ties, constant columns and duplicated rows,
    numbers far from 0 and of any scale, weights of 0 and of any size.
    """

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.hard = self.random.random() < 1 / 3
        sizes = [(1, 7), (1, 4), (1, 5)] if self.hard else [(4, 13), (1, 4), (2, 6)]
        self.n, self.d, self.k = (int(self.random.integers(*r)) for r in sizes)
        self.folder = Path(tempfile.gettempdir()) / "rankwise-fuzz"
        self.folder.mkdir(exist_ok=True)

    def choose(self, *values):
        return values[self.random.integers(len(values))]

    def real(self, *shape):
        """Return numbers, in a hard world few different ones with an offset and a scale."""
        if not self.hard:
            return self.random.normal(size=shape).round(2)
        values = self.random.integers(-1, 3, shape).astype(np.float64)
        if self.random.random() < 0.5:
            values += self.random.normal(size=shape)
        if self.random.random() < 0.3:
            values = values[self.random.integers(0, len(values), len(values))]
        if self.random.random() < 0.3 and len(shape) == 2:
            values[:, 0] = self.choose(0.0, 1.0, -3.5)
        if self.random.random() < 0.3:
            values += self.choose(-1, 1) * 10.0 ** self.random.integers(6, 13)
        if self.random.random() < 0.3:
            values *= 10.0 ** self.random.integers(-150, 151)
        return values

    def grades(self):
        y = self.random.integers(1, 4, self.n)
        if not self.hard:
            y[:3] = [1, 3, 2]
        return y

    def weights(self, n):
        if not self.hard:
            return self.random.integers(1, 4, n) / 2
        values = self.random.integers(0, 3, n).astype(np.float64)
        return values * 10.0 ** (self.random.integers(-300, 301, n) * self.choose(0, 1))

    def sample(self, d=None):
        """Return rows and grades that every model can learn from."""
        X = self.random.normal(size=(12, d or self.d)).round(2)
        return X, np.append([1, 3, 2], self.random.integers(1, 4, 9))

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
        return PRank().fit(*self.sample())

    def ranker(self):
        model = self.choose(MPRank(), RankSVM(max_iter=20), RankBoost(5))
        return model.fit(*self.sample())

    def duels(self):
        """Six items that all have won and lost, judged by two."""
        first, second = np.divmod(np.arange(36), 6)
        met = first != second
        outcome = self.random.integers(0, 3, 30) / 2
        outcome[:4] = [0, 1, 0.5, 0.5]
        return BradleyTerry().fit(first[met], second[met], outcome, rater=np.arange(30) % 2)

    def saved(self):
        path = self.folder / "saved"
        save(self.choose(self.ordinal(), self.ranker()), path)
        return path

    def table(self):
        """Six people and five items; the first people rate all of them."""
        user, item = np.divmod(np.arange(30), 5)
        kept = (user < 4) | (self.random.random(30) < 0.5)
        ratings = self.random.integers(1, 6, 30)
        ratings[:5] = [1, 2, 3, 4, 5]
        given = user[kept], item[kept], ratings[kept]
        table = RatingTable.from_arrays(*given, times=np.arange(30)[kept])
        # what a table computes when it is first asked for is no change
        for missing in ("mean", "median"):
            table.features_for(table.users[0], table.items / 1.0, missing=missing)
        return table

    def tiny_table(self):
        """One to six ratings by up to three users of up to three items, on any scale."""
        place = self.random.permutation(9)[: self.n]
        ratings = self.random.integers(1, 6, len(place)) + self.choose(0.0, 0.0, 1e7)
        scale = self.choose(1.0, 1.0, 10.0 ** self.random.integers(-100, 91))
        return RatingTable.from_arrays(place // 3, place % 3, scale * ratings)

    def person(self):
        """A live person who has said something."""
        return taste_model().person().rate("a", 4).rate("b", 2).prefer("c", "d")

    def weight_of_places(self):
        kinds = ("top", 1), ("bipartite", 1), ("partite", [1, 2]), lambda i, j: 1.0
        return self.choose("kemeny", *kinds)


@cache
def taste_model():
    """A model of six people and five items, the same for all cases."""
    user, item = np.divmod(np.arange(30), 5)
    ratings = np.random.default_rng(0).integers(1, 6, 30)
    names = np.array(list("abcde"), dtype=object)[item]
    return TasteModel(noise=1.0).fit(RatingTable.from_arrays(user, names, ratings))


def by_mean(u, v):
    u, v = (np.clip(np.asarray(each, float), -1e300, 1e300).sum() for each in (u, v))
    return 0.5 + 0.5 * np.tanh(u - v)


async def by_mean_later(u, v):
    await asyncio.sleep(0)
    return by_mean(u, v)


def surely(u, v):
    """Never close to 1/2: whoever asks until it is sure would ask for very long."""
    return float(by_mean(u, v) > 0.5)


async def surely_later(u, v):
    await asyncio.sleep(0)
    return surely(u, v)


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
    **dict.fromkeys(
        [
            f"{measure}_{kind}.y_true"
            for measure in ("precision_at_top", "positives_at_top", "partial_auc")
            for kind in ("score", "interval")
        ],
        _two_ranks,
    ),
    **dict.fromkeys(["tau", "max_fpr"], lambda w: w.choose(0.1, 0.7)),
    "positive": lambda w: None,
    "n_references": lambda w: w.choose(1, 9),
    "y_pred": World.grades,
    **dict.fromkeys(
        ["y_score", "y_score_1", "y_score_2", "scores", "projections", "values", "margins"],
        lambda w: w.real(w.n),
    ),
    "qid": lambda w: w.choose(np.repeat([5, 2], w.n)[: w.n], w.random.integers(0, 2, w.n)),
    "sample_weight": lambda w: w.weights(w.n),
    **dict.fromkeys(["labels", "classes", "label_order"], lambda w: [1, 2, 3]),
    **dict.fromkeys(["pairs", "other_pairs"], World.pairs),
    "fit_pairs.pair_weight": lambda w: w.weights(5),
    "pair_weight": lambda w: w.choose("uniform", "magnitude"),
    "position": lambda w: np.arange(1, w.n + 1),
    "clicked": lambda w: w.random.integers(0, 2, w.n),
    "pairs_from_clicks.qid": lambda w: None,
    "pairs_from_clicks.time": lambda w: None,
    "pairs_from_clicks.rule": lambda w: w.choose("skip-above", "skip-next", "skip-previous"),
    "pairs_from_clicks.pair_weight": lambda w: w.choose("uniform", "query"),
    "rankings": lambda w: draw_rankings(w.random, w.k, 4, ties=True, partial=False),
    "weights": lambda w: w.weights(4),
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
    "chain": lambda w: w.choose("MC1", "MC2", "MC3", "MC4"),
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
    "DecisionRegionDisplay.from_estimator.estimator": lambda w: PRank().fit(*w.sample(2)),
    "DecisionRegionDisplay.from_estimator.X": lambda w: w.real(w.n, 2),
    "FeatureScoreDisplay.from_estimator.estimator": lambda w: RankBoost(5).fit(*w.sample()),
    "leave_pair_out.estimator": lambda w: w.choose(MPRank(), RankSVM(max_iter=20), Ridge()),
    "progressive_validation.estimator": lambda w: PRank(),
    "PreferenceRanker.estimator": lambda w: LogisticRegression(),
    "merge.other": lambda w: MPRank().partial_fit(*w.sample()),
    "ProgressiveResult.regret.self": lambda w: progressive_validation(PRank(), *w.sample()),
    "comparator": World.ordinal,
    "estimators": lambda w: w.choose([PRank()], {"a": PRank()}),
    "streams": lambda w: [(w.real(w.n, w.d), w.grades()) for _ in range(2)],
    "ROCDisplay.y_true": _two_ranks,
    "ROCDisplay.from_estimator.y": _two_ranks,
    "ROCDisplay.scores": lambda w: {"a": w.real(w.n), "b": w.real(w.n)},
    "FeatureScoreDisplay.scores": lambda w: {"a": RankBoost(5).fit(*w.sample(1)).feature_score(0)},
    **dict.fromkeys(
        [
            f"RatingTable.{name}.self"
            for name in (
                "describe",
                "features_for",
                "item_index",
                "people",
                "problem_for",
                "split",
                "user_index",
            )
        ],
        World.table,
    ),
    "table": lambda w: w.tiny_table() if w.hard else w.table(),
    **dict.fromkeys(
        [
            f"TasteRanker.{name}.self"
            for name in ("rate", "forget", "prefer", "predict", "ranking", "explain", "suggest")
        ],
        World.person,
    ),
    **dict.fromkeys(["rate.item", "forget.item", "explain.item"], lambda w: w.choose("a", "b")),
    "rate.rating": lambda w: w.choose(1, 2.5, 5),
    **dict.fromkeys(
        [
            f"TasteModel.{name}.self"
            for name in ("evaluate", "partial_fit", "person", "predict", "score")
        ],
        lambda w: TasteModel(noise=1.0).fit(w.table()),
    ),
    "item_features": lambda w: w.choose(None, w.real(5, 2)),
    "TasteModel.predict.users": lambda w: [0, 3],
    "TasteModel.predict.items": lambda w: [4, 0],
    "TasteModel.person.user": lambda w: w.choose(None, 0, 3),
    "TasteModel.person.estimator": lambda w: w.choose(None, MPRank()),
    "TasteRanker.prefer.better": lambda w: w.choose("a", "c"),
    "TasteRanker.prefer.worse": lambda w: w.choose("b", "d"),
    "TasteRanker.predict.items": lambda w: w.choose(None, ["a", "e", "a"], []),
    "TasteRanker.ranking.k": lambda w: w.choose(None, 1, 9),
    "TasteRanker.ranking.by": lambda w: w.choose("rating", "choice"),
    "TasteRanker.suggest.n": lambda w: w.choose(1, 9),
    "TasteRanker.suggest.skip": lambda w: w.choose([], ["c"]),
    "from_arrays.users": lambda w: w.choose([1, 1, 2, 3], list("aabc"), np.array([4, 4, 2, 0])),
    "from_arrays.items": lambda w: w.choose([1, 2, 1, 2], list("xyxy"), np.array([7, 8, 8, 7])),
    "from_arrays.ratings": lambda w: w.choose(
        [1, 2, 3, 4], np.array([0.0, 5, 2.5, 2.5]), w.real(4)
    ),
    "from_arrays.times": lambda w: w.choose([1, 2, 3, 4], np.arange(4).astype("M8[s]")),
    "from_arrays.scale": lambda w: (0, 5),
    "duplicates": lambda w: w.choose("refuse", "last", "mean"),
    "nan": lambda w: w.choose("refuse", "drop"),
    "from_frame.frame": lambda w: w.choose(pd.DataFrame, pl.DataFrame)(
        {"user": [1, 1, 2], "item": ["x", "y", "x"], "rating": [3.0, 1.0, 5.0], "t": [1, 2, 3]}
    ),
    "from_frame.user": lambda w: "user",
    "from_frame.item": lambda w: "item",
    "from_frame.rating": lambda w: w.choose("rating", None),
    "from_frame.time": lambda w: w.choose("t", None),
    "RatingTable.item_index.items": lambda w: [4, 0, 4],
    "RatingTable.user_index.users": lambda w: [0, 3],
    "RatingTable.features_for.items": lambda w: w.choose(None, [0, 3]),
    **dict.fromkeys(["problem_for.user", "features_for.user"], lambda w: w.choose(0, 3)),
    "raters": lambda w: w.choose(None, 2, [1, 2, 0]),
    **dict.fromkeys(
        ["problem_for.missing", "features_for.missing"],
        lambda w: w.choose("median", "mean", "zero", "nan"),
    ),
    "center": lambda w: w.choose("scale", "user", None),
    "split.test_size": lambda w: w.choose(0.25, 1),
    "split.by": lambda w: w.choose("rating", "user", "time"),
    "people.start": lambda w: 1,
    "people.stop": lambda w: w.choose(3, 99),
    "fit_many.users": lambda w: w.choose(None, [0]),
    "fit_many.estimator": lambda w: w.choose(MPRank(), RankBoost(3)),
    "fit_many.missing": lambda w: w.choose("median", "mean", "zero"),
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
    **dict.fromkeys(
        ["read_table.path", "scan_table.path"],
        lambda w: w.file("grade;acid\n3;7,4\n5;1,2\n", "table.csv"),
    ),
    "read_eachmovie.path": lambda w: w.file(
        "1\t7\t.8\t1\t4/16/97 22:44:18\n2\t7\t0\t.5\t\n", "Vote.txt"
    ),
    "read_netflix.path": lambda w: w.file("1:\n1488844,3,2005-09-06\n", "combined_data_1.txt"),
    "read_ohsumed.path": lambda w: w.file("OHSU1\t87316316\t1\n", "qrels.ohsu.batch.87"),
    "write_table.frame": lambda w: pd.DataFrame({"a": w.real(2), "b": ["x", "y"]}),
    **dict.fromkeys(
        [f"{name}_scorer.sample_weight" for name in LIST_MEASURES],
        lambda w: None,
    ),
    "write_table.path": lambda w: w.folder / "written.csv",
    "describe.frame": lambda w: read_table(w.file("a,b\n1,2\n", "described.csv")),
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
    **dict.fromkeys(["first", "winner"], lambda w: w.random.integers(0, 3, w.n)),
    **dict.fromkeys(["second", "loser"], lambda w: w.random.integers(3, 6, w.n)),
    "outcome": lambda w: w.random.integers(0, 3, w.n) / 2,
    "covariates": lambda w: w.real(w.n, 1),
    "predict_proba.covariates": lambda w: None,
    "rater": lambda w: w.random.integers(0, 2, w.n),
    "BradleyTerry.ties": lambda w: w.choose("davidson", "rao-kupper", "half"),
    "fit_log.items": lambda w: list(range(w.k)),
    "fit_log.log": lambda w: [(0, 1, 1.0), (1, 0, 0.5)],
    **dict.fromkeys(
        [f"{name}.kind" for name in ("covariance", "interval", "rank_interval", "effect_interval")],
        lambda w: w.choose("sandwich", "model"),
    ),
    "prefer.u": lambda w: 0,
    "prefer.v": lambda w: 3,
    "to_csv.path": lambda w: w.folder / "strengths.csv",
    "PlackettLuce.fit.items": lambda w: None,
    "PlackettLuce.fit.sample_weight": lambda w: w.weights(4),
    "next_pairs.model": World.duels,
    **dict.fromkeys([f"{f}.goal" for f in ("next_pairs", "ask", "aask")], lambda w: "best"),
    **dict.fromkeys([f"{f}.k" for f in ("next_pairs", "ask", "aask")], lambda w: None),
    # Of two equal items nobody is ever sure which is better.
    **dict.fromkeys(["ask.items", "aask.items"], lambda w: list(range(w.k))),
    "ask.prefer": lambda w: surely,
    "aask.prefer": lambda w: surely_later,
    **dict.fromkeys(
        [
            f"{name}Display.from_estimator.estimator"
            for name in ("Strength", "WinMatrix", "Rater", "ContestCalibration")
        ],
        World.duels,
    ),
    **dict.fromkeys(
        [f"{name}Display.names" for name in ("Strength", "WinMatrix", "Rater")],
        lambda w: ["a", "b"],
    ),
    **dict.fromkeys(
        [f"{c}Display.{p}" for c in ("Strength", "Rater") for p in ("middle", "low", "high")],
        lambda w: [1.0, 2.0],
    ),
    **dict.fromkeys(
        [f"ContestCalibrationDisplay.{p}" for p in ("expected", "observed")],
        lambda w: [0.6, 0.8],
    ),
    "ContestCalibrationDisplay.n": lambda w: [4, 2],
    "StrengthDisplay.label": lambda w: "strength",
    "WinMatrixDisplay.shares": lambda w: [[np.nan, 0.2], [0.8, np.nan]],
    **dict.fromkeys([f"read_contests.{c}" for c in ("first", "second", "outcome")], lambda w: None),
    "read_contests.path": lambda w: w.file("left,right,winner\na,b,left\nb,a,tie\n", "duels.csv"),
    "save.model": lambda w: w.choose(
        w.ordinal(), w.ranker(), make_pipeline(MinMaxScaler(), PRank())
    ),
    "save.path": lambda w: w.folder / "model",
    "load.path": lambda w: w.saved(),
    "read_notes.path": lambda w: w.saved(),
    "export.model": World.ranker,
    "export.to": lambda w: w.choose("json", "python"),
    "export.name": lambda w: "films",
    "export.shift": lambda w: w.choose(0.0, 2.5),
    "max_bytes": lambda w: 2**30,
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
