"""TasteModel with the work on people done by a cluster.

A `TasteModel` keeps the ratings that it was learned from, so they are on the driver, 20 bytes each.
What takes time are sums over people: the products of the items they have rated, and in each round
everybody's ranking and the products of these. Blocks of people go to the workers; each returns a
matrix of items x items, which are added in a tree. The scores of a block stay with it from round
to round. A round moves the kernel, 8 n^2 bytes for n items, to every worker and as much back from
each block.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from rankwise._core.arguments import shortened
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.threads import Pool
from rankwise.distributed._partitions import FAN_IN
from rankwise.distributed.connection import find_client, import_dask, logger, release, results_of
from rankwise.recommend import RatingTable, TasteModel
from rankwise.recommend.item_kernel import (
    UserRows,
    Weights,
    Work,
    first_kernel,
    score_users,
)

Matrix = NDArray[np.float64]
Value = TypeVar("Value")

# Blocks of people for each thread of the cluster: enough to even out.
_BLOCKS = 2


def fit_taste(
    model: TasteModel,
    ratings: Any,
    *,
    user: str = "user",
    item: str = "item",
    rating: str = "rating",
    item_features: ArrayLike | None = None,
    client: Any = None,
) -> TasteModel:
    """Fit a `TasteModel` with the work on people done by the workers of a cluster.

    The model is that of ``model.fit``, to rounding: sums over people are added block by block.

    Parameters
    ----------
    model : TasteModel
        What is fitted, and returned.
    ratings : RatingTable, dask dataframe or path of Parquet
        A row for each rating. The model keeps the ratings, so they come to the driver.
    user, item, rating : str
        Columns of a dataframe.
    item_features : array-like of shape (n_items, n_features), default=None
        As for `TasteModel.fit`.
    client : distributed.Client, default=None
        None: the current one; without any, the blocks are worked off here one by one.

    Returns
    -------
    TasteModel

    Notes
    -----
    For n items (those of the head, in the form with factors) a round moves 8 n^2 bytes to each
    worker and back from each block. Memory of a worker is 8 (2 n^2 + H n / workers) for H people
    in the rounds; the driver holds 16 n^2 bytes, whatever H is, and the scheduler 8 n^2 a round, so
    that a worker that is lost is made good.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.distributed import fit_taste
    >>> from rankwise.recommend import RatingTable, TasteModel
    >>> g = np.random.default_rng(0)
    >>> likes = g.normal(size=(60, 2)) @ g.normal(size=(2, 15))
    >>> people, items = np.nonzero(g.random(likes.shape) < 0.5)
    >>> ratings = np.clip(np.rint(3 + likes[people, items]), 1, 5)
    >>> table = RatingTable.from_arrays(people, items, ratings)
    >>> model = fit_taste(TasteModel(), table)
    >>> bool(abs(model.predict([0], [3]) - TasteModel().fit(table).predict([0], [3]))[0] < 1e-8)
    True
    """
    if not isinstance(model, TasteModel):
        raise ValueError(f"model={shortened(model)} must be a TasteModel")
    table = _as_table(ratings, {"user": user, "item": item, "rating": rating})
    people = People(find_client(client))
    try:
        unchanged_on_error(TasteModel._fit)(model, table, item_features, people.work)
    finally:
        people.close()
    logger.info(
        "TasteModel: %d blocks of people, %.3g MB sent to them, %.3g MB brought back",
        people.n_blocks,
        people.sent / 1e6,
        people.back / 1e6,
    )
    return model


def _as_table(ratings: Any, columns: dict[str, str]) -> RatingTable:
    """Return ratings as a table here."""
    if isinstance(ratings, RatingTable):
        return ratings
    if isinstance(ratings, str | Path):
        ratings = import_dask("dask.dataframe").read_parquet(
            str(ratings), columns=list(columns.values())
        )
    if not (hasattr(ratings, "dask") and hasattr(ratings, "columns")):
        raise ValueError(
            f"ratings={shortened(ratings)} must be a RatingTable, a dask dataframe or the path of "
            "Parquet files"
        )
    absent = [name for name in columns.values() if name not in ratings.columns]
    if absent:
        raise ValueError(
            f"ratings has no column {absent[0]!r}, only {shortened(list(ratings.columns))}: name "
            "the columns by user=, item= and rating="
        )
    frame = ratings[list(columns.values())].compute()
    return RatingTable.from_frame(
        frame, user=columns["user"], item=columns["item"], rating=columns["rating"]
    )


class People:
    """Does the steps of `rankwise.recommend.item_kernel.Work` in blocks of people.

    Parameters
    ----------
    client : distributed.Client or None

    Attributes
    ----------
    n_blocks : int
    sent, back : int
        Bytes that went to the blocks, and came back.
    """

    def __init__(self, client: Any) -> None:
        threads = sum(client.nthreads().values()) if client is not None else 2
        self.client, self.n_blocks = client, max(1, _BLOCKS * threads)
        self.sent = self.back = 0
        # The last kernel that was sent, and what stands for it: several groups take it.
        self._kernel: tuple[Matrix | None, Any] = None, None
        self._futures: WeakSet[Any] = WeakSet()

    @property
    def work(self) -> Work:
        """The steps."""
        return Work(self.first_kernel, self.share, self.score_users, self.multiply_scores)

    def close(self) -> None:
        """Release what is under way."""
        release(list(self._futures))
        self._kernel = None, None

    def first_kernel(self, rows: UserRows, pool: Pool, precision: Any) -> Matrix:  # noqa: ARG002
        """Return the products of items; see `rankwise.recommend.item_kernel.first_kernel`."""
        blocks = self.share(rows)
        found = self._sum([self._run(_first_kernel, block) for block in blocks])
        self.back += len(blocks) * found[0].nbytes
        C: Matrix = found[0].astype(precision, copy=False)
        return C

    def share(self, group: UserRows) -> list[Any]:
        """Return futures of blocks of the rows of people; they are sent once."""
        squares = np.square(np.diff(group.ratings.indptr), dtype=np.float64)
        blocks = [_some_rows(group, *cut) for cut in _cuts(squares, self.n_blocks)]
        self.sent += sum(block.own.nbytes * 2 for block in blocks)
        return [self._send(block) for block in blocks]

    def score_users(
        self,
        K: Matrix,
        weights: Weights,
        last: list[Any] | None,
        blocks: list[Any],
        noise: float,
        pool: Pool,  # noqa: ARG002
    ) -> list[Any]:
        """Return futures of the scores of each block, which stay on the workers."""
        if self._kernel[0] is not K:
            self._kernel = K, self._send(K)
        self.sent += len(blocks) * K.nbytes
        return [
            self._run(_score, self._kernel[1], weights, old, block, noise)
            for block, old in zip(blocks, last or [None] * len(blocks), strict=True)
        ]

    def multiply_scores(
        self,
        scores: list[Any],
        pool: Pool,  # noqa: ARG002
    ) -> Matrix:
        """Return the products of the scores of items."""
        blocks = [self._run(_multiply, F) for group in scores for F in group]
        K: Matrix = self._sum(blocks)[0]
        self._kernel = None, None
        self.back += len(blocks) * K.nbytes
        return K

    def _send(self, value: Any) -> Any:
        """Return a future of a value on the workers.

        It goes with a task, which the scheduler keeps: if a worker is lost, it is sent again.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self._run(_same, value)

    def _run(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return a future of a function of values."""
        if self.client is None:
            return function(*values)
        future = self.client.submit(function, *values, pure=False)
        self._futures.add(future)
        return future

    def _sum(self, found: list[Any]) -> tuple[Any, ...]:
        """Return the sums of tuples, added in a tree."""
        while len(found) > 1:
            found = [self._run(_add, *found[k : k + FAN_IN]) for k in range(0, len(found), FAN_IN)]
        if self.client is None:
            return found[0]
        return results_of(self.client, found)[0]


def _cuts(work: NDArray[np.float64], n: int) -> list[tuple[int, int]]:
    """Return ranges of people of about equal work.

    If there is nobody, that is one range of nobody: a sum needs a block at least.
    """
    done = np.concatenate([[0.0], np.cumsum(work)])
    edges = np.searchsorted(done, np.linspace(0, done[-1], n + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], edges, [len(work)]])).tolist()
    return list(pairwise(edges)) or [(0, 0)]


def _some_rows(rows: UserRows, first: int, last: int) -> UserRows:
    """Return the rows of some people, and nothing of others."""
    return replace(rows.only(np.arange(first, last)), coordinates=rows.coordinates[:0])


def _same(value: Value) -> Value:
    return value


def _first_kernel(rows: UserRows) -> tuple[Matrix]:
    with Pool(1) as pool:
        return (first_kernel(rows, pool),)


def _score(
    K: Matrix, weights: Weights, last: Matrix | None, block: UserRows, noise: float
) -> Matrix:
    """Return the scores of everyone in a block."""
    with Pool(1) as pool, threadpool_limits(1, "blas"):
        return score_users(K, weights, last, block, noise, pool)


def _multiply(F: Matrix) -> tuple[Matrix]:
    """Return the products of the scores of items."""
    with threadpool_limits(1, "blas"):
        return (F.T @ F,)


def _add(*found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add tuples entry by entry."""
    return reduce(lambda one, other: tuple(a + b for a, b in zip(one, other, strict=True)), found)
