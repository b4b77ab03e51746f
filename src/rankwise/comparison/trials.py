"""Cross-validate one method: choose its setting inside each fold, fit, predict, measure, time."""

import warnings
from dataclasses import dataclass, field, replace
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from rankwise._core.terminal import sentence
from rankwise.comparison._columns import make_transformer
from rankwise.comparison.measures import DIFFERENCE, Answers, Measure
from rankwise.comparison.methods import Method, method_named
from rankwise.comparison.problem import Fold, Problem, make_folds

_WARM_ROWS = 60
# Up to so many rows a setting is chosen by three folds, beyond by one split.
_FEW_ROWS = 1000


@dataclass
class Trials:
    """The results of a method.

    Attributes
    ----------
    name : str
        The method.
    values : ndarray of shape (n_folds, n_measures)
        Its measures on each fold.
    fit_seconds, predict_seconds : ndarray of shape (n_folds,)
        Wall time of the estimator, once everything is compiled and the columns are prepared.
    settings : list of dict
        What was chosen in each fold.
    scores, ranks : ndarray of shape (n,)
        Predictions out of fold, of the first pass over the rows; ranks nan without grades. Rows
        that are in no test set are nan.
    shares : ndarray of shape (n, k)
        Probabilities of the grades out of fold, nan where there are none.
    failure : str
        The reason why values are missing, else empty.
    """

    name: str
    values: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    fit_seconds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    predict_seconds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    settings: list[dict[str, Any]] = field(default_factory=list)
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    ranks: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    shares: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    failure: str = ""


def run(name: str, problem: Problem, folds: list[Fold], seed: int) -> Trials:
    """Return the trials of a method, which is called by its name; if it fails, why."""
    try:
        # one thread each: seconds can be compared, and small fits do not wait for each other
        fast = config_context(assume_finite=True, skip_parameter_validation=True)
        with warnings.catch_warnings(), threadpool_limits(1), fast:
            # a method that warns on one fold of many has its say in its measures
            warnings.simplefilter("ignore")
            return _run(method_named(name, problem), problem, folds, seed)
    # whatever a method stumbles over is a row of the table, not the end of the comparison
    except Exception as error:
        return Trials(name, failure=f"{type(error).__name__}: {sentence(error)[:200]}")


def _run(method: Method, problem: Problem, folds: list[Fold], seed: int) -> Trials:
    measures = problem.measures
    _warm_up(method, problem, seed)
    values, fitting, predicting, settings = [], [], [], []
    scores, ranks = np.full((2, len(problem.y)), np.nan)
    shares = np.full((len(problem.y), len(problem.labels or ())), np.nan)
    for train, test in folds:
        learned, held, X, X_held = problem.split(train, test)
        chosen = choose(method, learned, measures[0], seed)
        begun = perf_counter()
        model = _fit_model(method, X, learned, chosen, seed)
        fitted = perf_counter()
        answers = _answer(model, X_held, held)
        predicting.append(perf_counter() - fitted)
        fitting.append(fitted - begun)
        settings.append(chosen)
        values.append(
            [
                measure.of(held.y, answers, held.qid)
                if method.on_scale or measure is not DIFFERENCE
                else np.nan
                for measure in measures
            ]
        )
        if np.isnan(scores[test]).all():
            scores[test] = answers.scores
            ranks[test] = np.nan if answers.ranks is None else answers.ranks
            if answers.shares is not None:
                shares[test] = answers.shares
    return Trials(
        method.name,
        np.array(values),
        np.array(fitting),
        np.array(predicting),
        settings,
        scores,
        ranks,
        shares,
    )


def _warm_up(method: Method, problem: Problem, seed: int) -> None:
    """Fit a few rows, so that compiling is not counted as fitting."""
    few = problem.sample(_WARM_ROWS, seed)
    if len(np.unique(few.y)) > 1:
        answer(fit(method, few, method.settings[0], seed), few)


def choose(method: Method, problem: Problem, measure: Measure, seed: int) -> dict[str, Any]:
    """Return the setting that does best on rows that are left out of the given ones."""
    single = problem.binary and min(np.sum(problem.y == 1), np.sum(problem.y == 2)) < 2
    if len(method.settings) == 1 or single:
        return method.settings[0]
    if problem.times is not None:  # earlier rows are all that is learned from here
        problem = replace(problem, times=None)
    folds = make_folds(problem, 3, 1, seed)
    splits = [problem.split(*fold) for fold in folds[: 3 if len(problem.y) <= _FEW_ROWS else 1]]

    def worth(setting: dict[str, Any]) -> float:
        values = []
        for learned, held, X, X_held in splits:
            model = _fit_model(method, X, learned, setting, seed)
            values.append(measure.of(held.y, _answer(model, X_held, held), held.qid))
        return measure.signed(float(np.mean(values)))

    return max(method.settings, key=worth)


def fit(
    method: Method, problem: Problem, setting: dict[str, Any], seed: int, target: Any = None
) -> Pipeline:
    """Return a pipeline that is fitted to a problem: its columns, then the model.

    The target is that of the problem, if no other is given.
    """
    columns = make_transformer(problem.columns).fit(problem.rows)
    model = _fit_model(method, columns.transform(problem.rows), problem, setting, seed, target)
    return Pipeline([("columns", columns), ("model", model)])


def _fit_model(
    method: Method,
    X: Any,
    problem: Problem,
    setting: dict[str, Any],
    seed: int,
    target: Any = None,
) -> Any:
    model = method.build(problem).set_params(**setting)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    lists = {}
    if problem.qid is not None and "qid" in signature(model.fit).parameters:
        lists["qid"] = problem.qid
    return model.fit(X, problem.y if target is None else target, **lists)


def answer(model: Pipeline, problem: Problem) -> Answers:
    """Return the predictions of a fitted pipeline for the rows of a problem.

    A model of grades says which, and how probable each is if it has ``predict_proba``; the score of
    any other is rounded to a rank.
    """
    return _answer(model[-1], model[:-1].transform(problem.rows), problem)


def _answer(model: Any, X: Any, problem: Problem) -> Answers:
    said = np.asarray(model.predict(X), float)
    if not problem.graded:
        return Answers(said, None)
    n_ranks = len(problem.labels or ())
    if not hasattr(model, "classes_"):
        return Answers(said, np.clip(np.rint(said), 1, n_ranks))
    scores, shares = project(model, X), None
    if hasattr(model, "predict_proba"):
        shares = np.zeros((len(said), n_ranks))
        shares[:, model.classes_.astype(int) - 1] = model.predict_proba(X)
        scores = shares @ np.arange(1.0, n_ranks + 1) if scores is None else scores
    return Answers(said if scores is None else scores, said, shares)


def project(model: Any, rows: Any) -> NDArray[np.float64] | None:
    """Return the projections of rows by a model or a pipeline, a number for each row.

    None if the model has no such line: no ``project``, or a score for each grade.
    """
    if isinstance(model, Pipeline):
        if len(model) > 1 and hasattr(model[-1], "project"):
            rows = model[:-1].transform(rows)
        model = model[-1]
    if not hasattr(model, "project"):
        return None
    found = np.asarray(model.project(rows), np.float64)
    return found if found.ndim == 1 else None
