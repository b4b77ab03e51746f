"""Fit rows in partitions: a learner for each estimator, pipelines step by step."""

from collections.abc import Callable, Sequence
from importlib import import_module
from traceback import clear_frames
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from rankwise._core.arguments import shortened
from rankwise._core.inputs import unchanged_on_error
from rankwise.distributed._partition import Block, in_part
from rankwise.distributed._partitions import Partitions, as_partitions
from rankwise.distributed.connection import logger

Estimator = TypeVar("Estimator")

# Where a class is learned from partitions: a module of this package with a function
# ``learn(estimator, parts)``, which sets the learned attributes of the estimator.
_LEARNERS = {
    "MPRank": "_linear",
    "PRank": "_online",
    "WidrowHoff": "_online",
    "MulticlassPerceptron": "_online",
    "OAPRank": "_online",
    "RankSVM": "_linear",
    "SVRank": "_linear",
    "RankBoost": "_rankboost",
    "Pipeline": "_fit",
}
# What these learn does not depend on the rows, but on their width.
_BLIND = {"RBFSampler", "PolynomialFeatures", "PolynomialCountSketch", "SkewedChi2Sampler"}
_FEW = 10


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
    timeout: float | str | None = None,
    progress: Callable[[str], object] | None = None,
) -> Estimator:
    """Fit an estimator to rows that are on a Dask cluster or on disk, and return it.

    It becomes the ordinary fitted estimator, which predicts anywhere, and is the one that
    ``estimator.fit`` makes of all rows at once:

    - `MPRank`, linear: sums that add up; equal to rounding. No row moves, also if queries are cut
      over partitions in any order.
    - `RankSVM` and `SVRank`, linear: the same solver with the same certificate. In each of its
      steps a score and a slope of each row travel, 16 bytes; no row does, but for some thousand.
    - `PRank`, `WidrowHoff`, `MulticlassPerceptron`: sequential by nature. The model goes from
      partition to partition, bit for bit as over one stream with ``shuffle=False``.
    - `OAPRank`: blocks of members follow each other through the partitions, bit for bit the same.
    - `RankBoost`: rows become bins, a byte a value; histograms travel.
    - A Pipeline whose last step is one of these, after StandardScaler (anything with
      ``partial_fit``), Nystroem, or transformers that learn nothing from rows.

    Online models take the rows in the order of the partitions, in one pass unless ``epochs`` is an
    integer or "auto" with ``shuffle=False``; a warning says so where their parameters differ.

    The partitions are the chunks of an array, the partitions of a frame, the delayed, the row
    groups of Parquet. They may be empty, and must be of one type. Rows on disk are read block by
    block, again in each pass, without Dask. The bytes that move are logged once, to the logger
    ``rankwise.distributed``. If a worker is lost, Dask computes again what was on it; an interrupt
    releases what is under way.

    Parameters
    ----------
    estimator : estimator
        One of the above. If the fit raises, it is unchanged.
    X : dask array or dataframe, list of delayed frames, path of Parquet, ndarray or memmap
        The rows. Chunks of an array may be of unknown size. A path is a Parquet file, or a folder
        of such, read in the order of their names.
    y, qid, sample_weight : collection cut like X, ndarray, or str
        A string names a column of X, which is then not a feature; for Parquet all are such.
    columns : sequence of str, default=None
        The columns of a frame or of Parquet that are features; None: all that are not named above.
    client : distributed.Client, default=None
        The cluster. None: the current client, else Dask's local scheduler. With a client, Parquet
        is read by the workers.
    memory_limit : int or str, default=None
        Memory that a fit from disk should stay within: bytes, or a string such as "4GB", the
        default. It decides how many rows are read at a time.
    timeout : float or str, default=None
        Seconds that the cluster may be without workers, or a string such as "10 minutes". None:
        Dask's setting ``distributed.scheduler.no-workers-timeout`` of this process, else 60.
    progress : callable, default=None
        Called with a sentence on the progress of the fit, such as "pass 3 over 80 parts, 41 done":
        for each block from disk, every second on a cluster, for each round of `RankBoost`.
        ``print`` works. What it raises ends the fit.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If a row is invalid, naming the partition and the row; or if partitions differ in type.
    TypeError
        If the estimator can't be fitted in partitions.
    RuntimeError
        If the cluster has had no worker for ``timeout``.

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
    learn = learner_of(estimator)
    if progress is not None and not callable(progress):
        raise ValueError(f"progress={shortened(progress)} must be a function of a sentence: print")
    if isinstance(timeout, int | float) and not timeout > 0:
        raise ValueError(f"timeout={timeout} is invalid: expected a positive number of seconds")
    if y is None:
        raise ValueError("y is missing: give the targets of the rows, or the name of their column")
    parts = as_partitions(
        X,
        y,
        qid=qid,
        sample_weight=sample_weight,
        columns=columns,
        client=client,
        memory_limit=memory_limit,
        width=_most_features(estimator),
    )
    parts.progress, parts.timeout = progress, timeout
    try:
        unchanged_on_error(learn)(estimator, parts)
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


def learner_of(estimator: Any) -> Any:
    """Return the function that learns an estimator from partitions.

    Raises
    ------
    TypeError
        If there is none for its class.
    """
    for each in type(estimator).__mro__:
        if each.__name__ in _LEARNERS and each.__module__.startswith(("rankwise.", "sklearn.")):
            return import_module(f"rankwise.distributed.{_LEARNERS[each.__name__]}").learn
    known = ", ".join(sorted(_LEARNERS))
    if isinstance(estimator, type):
        raise TypeError(f"estimator={estimator.__name__} is a class: give a model, MPRank()")
    raise TypeError(
        f"estimator={estimator!r} can't be fitted in parts; these can: {known}. Others fit in "
        "memory: estimator.fit(X.compute(), y.compute())"
    )


def set_features(estimator: Any, parts: Partitions) -> None:
    """Set the number of features and their names, as scikit-learn's validation does."""
    estimator.n_features_in_ = parts.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if parts.names is not None:
        estimator.feature_names_in_ = np.array(parts.names, dtype=object)


# ---------------------------------------------------------------------- pipelines


def learn(estimator: Pipeline, parts: Partitions) -> None:
    """Fit the transformers of a pipeline one after the other, then the model on their results.

    A transformer with ``partial_fit``, such as StandardScaler, goes through the partitions in
    order. Nystroem gets its landmarks, the same rows that it would draw on one machine. A
    transformer that learns nothing from rows but their width gets a few of them.
    """
    *before, last = estimator.steps
    learn_last, model = learner_of(last[1]), clone(last[1])
    for name, step in before:
        _check_step(name, step)
    if before:
        parts.allow_nan = all(_allows_nan(step) for _, step in estimator.steps)
        parts.persist()
    steps, mapped = [], parts
    for name, step in before:
        fitted = step
        if step not in (None, "passthrough"):
            fitted = _fit_transformer(clone(step), mapped)
            mapped = mapped.mapped(fitted)
        steps.append((name, fitted))
    learn_last(model, mapped)
    steps.append((last[0], model))
    set_features(next(step for _, step in steps if step not in (None, "passthrough")), parts)
    estimator.steps = steps


def _check_step(name: str, step: Any) -> None:
    """Raise if a step can't be learned from partitions."""
    if step in (None, "passthrough") or isinstance(step, Nystroem) or hasattr(step, "partial_fit"):
        return
    if type(step).__name__ in _BLIND or not step.__sklearn_tags__().requires_fit:
        return
    raise TypeError(
        f"the step {name!r}, {step!r}, can't be fitted in parts: use one with partial_fit, such as "
        "StandardScaler, or Nystroem, or fit it to a sample beforehand and transform the rows"
    )


def _allows_nan(step: Any) -> bool:
    """Whether a step takes NaN as a missing value."""
    return step in (None, "passthrough") or bool(step.__sklearn_tags__().input_tags.allow_nan)


def _most_features(estimator: Any) -> int:
    """Return how many features the steps of a pipeline may make of a row, as far as they say."""
    steps = [step for _, step in getattr(estimator, "steps", ())]
    return max([int(getattr(step, "n_components", 0) or 0) for step in steps], default=0)


def _fit_transformer(step: Any, parts: Partitions) -> Any:
    """Return a transformer fitted to the rows of all partitions."""
    parts.look()
    if isinstance(step, Nystroem):
        rows = check_random_state(step.random_state).permutation(parts.n_rows)[: step.n_components]
        landmarks = parts.fetch(np.sort(rows))[np.argsort(np.argsort(rows))]
        given = {"n_components": step.n_components, "random_state": step.random_state}
        step.set_params(n_components=len(rows), random_state=_InOrder()).fit(landmarks)
        step.set_params(**given).component_indices_ = rows
        return step
    if hasattr(step, "partial_fit"):
        return parts.fold(_partial_fit, [step])[0]
    return step.fit(parts.fetch(np.arange(min(_FEW, parts.n_rows))))


def _partial_fit(block: Block, step: Any) -> Any:
    """Return a transformer after the rows of a partition."""
    after = clone(step)
    after.__dict__.update(step.__dict__)
    with in_part(block.part):
        return after.partial_fit(block.doubles())


class _InOrder(np.random.RandomState):
    """A random state that permutes nothing."""

    def permutation(self, x: Any) -> Any:
        """Return the numbers below x in their order."""
        return np.arange(x)
