"""One model for each of many people."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from rankwise._core.arguments import shortened
from rankwise._core.sklearn_private import validate_parameter_constraints
from rankwise._core.threads import JOBS_CONSTRAINTS, Pool
from rankwise.recommend._table import RatingTable, check_features, check_table, varied_rows
from rankwise.recommend.baseline import Ints

Progress = Callable[[int, int], object]

# Models that a thread fits before the next are handed out: few are held at once, and seldom does a
# thread wait for the others.
_EACH = 8
# Models that a worker of a cluster fits before it sends them.
_TOGETHER = 64


def fit_many(
    table: RatingTable,
    estimator: Any,
    users: ArrayLike | None = None,
    *,
    raters: Any = None,
    missing: str = "median",
    center: str | None = None,
    item_features: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Any, Any]]:
    """Fit one model for each of many people, in parallel and in flat memory.

    Each is ``clone(estimator).fit(X, y)`` on the person's own problem, `RatingTable.problem_for`,
    or on given features of the items that the person rated.

    Parameters
    ----------
    table : RatingTable
        All threads read its ratings; none copies them.
    estimator : estimator
        Any with ``fit(X, y)``: `PRank`, `OAPRank`, `MPRank`, `SVRank`, `RankBoost`. It is not
        changed.
    users : list of ids, default=None
        The people; by default all who gave two different ratings at least.
    raters, missing, center
        As for `RatingTable.problem_for`.
    item_features : array-like of shape (n_items, n_features), default=None
        What the columns are instead of others' ratings, in the order of ``table.items``: factors
        of the items, for example. Then ``raters`` is None.
    n_jobs : int, default=None
        Threads. None is 1, unless `joblib.parallel_config` says otherwise; -1 are all cores.
    progress : callable, default=None
        ``progress(done, total)`` is called after each person, in the caller's thread.

    Yields
    ------
    user : id
    model : estimator
        Fitted, in the order of ``users``.

    Raises
    ------
    ValueError
        At the call: if a person is unknown or gave no two different ratings. An error of a fit
        comes with a note that names the person.

    Notes
    -----
    People are worked off some at a time, as the models are asked for: at most eight models for each
    thread are held, besides those that the caller keeps. ``dict(fit_many(...))`` keeps all. The
    models are the same for any ``n_jobs``, bit for bit, if the estimator's ``random_state`` is an
    integer; NumPy's linear algebra is kept to one thread meanwhile.

    Called inside ``joblib.parallel_config("dask")`` the models are fitted by the workers of that
    cluster, 64 at a time. The table is sent to each worker once, and the models come back.

    Examples
    --------
    >>> from rankwise.magnitude import MPRank
    >>> from rankwise.recommend import RatingTable, fit_many
    >>> table = RatingTable.from_arrays(
    ...     users=[1, 1, 1, 2, 2, 2, 3, 3],
    ...     items=["A", "B", "C", "A", "B", "D", "C", "D"],
    ...     ratings=[5, 3, 1, 4, 3, 2, 2, 2],
    ... )
    >>> for user, model in fit_many(table, MPRank()):
    ...     X, unseen = table.features_for(user)
    ...     print(user, dict(zip(unseen.tolist(), model.predict(X).round(2).tolist())))
    1 {'D': 1.77}
    2 {'C': 1.72}
    """
    check_table(table)
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise ValueError(f"estimator={shortened(estimator)} must be a model with fit: MPRank()")
    if progress is not None and not callable(progress):
        raise ValueError(f"progress={shortened(progress)} must be a function of done and total")
    validate_parameter_constraints({"n_jobs": JOBS_CONSTRAINTS}, {"n_jobs": n_jobs}, "fit_many")
    options: Any = {"raters": raters, "missing": missing, "center": center}
    people = table.users[_learnable(table, users)]
    table.features_for(people[:1].tolist()[0], table.items[:1], **options)  # raises if one is bad
    if item_features is not None:
        if raters is not None:
            raise ValueError(
                f"raters={shortened(raters)} and item_features are two kinds of columns: give one"
            )
        options = check_features(item_features, table)
    workers = None
    if type(get_active_backend()[0]).__module__ == "joblib._dask":
        workers = Parallel(n_jobs, return_as="generator", batch_size=1)
    return _models(table, estimator, people.tolist(), options, n_jobs, workers, progress)


def _learnable(table: RatingTable, users: ArrayLike | None) -> Ints:
    """Return the rows of the people to fit, each of them with two different ratings."""
    table._check_graded("fit_many")
    varied = varied_rows(table.matrix)
    if users is None:
        if not varied.any():
            raise ValueError("nobody in the table gave two different ratings: nothing to learn")
        return np.flatnonzero(varied)
    rows = table.user_index(users)
    if not len(rows):
        raise ValueError("users is empty: name somebody, or leave it out for all")
    if not varied[rows].all():
        bad = rows[~varied[rows]]
        raise ValueError(
            f"users holds {table._user_ids.show(bad[0])}, who gave no two different ratings "
            f"({len(bad)} such in all): leave them out"
        )
    return rows


def _models(
    table: RatingTable,
    estimator: Any,
    people: list[Any],
    options: Any,
    n_jobs: int | None,
    workers: Parallel | None,
    progress: Progress | None,
) -> Iterator[tuple[Any, Any]]:
    """Fit the models, some people at a time, by threads or by the workers of a cluster."""
    blas = ThreadpoolController()

    def fit_batch(batch: list[Any]) -> list[Any]:
        with blas.limit(limits=1):
            return pool.run(
                lambda t: _fit(table, estimator, batch[t], options), len(batch), work=np.inf
            )

    with Pool(n_jobs) as pool:
        size = _TOGETHER if workers is not None else _EACH * pool.n_threads
        batches = [people[first : first + size] for first in range(0, len(people), size)]
        if workers is not None:
            tasks = (delayed(_fit_some)(table, estimator, some, options) for some in batches)
            found = workers(tasks)
        else:
            found = map(fit_batch, batches)
        done = 0
        for batch in batches:
            models = next(found)[::-1]
            for user in batch:
                done += 1
                if progress is not None:
                    progress(done, len(people))
                yield user, models.pop()


def _fit(table: RatingTable, estimator: Any, user: Any, options: Any) -> Any:
    """Return the model of a person; ``options`` are features of the items, or of their raters."""
    try:
        if isinstance(options, dict):
            X, y, _ = table.problem_for(user, **options)
        else:
            row = int(table.user_index([user])[0])
            at = slice(table.matrix.indptr[row], table.matrix.indptr[row + 1])
            X, y = options[table.matrix.indices[at]], table.matrix.data[at]
        return clone(estimator).fit(X, y)
    except Exception as error:
        error.add_note(f"while a model of user {shortened(user)} was fitted")
        raise


def _fit_some(table: RatingTable, estimator: Any, users: list[Any], options: Any) -> list[Any]:
    """Return the models of some people."""
    with ThreadpoolController().limit(limits=1):
        return [_fit(table, estimator, user, options) for user in users]
