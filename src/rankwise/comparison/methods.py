"""The methods that are compared, from the simplest to the most complex.

To add one, add a line to `METHODS`. ``build`` gets the problem and returns an unfitted estimator
whose ``predict`` gives scores, or grades if it has ``classes_``; each of ``settings`` is tried
inside the folds. A score becomes grades within a `ThresholdRanker`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from rankwise._core.arguments import did_you_mean
from rankwise._core.ordinal import OrdinalMixin
from rankwise.boosting import RankBoost
from rankwise.comparison.problem import Problem
from rankwise.magnitude import MPRank, MPRankCV, SVRank
from rankwise.metrics import pairwise_misranking_loss
from rankwise.ordinal import OAPRank, PRank, ThresholdRanker
from rankwise.pairwise import RankSVM

# Forms of problems.
GRADES, LISTS, SIZES, SIZED_LISTS = "grades", "lists", "sizes", "sized lists"
_ALL = (GRADES, LISTS, SIZES, SIZED_LISTS)
_KERNEL_ROWS = 3000
_CS = ({"C": 1.0}, {"C": 10.0}, {"C": 100.0}, {"C": 1000.0})

# What methods lost as a multiple of the best, the mean logarithm over 17 tables of grades with 100
# to 500 rows to learn from (``python -m benchmarks priors``). With a method that has no number here
# the folds alone decide.
_USUAL = {
    "constant": 0.95,
    "best column": 0.60,
    "ridge": 0.15,
    "logistic regression": 0.19,
    "MPRank": 0.16,
    "PRank": 0.16,
    "OAPRank": 0.23,
    "thresholds, landmarks": 0.09,
    "PRank, polynomial": 0.07,
    "PRank, Gaussian": 0.11,
    "thresholds, Gaussian": 0.14,
    "HistGradientBoosting": 0.24,
    "thresholds, trees": 0.19,
}

_TREES: dict[str, Any] = {"max_leaf_nodes": 16}


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes
    ----------
    name, about : str
        What it is called, and what it does.
    build : callable
        From the problem to an unfitted estimator; a seed is set if it takes one.
    forms : tuple of str
        The forms of problems that it is for.
    settings : tuple of dict
        Parameters to choose from, the plainest first.
    baseline : bool
        Whether it is not one of ours.
    kept : bool
        Whether its models can be saved.
    most_rows : int or None
        The rows that it can learn from in good time; half as many if it has to be quick.
    needs : str
        A package that must be there.
    on_scale : bool
        Whether scores are on the scale of the target, so that their differences mean something.
    """

    name: str
    about: str
    build: Callable[[Problem], Any]
    forms: tuple[str, ...] = _ALL
    settings: tuple[dict[str, Any], ...] = ({},)
    baseline: bool = False
    kept: bool = True
    most_rows: int | None = None
    needs: str = ""
    on_scale: bool = True

    @property
    def usual(self) -> float | None:
        """The log of its usual loss on tables of grades, as a multiple of the best, if known."""
        return _USUAL.get(self.name)

    @property
    def slug(self) -> str:
        """The name to type in a command."""
        return slug(self.name)


def slug(name: str) -> str:
    """Return a name in lower case, its words joined by hyphens.

    Examples
    --------
    >>> from rankwise.comparison.methods import slug
    >>> slug("PRank, Gaussian")
    'prank-gaussian'
    """
    return "-".join(re.findall(r"[a-z0-9]+", name.lower()))


def form_of(problem: Problem) -> str:
    """Return what a problem is, in a word."""
    if problem.kind == "grades":
        return GRADES if problem.qid is None else LISTS
    return SIZES if problem.qid is None else SIZED_LISTS


def _grid(**values: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


Floats = NDArray[np.float64]


class BestColumn(RegressorMixin, BaseEstimator):
    """The one column that orders best, up or down, brought to the scale of the targets."""

    def fit(self, X: Any, y: Floats, qid: Any = None) -> Self:
        """Choose the column and its direction by the pairs, then a line to the scale of y."""
        right = [1.0 - pairwise_misranking_loss(y, column, qid=qid, ties="half") for column in X.T]
        self.column_ = int(np.argmax(np.abs(np.array(right) - 0.5)))
        values = X[:, self.column_]
        spread = float(np.var(values))
        slope = float(np.cov(values, y, bias=True)[0, 1]) / spread if spread else 0.0
        up = right[self.column_] >= 0.5
        if (slope > 0) != up or not slope:  # the order decides, not the line
            slope = 1e-9 if up else -1e-9
        self.slope_, self.level_ = slope, float(y.mean()) - slope * float(values.mean())
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any) -> Floats:
        """Return the line through the column."""
        return self.level_ + self.slope_ * X[:, self.column_]


class GradeProbabilities(OrdinalMixin, BaseEstimator):
    """Multinomial logistic regression: the median of the probable grades, and their mean."""

    def __init__(self, C: float = 1.0, *, label_order: Any = None) -> None:
        self.C = C
        self.label_order = label_order

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the probabilities of the grades."""
        self.classes_, ranks = self._check_labels(y, find=True)
        self.model_ = LogisticRegression(C=self.C, max_iter=2000).fit(X, ranks)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each grade; a grade that no row had is 0."""
        shares = np.zeros((len(X), len(self.classes_)))
        shares[:, self.model_.classes_] = self.model_.predict_proba(X)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the grade that is reached with probability one half."""
        below = np.cumsum(self.predict_proba(X), axis=1)
        return self.classes_[np.argmax(below >= 0.5 - 1e-12, axis=1)]

    def project(self, X: Any) -> Floats:
        """Return the mean rank."""
        return self.predict_proba(X) @ np.arange(1.0, len(self.classes_) + 1)


class LightGBMRanker(RegressorMixin, BaseEstimator):
    """LightGBM's lambdarank, with rows in any order."""

    def __init__(self, n_estimators: int = 100, num_leaves: int = 15) -> None:
        self.n_estimators = n_estimators
        self.num_leaves = num_leaves

    def fit(self, X: Any, y: Floats, qid: Any) -> Self:
        """Sort the rows by their lists and learn."""
        from lightgbm import LGBMRanker  # noqa: PLC0415

        order = np.argsort(qid, kind="stable")
        sizes = np.unique(qid, return_counts=True)[1]
        self.model_ = LGBMRanker(
            n_estimators=self.n_estimators, num_leaves=self.num_leaves, verbose=-1, n_jobs=1
        ).fit(X[order], np.unique(y, return_inverse=True)[1][order], group=sizes)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the scores."""
        return np.asarray(self.model_.predict(X), float)


def _cut(score: Any, cv: int | None = 3) -> Callable[[Problem], Any]:
    """Return a builder of a score, cut into grades where grades are predicted."""
    return lambda problem: ThresholdRanker(clone(score), cv=cv) if problem.graded else clone(score)


def _hist_gradient_boosting(problem: Problem) -> Any:
    return HistGradientBoostingClassifier() if problem.binary else HistGradientBoostingRegressor()


_ALPHAS = (1.0, 10.0, 100.0)
METHODS = (
    Method(
        "constant",
        "the same prediction for every row",
        _cut(DummyRegressor(strategy="median"), cv=None),
        baseline=True,
    ),
    Method("best column", "the one column that orders best", _cut(BestColumn()), baseline=True),
    Method(
        "ridge",
        "linear regression, cut into grades",
        _cut(Ridge()),
        (GRADES,),
        _grid(estimator__alpha=_ALPHAS),
        baseline=True,
    ),
    Method(
        "ridge", "linear regression", _cut(Ridge()), _ALL[1:], _grid(alpha=_ALPHAS), baseline=True
    ),
    Method(
        "logistic regression",
        "multinomial; the median of the probable grades",
        lambda _: GradeProbabilities(),
        (GRADES,),
        _grid(C=(0.1, 1.0, 10.0)),
        baseline=True,
    ),
    Method("MPRank", "linear, keeps the size of differences", _cut(MPRankCV())),
    Method(
        "PRank",
        "online and linear; the mean of all rankers on the way",
        lambda _: PRank(vote="averaged", epochs=10, shuffle=True),
        (GRADES,),
    ),
    Method("SVRank", "linear, as MPRank but robust to outliers", lambda _: SVRank(), (SIZES,), _CS),
    Method(
        "RankSVM", "linear, puts pairs in order", lambda _: RankSVM(), _ALL[1:], _CS, on_scale=False
    ),
    Method(
        "OAPRank",
        "online and linear; the average of 100 PRanks",
        lambda _: OAPRank(epochs=10, shuffle=True),
        (GRADES,),
    ),
    Method(
        "thresholds, landmarks",
        "a smooth score of landmarks, cut into grades",
        lambda _: ThresholdRanker(),
        (GRADES,),
    ),
    Method(
        "PRank, polynomial",
        "as PRank, with products of two columns",
        lambda _: PRank(vote="averaged", epochs=10, shuffle=True, kernel="poly", degree=2),
        (GRADES,),
        most_rows=10_000,
    ),
    Method(
        "PRank, Gaussian",
        "online, in passive-aggressive steps; smooth",
        lambda _: PRank(update="pa", kernel="rbf"),
        (GRADES,),
        most_rows=10_000,
    ),
    Method(
        "MPRank, Gaussian",
        "smooth, keeps the size of differences",
        lambda p: MPRankCV(kernel="rbf", gammas=[0.1 / n_inputs(p), 1.0 / n_inputs(p)]),
        _ALL[1:],
        most_rows=_KERNEL_ROWS,
    ),
    Method(
        "thresholds, Gaussian",
        "MPRank's smooth score, cut into grades",
        lambda _: ThresholdRanker(MPRank(kernel="rbf"), cv=3),
        (GRADES,),
        _grid(estimator__C=(30.0, 300.0, 3000.0)),
        most_rows=_KERNEL_ROWS,
    ),
    Method(
        "HistGradientBoosting",
        "scikit-learn's trees",
        _hist_gradient_boosting,
        settings=({"learning_rate": 0.05, "max_leaf_nodes": 7}, {}),
        baseline=True,
        kept=False,
    ),
    Method(
        "LightGBM",
        "its lambdarank, by queries",
        lambda _: LightGBMRanker(),
        (LISTS,),
        _grid(num_leaves=(15, 31)),
        baseline=True,
        kept=False,
        needs="lightgbm",
    ),
    Method(
        "RankBoost",
        "puts pairs in order, by cuts of columns",
        lambda _: RankBoost(),
        _ALL[1:],
        _grid(n_estimators=(100, 300)),
        on_scale=False,
    ),
    Method(
        "RankBoost, trees",
        "puts pairs in order, by trees",
        lambda _: RankBoost(**_TREES),
        _ALL[1:],
        _grid(loss=("magnitude", "exponential")),
        on_scale=False,
    ),
    Method(
        "thresholds, trees",
        "RankBoost's trees, cut into grades",
        lambda _: ThresholdRanker(RankBoost(**_TREES), cv=3),
        (GRADES,),
    ),
)


def n_inputs(problem: Problem) -> int:
    """Return about how many columns methods see: categories count as their values."""
    return len(problem.rows.columns) + sum(
        problem.rows[name].nunique() - 1 for name in problem.columns.categories
    )


def method_named(name: str, problem: Problem) -> Method:
    """Return the method of a name for a problem."""
    return next(m for m in METHODS if m.name == name and form_of(problem) in m.forms)


def methods_for(problem: Problem, n: int | None = None, *, quick: bool = False) -> list[Method]:
    """Return the methods that fit a problem, a model of n rows, and this installation."""
    n = n or len(problem.y)
    chosen = []
    for method in METHODS:
        most = method.most_rows
        if quick and most is not None:
            most //= 2
        fits = form_of(problem) in method.forms and (most is None or n <= most)
        if fits and (not method.needs or find_spec(method.needs) is not None):
            chosen.append(method)
    return chosen


def choose_methods(fitting: list[Method], names: Sequence[str] | None) -> list[Method]:
    """Return the methods with these names; all if there are none."""
    if names is None:
        return fitting
    known = [method.slug for method in fitting]
    for name in names:
        if slug(name) not in known:
            fits = slug(name) in [method.slug for method in METHODS]
            why = "does not fit this table" if fits else "is not known"
            near = "" if fits else did_you_mean(slug(name), known)
            raise ValueError(f"the method {name!r} {why}; these fit: {', '.join(known)}{near}")
    wanted = [slug(name) for name in names]
    return [method for method in fitting if method.slug in wanted]
