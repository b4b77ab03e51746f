"""The door: a fit of rows in parts, by what the estimator is."""

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from traceback import clear_frames
from typing import Any, TypeVar

from rankwise._core.arguments import shortened
from rankwise.distributed._parts import Parts, as_parts

logger = logging.getLogger("rankwise.distributed")
Estimator = TypeVar("Estimator")

# Where a class is learned from parts: a module of this package with a function
# ``learn(estimator, parts)``, which sets what was learned on the estimator.
_LEARNERS = {
    "MPRank": "_mprank",
    "PRank": "_online",
    "WidrowHoff": "_online",
    "MulticlassPerceptron": "_online",
    "OAPRank": "_online",
    "RankSVM": "_support_vectors",
    "SVRank": "_support_vectors",
    "RankBoost": "_rankboost",
    "Pipeline": "_pipeline",
}


def learner_of(estimator: Any) -> Any:
    """Return what learns an estimator from parts.

    Raises
    ------
    TypeError
        If there is none for its class.
    """
    for each in type(estimator).__mro__:
        if each.__name__ in _LEARNERS and each.__module__.startswith(("rankwise.", "sklearn.")):
            module = import_module(f"rankwise.distributed.{_LEARNERS[each.__name__]}")
            return module.learn
    known = ", ".join(sorted(_LEARNERS))
    if isinstance(estimator, type):
        raise TypeError(f"estimator={estimator.__name__} is a class: give a model, MPRank()")
    raise TypeError(
        f"estimator={estimator!r} can't be fitted in parts; these can: {known}. Others fit in "
        "memory: estimator.fit(X.compute(), y.compute())"
    )


def _width(estimator: Any) -> int:
    """Return how many features the steps of a pipeline may make of a row, as far as they say."""
    steps = [step for _, step in getattr(estimator, "steps", ())]
    return max([int(getattr(step, "n_components", 0) or 0) for step in steps], default=0)


def fit_parts(estimator: Estimator, parts: Parts) -> Estimator:
    """Fit an estimator to parts; if that is refused, it is left as it was."""
    learn = learner_of(estimator)
    before = vars(estimator).copy()
    try:
        learn(estimator, parts)
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    return estimator


def fit(
    estimator: Estimator,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    columns: Sequence[str] | None = None,
    client: Any = None,
    memory_limit: int | str | None = None,
    progress: Callable[[str], object] | None = None,
) -> Estimator:
    """Fit an estimator to rows that lie on a Dask cluster or on disk, and return it.

    It becomes the ordinary fitted estimator, which predicts anywhere, and is what ``estimator.fit``
    makes of all rows at once:

    - `MPRank`, linear: sums that add up; equal to rounding. No row moves, also if queries are cut
      over parts in any order.
    - `RankSVM` and `SVRank`, linear: the same solver with the same certificate. In each of its
      steps a score and a slope of each row travel, 16 bytes; no row does, but for some thousand.
    - `PRank`, `WidrowHoff`, `MulticlassPerceptron`: sequential by nature. The model goes from part
      to part, bit for bit as over one stream; ``shuffle=False`` is asked for.
    - `OAPRank`: blocks of members follow each other through the parts, bit for bit the same.
    - A Pipeline whose last step is one of these, after StandardScaler (anything with
      ``partial_fit``), Nystroem, or what learns nothing from rows.

    The parts are the chunks of an array, the partitions of a frame, the delayed, the row groups of
    Parquet. They may be empty, and must be of one type. Rows on disk are read part by part, again
    in each pass, without Dask. What moves is logged once, to the logger ``rankwise.distributed``.
    If a worker is lost, what was on it is made again; an interrupt cancels what is under way.

    Parameters
    ----------
    estimator : estimator
        One of the above. A fit that is refused leaves it as it was.
    X : dask array or dataframe, list of delayed frames, path of Parquet, ndarray or memmap
        The rows. Chunks of an array may be of unknown size. A path is a Parquet file, or a folder
        of such, read in the order of their names.
    y, qid, sample_weight : collection cut like X, ndarray, or str
        A string names a column of X, which is then no feature; for Parquet all are such.
    columns : sequence of str, default=None
        The columns of a frame or of Parquet that are features; None: all that are not named above.
    client : distributed.Client, default=None
        The cluster. None: the current client, else Dask's local scheduler. With a client, Parquet
        is read by the workers.
    memory_limit : int or str, default=None
        What a fit from disk should stay within: bytes, or a text such as "4GB", the default. It
        decides how many rows are read at a time.
    progress : callable, default=None
        Called with a sentence on how far the fit is, such as "pass 3 over 80 parts, 41 done": for
        each part from disk, every second on a cluster, for each round of `RankBoost`. ``print``
        serves. What it raises ends the fit.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If a row can't be learned from, naming the part and the row; or if parts differ in type.
    TypeError
        If the estimator can't be fitted in parts.
    RuntimeError
        If the cluster has had no worker for 300 seconds, or for as long as Dask's setting
        ``distributed.scheduler.no-workers-timeout`` says on this side.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import distributed
    >>> from rankwise.magnitude import MPRank
    >>> X = np.random.default_rng(0).normal(size=(10_000, 3))
    >>> y = X @ [2.0, -1.0, 0.0]
    >>> distributed.fit(MPRank(C=1000), X, y, memory_limit="1GB").coef_[:2].round(2)
    array([ 2., -1.])
    """
    learner_of(estimator)
    if progress is not None and not callable(progress):
        raise ValueError(f"progress={shortened(progress)} must be a function of a sentence: print")
    if y is None:
        raise ValueError("y is missing: give the targets of the rows, or the name of their column")
    parts = as_parts(
        X,
        y,
        qid=qid,
        sample_weight=sample_weight,
        columns=columns,
        client=client,
        memory_limit=memory_limit,
        width=_width(estimator),
    )
    parts.progress = progress
    try:
        fit_parts(estimator, parts)
    except KeyboardInterrupt as interrupt:
        # its traceback may hold futures that were being made
        clear_frames(interrupt.__traceback__)
        raise
    finally:
        parts.close()
    moved = parts.traffic
    logger.info(
        "%s: %d parts, %d passes, %.3g MB sent to the parts, %.3g MB brought back",
        type(estimator).__name__,
        parts.n_parts,
        moved.passes,
        moved.sent / 1e6,
        moved.back / 1e6,
    )
    return estimator
