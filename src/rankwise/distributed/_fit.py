"""Fit rows in partitions: pipelines step by step, and online models part by part.

PRank and its like are sequential by nature: the model travels from partition to partition, 8 bytes
a feature, and the rows stay. The members of OAPRank are independent: blocks of them follow each
other through the partitions, so that several workers are busy at a time.
"""

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from itertools import pairwise
from traceback import clear_frames
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from rankwise._core.arguments import shortened, warn_user
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.labels import as_labels, sorted_labels
from rankwise._core.ordinal import MOST_EPOCHS, Falling, OnlineMixin
from rankwise.boosting import RankBoost
from rankwise.distributed import _linear, _rankboost
from rankwise.distributed._partition import Block, in_part
from rankwise.distributed._partitions import Partitions, as_partitions
from rankwise.distributed.connection import logger
from rankwise.magnitude import MPRank, SVRank
from rankwise.ordinal import MulticlassPerceptron, OAPRank, PRank, WidrowHoff
from rankwise.pairwise import RankSVM

Estimator = TypeVar("Estimator")

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
        raise ValueError(f"progress={shortened(progress)} must be a function of a string: print")
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
    for kind, learn in _LEARNERS.items():
        if isinstance(estimator, kind):
            return learn
    known = ", ".join(sorted(kind.__name__ for kind in _LEARNERS))
    if isinstance(estimator, type):
        raise TypeError(f"estimator={estimator.__name__} is a class: give a model, MPRank()")
    raise TypeError(
        f"estimator={estimator!r} can't be fitted in parts; these can: {known}. Others fit in "
        "memory: estimator.fit(X.compute(), y.compute())"
    )


# ---------------------------------------------------------------------- pipelines


def _learn_pipeline(estimator: Pipeline, parts: Partitions) -> None:
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
    parts.set_features(next(step for _, step in steps if step not in (None, "passthrough")))
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
        return parts.fold(_after_rows, [step])[0]
    return step.fit(parts.fetch(np.arange(min(_FEW, parts.n_rows))))


def _after_rows(block: Block, step: Any) -> Any:
    """Return a transformer after the rows of a partition."""
    with in_part(block.part):
        return deepcopy(step).partial_fit(block.doubles())


class _InOrder(np.random.RandomState):
    """A random state that permutes nothing."""

    def permutation(self, x: Any) -> Any:
        """Return the numbers below x in their order."""
        return np.arange(x)


# ---------------------------------------------------------------------- online models


def _learn_online(estimator: OnlineMixin, parts: Partitions) -> None:
    """Learn from the rows in their order, bit for bit as ``fit`` with ``shuffle=False``.

    With ``shuffle=True``, the default, a warning says that the rows are not shuffled, and "auto"
    epochs are one.

    Raises
    ------
    ValueError
        If the rows have queries or weights, or the kernel is precomputed.
    """
    estimator._validate_params()
    name, epochs = type(estimator).__name__, estimator.epochs
    if getattr(estimator, "kernel", None) == "precomputed":
        raise ValueError("kernel='precomputed' can't be fitted in parts: give the rows themselves")
    if estimator.shuffle:
        epochs = 1 if epochs == "auto" else epochs
        warn_user(
            f"{name} takes rows in partitions in the order of the partitions, in "
            f"{'one pass' if epochs == 1 else f'{epochs} passes'}, although shuffle=True: set "
            f"shuffle=False and epochs={epochs} to say so, and write the rows in random order if "
            "theirs means something"
        )
    if epochs != 1:
        parts.persist()
    labels = parts.map(_labels)
    for given in ("qid", "sample_weight"):
        if given in parts.types:
            raise ValueError(f"{name} does not use {given}: leave it out")
    classes, _ = clone(estimator)._check_labels(np.concatenate(labels), find=True)
    models = _start(estimator, classes, parts)
    falling, loss = Falling(), 0
    for _ in range(MOST_EPOCHS if epochs == "auto" else int(epochs)):
        models = parts.fold(_advance, models)
        before, loss = loss, sum(model.rank_loss_ for model in models)
        if epochs == "auto" and not falling.goes_on(loss - before):
            break
    _finish(estimator, models, parts)


def _labels(block: Block) -> NDArray[Any]:
    """Return the labels of a partition."""
    with in_part(block.part):
        return sorted_labels(as_labels(block.y))


def _advance(block: Block, model: Any) -> Any:
    """Return the model after the rows of a partition."""
    after = copy(model)
    with in_part(block.part):
        after.partial_fit(block.X, block.y)
    return after


def _start(estimator: OnlineMixin, classes: Any, parts: Partitions) -> list[Any]:
    """Return models before the first row; several if members can be cut into blocks."""
    model = clone(estimator)
    model.label_order = classes
    model.n_features_in_ = parts.n_features
    source = model._source()
    if not (isinstance(model, OAPRank) and source.width > 0):
        return [model]
    state = model._start(len(classes), source.width)
    n, groups = model.n_estimators, min(parts.n_workers, parts.n_parts)
    # members come by four, which share a hash
    edges = [4 * int(e) for e in np.linspace(0, -(-n // 4), groups + 1)]
    blocks = []
    for first, last in pairwise(edges):
        if first == last:
            continue
        block = clone(model)
        block.n_features_in_ = parts.n_features
        some = slice(first, last)
        own = {name: array.copy() for name, array in state.items()}
        own |= {name: own[name][some].copy() for name in model._member_state if name in own}
        block.n_estimators, block._first_member = len(own["W"]), first
        block._finish(source, own, classes)
        blocks.append(block)
    return blocks


def _finish(estimator: OnlineMixin, blocks: list[Any], parts: Partitions) -> None:
    """Put what the blocks have learned together, and on the estimator."""
    model = blocks[0]
    source = model._check_state()
    state = {name: array.copy() for name, array in model._state.items()}
    if isinstance(estimator, OAPRank) and source.width > 0:
        for name in [name for name in estimator._member_state if name in state]:
            state[name] = np.concatenate([block._state[name] for block in blocks])
        counts = np.array([block._state["counts"] for block in blocks])
        state["counts"] = np.array([counts[0, 0], *counts[:, 1:].sum(axis=0)])
        parts.set_features(estimator)
        estimator._finish(source, state, model.classes_)
        return
    kept = {name: value for name, value in vars(model).items() if name not in model.get_params()}
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    estimator.__dict__.update(kept)
    parts.set_features(estimator)


# What learns each class, a function of the estimator, whose learned attributes it sets, and parts.
_LEARNERS: dict[type, Callable[[Any, Partitions], None]] = {
    MPRank: _linear.learn,
    RankSVM: _linear.learn,
    SVRank: _linear.learn,
    PRank: _learn_online,
    WidrowHoff: _learn_online,
    MulticlassPerceptron: _learn_online,
    OAPRank: _learn_online,
    RankBoost: _rankboost.learn,
    Pipeline: _learn_pipeline,
}
