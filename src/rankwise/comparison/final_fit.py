"""Fit one method to all rows of a table."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from rankwise.comparison import trials
from rankwise.comparison._columns import as_frame
from rankwise.comparison._recognise import Task, recognise
from rankwise.comparison.methods import Method, choose_methods, methods_for, slug
from rankwise.comparison.problem import Problem, make_problem

if TYPE_CHECKING:
    from pandas import DataFrame


class Fitted(NamedTuple):
    """A model, the name of its method, the settings that were chosen, and what it learned from."""

    model: Any
    name: str
    settings: dict[str, Any]
    problem: Any


def fit(
    frame: "DataFrame",
    method: str | None = None,
    *,
    settings: dict[str, Any] | None = None,
    random_state: int = 0,
    **columns: Any,
) -> Any:
    """Fit one method to a table, as `compare` fits the one that it advises.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table.
    method : str, default=None
        Its name in `compare`, such as "rankboost-trees". By default MPRank, or TasteModel for
        ratings.
    settings : dict, default=None
        Parameters of the method. By default they are chosen by cross-validation.
    random_state : int, default=0
        Seed of the method and the cross-validation.
    **columns
        ``target`` and so on, as in `recognise`.

    Returns
    -------
    Pipeline or TasteModel
        A pipeline takes what `prepare_like` makes of a table.

    Examples
    --------
    >>> import rankwise
    >>> films = rankwise.datasets.load_films()
    >>> model = rankwise.comparison.fit(films, "ridge", target="liked", ignore=["title"])
    >>> model[-1]
    Ridge(random_state=0)
    """
    frame = as_frame(frame)
    return fit_task(frame, recognise(frame, **columns), method, settings, random_state).model


def fit_task(
    frame: "DataFrame",
    task: Task,
    method: str | None = None,
    settings: dict[str, Any] | None = None,
    seed: int = 0,
) -> Fitted:
    """Fit a method to a table whose task is known."""
    if task.kind == "contests":
        raise ValueError(contests_message(len(frame), task))
    if task.kind == "ratings":
        from rankwise.comparison._ratings import ratings_of  # noqa: PLC0415
        from rankwise.recommend import TasteModel  # noqa: PLC0415

        if method is not None and slug(method) != "tastemodel":
            raise ValueError(f"the method {method!r} is not for ratings: choose TasteModel")
        ratings = ratings_of(frame, task)[0]
        return Fitted(TasteModel().fit(ratings), "TasteModel", {}, ratings)
    problem = make_problem(frame, task)
    able = [one for one in methods_for(problem) if one.kept]
    chosen = choose_methods(able, [method or "MPRank"])[0]
    if settings is None:
        settings = trials.choose(chosen, problem, problem.measures[0], seed)
    return Fitted(fit_final(chosen, problem, settings, seed), chosen.name, settings, problem)


def fit_final(method: Method, problem: Problem, setting: dict[str, Any], seed: int) -> Pipeline:
    """Fit a method to all rows; a model of grades predicts them as the table has them."""
    labels = problem.labels
    if labels is None or not problem.graded:
        return trials.fit(method, problem, setting, seed)
    if isinstance(labels[0], str) or any(label != int(label) for label in labels):
        setting = {**setting, "label_order": labels}
    return trials.fit(method, problem, setting, seed, np.array(labels)[problem.y.astype(int) - 1])


def contests_message(n: int, task: Task) -> str:
    """Return why contests are not compared, and what to do with them."""
    return (
        f"these {n:,} rows are contests ({task.why}): fit rankwise.contests.BradleyTerry to the "
        "result of contests_of; to rank rows by a number, name the column as target"
    )
