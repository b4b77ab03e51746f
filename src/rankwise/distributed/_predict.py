"""Predict, rank and measure rows in partitions: lazily on collections of Dask."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import shortened
from rankwise._core.queries import encode_queries, group_rows, positions_in_queries
from rankwise.distributed._partition import Block
from rankwise.distributed._partitions import are_dask, as_partitions, delayed_parts, is_dask
from rankwise.distributed.connection import import_dask

# The predictions of no rows.
_NONE = np.empty(0)


def predict(estimator: Any, X: Any, *, method: str = "predict") -> Any:
    """Return the predictions of a fitted estimator for rows in partitions.

    Parameters
    ----------
    estimator : fitted estimator
        Any one whose prediction of a row does not depend on other rows.
    X : dask array or dataframe, list of delayed, path of Parquet, ndarray or memmap
        The rows. Of files, the columns that the estimator was fitted with are read.
    method : str, default="predict"
        The method to call, such as "project" or "predict_proba".

    Returns
    -------
    dask array, dask series, list of delayed or ndarray
        As X is: lazy for collections of Dask; an array for rows from disk.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import distributed
    >>> from rankwise.magnitude import MPRank
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = distributed.fit(MPRank(C=1000), X, X @ [2.0, -1.0, 0.0])
    >>> distributed.predict(model, X[:3]).shape
    (3,)
    """
    if not callable(getattr(estimator, method, None)):
        raise ValueError(f"method={method!r} is not a method of {type(estimator).__name__}")
    call = partial(_predict, estimator, method)
    if are_dask(X):
        run = import_dask().delayed(call, pure=False)
        return [run(part) for part in X]
    if not is_dask(X):
        return _predict_from_disk(estimator, call, X)
    if hasattr(X, "columns"):
        like = call(X._meta_nonempty)
        meta = _as_frame(call, X._meta_nonempty)[:0]
        return X.map_partitions(partial(_as_frame, partial(call, like=like)), meta=meta)
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"X={shortened(X)} must have a row for each sample")
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    like = call(np.zeros((1, X.shape[1])))
    shape = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
    return X.map_blocks(partial(call, like=like), dtype=like.dtype, **shape)


def _predict(estimator: Any, method: str, X: Any, like: Any = _NONE) -> Any:
    """Return the predictions of some rows; of none, an empty array like another one."""
    names = getattr(estimator, "feature_names_in_", None)
    if not X.shape[0]:
        return like[:0]
    known = X[list(names)] if names is not None and hasattr(X, "columns") else X
    return np.asarray(getattr(estimator, method)(known))


def _as_frame(call: Any, X: Any) -> Any:
    """Return the predictions of a frame as a column or frame with its index."""
    found = call(X)
    frame = type(X)(found if found.ndim > 1 else found[:, None], index=X.index)
    return frame if found.ndim > 1 else frame.iloc[:, 0].rename(call.args[1])


def _predict_from_disk(estimator: Any, call: Callable[[Any], Any], X: Any) -> NDArray[Any]:
    names = None
    if isinstance(X, str | Path):
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                "the estimator does not know the names of its columns: fit it to Parquet or a "
                "frame, or give X as an array"
            )
    return np.concatenate(as_partitions(X, columns=names).map(partial(_predict_block, call)))


def _predict_block(call: Callable[[Any], Any], block: Block) -> Any:
    X = block.X
    if block.names is not None:
        X = import_dask("pandas", "data").DataFrame(X, columns=list(block.names))
    return call(X)


def rank(estimator: Any, X: Any, *, qid: Any = None) -> Any:
    """Return the position of each row among all, from 1, best first; with qid in its query.

    The scores of all rows, and their queries, come together in one task, 8 bytes a row each.

    Parameters
    ----------
    estimator : fitted ranker
        Its ``predict`` gives scores.
    X : dask array or dataframe, list of delayed, path of Parquet, ndarray or memmap
        The rows.
    qid : collection of the same kind, ndarray, or name of a column, default=None
        The query of each row, in any order.

    Returns
    -------
    dask array of int64, or ndarray for what is read from disk
    """
    if isinstance(qid, str):
        if qid not in list(getattr(X, "columns", ())):
            raise ValueError(f"qid={qid!r} is not a column of X: give the queries themselves")
        X, qid = X[[name for name in X.columns if name != qid]], X[qid]
    scores = predict(estimator, X)
    if isinstance(scores, np.ndarray):
        return _positions([scores], qid)[0]
    blocks = scores if isinstance(scores, list) else delayed_parts(scores)
    sizes = getattr(scores, "chunks", ((np.nan,) * len(blocks),))[0]
    every = import_dask().delayed(_positions, pure=False, nout=len(blocks))(blocks, qid)
    array = import_dask("dask.array")
    positions = [
        array.from_delayed(part, (size,), dtype=np.int64)
        for part, size in zip(every, sizes, strict=True)
    ]
    return array.concatenate(positions, allow_unknown_chunksizes=True)


def measure(
    metric: Callable[..., float],
    y: Any,
    scores: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> Any:
    """Return a measure of rows in parts, lazily: exactly what it is of all rows at once.

    Targets and scores come together in one task, 16 bytes a row: a measure over pairs needs all
    of them, and takes O(m log m) time. Queries may be cut over parts.

    Parameters
    ----------
    metric : callable
        A function of `rankwise.metrics`, called with y and scores.
    y, scores : dask arrays, series or lists of delayed
        What is true, and what was predicted.
    qid, sample_weight : the same, default=None
        As the metric takes them.
    **options
        Passed on to the metric.

    Returns
    -------
    Delayed
        Its ``compute()`` gives the number.
    """
    columns = {"qid": qid, "sample_weight": sample_weight}
    given = {name: value for name, value in columns.items() if value is not None}
    return import_dask().delayed(_measured, pure=False)(metric, y, scores, given, options)


def _joined(column: Any) -> NDArray[Any]:
    """Return a column as an array, also if it is a list of partitions."""
    if isinstance(column, list | tuple):
        return np.concatenate([np.asarray(block) for block in column if len(block)])
    return np.asarray(column)


def _positions(scores: list[Any], qid: Any) -> list[NDArray[np.int64]]:
    """Return positions from 1, best first, ties as they come, as `RankerMixin.rank` does."""
    values = _joined(scores)
    codes, n_queries = encode_queries(None if qid is None else _joined(qid), len(values))
    best = np.argsort(-values, kind="stable")
    order, starts = group_rows(codes[best], n_queries)
    positions = positions_in_queries(best[order], codes, starts)
    return np.split(positions, np.cumsum([len(each) for each in scores])[:-1])


def _measured(
    metric: Callable[..., float], y: Any, scores: Any, columns: dict[str, Any], options: Any
) -> float:
    given = {name: _joined(column) for name, column in columns.items()}
    return metric(_joined(y), _joined(scores), **given, **options)
