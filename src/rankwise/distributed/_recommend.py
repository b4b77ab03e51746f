"""TasteModel with the work on people done by a cluster.

A `TasteModel` keeps the ratings that it was learned from, so they are on the driver, 20 bytes each.
What takes time are sums over people: the products of the items they have rated, and in each round
everybody's ranking and the products of these. Blocks of people go to the workers; each returns a
matrix of items x items, which are added in a tree. The scores of a block stay with it from round
to round. A round moves the kernel, 8 n^2 bytes for n items, to every worker and as much back from
each block.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from rankwise._core.arguments import shortened
from rankwise._core.inputs import unchanged_on_error
from rankwise._core.threads import Pool
from rankwise.distributed._cluster import find_client, import_dask
from rankwise.distributed._parts import FAN_IN, logger
from rankwise.distributed._waiting import release, results_of
from rankwise.recommend import RatingTable, TasteModel
from rankwise.recommend.taste_fit import Work
from rankwise.recommend.taste_parts import Levels, Parts, Ratings, multiply_items
from rankwise.recommend.taste_rounds import (
    FIRST,
    Group,
    Stage,
    score_all,
    weigh_scores,
    weigh_squares,
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
        unchanged_on_error(TasteModel._fit)(
            model, table, item_features, Work(people.multiply, people.next_stage)
        )
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
            f"ratings has no column {absent[0]!r}, only {shortened(list(ratings.columns))}: say "
            "which by user=, item= and rating="
        )
    frame = ratings[list(columns.values())].compute()
    return RatingTable.from_frame(
        frame, user=columns["user"], item=columns["item"], rating=columns["rating"]
    )


class Block(NamedTuple):
    """The problems of some people, counted from 0, and how often each item was rated by anyone."""

    group: Group
    counts: NDArray[np.int64]


class People:
    """Does the two steps of `Work` in blocks of people.

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
        # Of each group that has taken part, by its id: the blocks; of those in the last round, the
        # scores. The group is kept as well, so that no other one gets its id.
        self._blocks: dict[int, tuple[Group, list[Any]]] = {}
        self._scores: dict[int, list[Any]] = {}
        self._futures: WeakSet[Any] = WeakSet()

    def close(self) -> None:
        """Release what is under way, and the blocks."""
        release(list(self._futures))
        self._blocks, self._scores = {}, {}

    def multiply(self, parts: Parts, pool: Pool, precision: Any) -> Matrix:  # noqa: ARG002
        """Return the products of items in this precision; see `multiply_items`."""
        ratings = parts.ratings
        work = np.concatenate([[0.0], np.cumsum(np.square(ratings.sizes, dtype=np.float64))])
        blocks = [_part_of(parts, first, last) for first, last in _cuts(work, self.n_blocks)]
        self._blocks, self._scores = {}, {}
        found = self._sum([self._run(_multiply, self._send(block)) for block in blocks])
        self.sent += sum(block.a.nbytes * 3 for block in blocks)
        self.back += len(blocks) * found[0].nbytes
        C: Matrix = found[0].astype(precision, copy=False)
        return C

    def next_stage(
        self,
        C: Matrix,
        stage: Stage,
        parts: Parts,
        groups: Sequence[Group],
        noise: float,
        pool: Pool,  # noqa: ARG002
    ) -> Stage:
        """Return the kernel after a round; see `rankwise.recommend.taste_rounds`."""
        counts = parts.ratings.counts
        K = self._send((stage.K, stage.first, stage.second))
        scores, squares = {}, []
        for group in groups:
            blocks = self._blocks_of(group, counts)
            known = self._scores.get(id(group), [None] * len(blocks))
            new = [
                self._run(_score, K, block, old, noise)
                for block, old in zip(blocks, known, strict=True)
            ]
            squares += [self._run(_square, F, block) for F, block in zip(new, blocks, strict=True)]
            scores[id(group)] = new
        self._scores = scores
        self.sent += len(squares) * C.nbytes
        self.back += len(squares) * C.nbytes
        found, total = self._sum(squares)
        second = weigh_squares(total, counts, noise)
        found *= second
        found += FIRST * C
        rows = np.full(parts.ratings.n_users, -1)
        return Stage(found, FIRST, second, rows, np.zeros((0, len(C))))

    def _blocks_of(self, group: Group, counts: NDArray[np.int64]) -> list[Any]:
        """Return what stands for the blocks of a group; they are sent once."""
        if id(group) not in self._blocks:
            work = np.square(np.diff(group.starts), dtype=np.float64)
            cuts = _cuts(np.concatenate([[0.0], np.cumsum(work)]), self.n_blocks)
            blocks = [self._send(Block(_some_of(group, *cut), counts)) for cut in cuts]
            self._blocks[id(group)] = group, blocks
            self.sent += 5 * group.t.nbytes
        return self._blocks[id(group)][1]

    def _send(self, value: Any) -> Any:
        """Return what stands for a value on the workers.

        It goes with a task, which the scheduler keeps: if a worker is lost, it is sent again.
        """
        if self.client is None:
            return value
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self._submit(_same, value)

    def _run(self, function: Callable[..., Any], *values: Any) -> Any:
        """Return what stands for a function of values."""
        if self.client is None:
            return function(*values)
        return self._submit(function, *values)

    def _submit(self, function: Callable[..., Any], *values: Any) -> Any:
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
    """Return ranges of about equal work; ``work`` begins with 0 and rises.

    If there is nobody, that is one range of nobody: a sum needs a block at least.
    """
    edges = np.searchsorted(work, np.linspace(0, work[-1], n + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], edges, [len(work) - 1]])).tolist()
    return list(pairwise(edges)) or [(0, 0)]


def _part_of(parts: Parts, first: int, last: int) -> Parts:
    """Return what the products of some people are made of."""
    ratings = parts.ratings
    at = slice(ratings.indptr[first], ratings.indptr[last])
    some = Ratings(
        ratings.indptr[first : last + 1] - at.start,
        ratings.indices[at],
        ratings.values[at],
        ratings.n_items,
    )
    none = np.zeros((0, parts.places.shape[1]))
    levels = Levels(parts.levels.mean, np.empty(0), np.empty(0))
    return Parts(
        some, levels, parts.sigma, parts.a[at], parts.b[at], none, parts.xa[first:last], none
    )


def _some_of(group: Group, first: int, last: int) -> Group:
    """Return the problems of some people of a group, counted from 0."""
    at = slice(group.starts[first], group.starts[last])
    return Group(
        np.arange(last - first),
        group.starts[first : last + 1] - at.start,
        group.things[at],
        group.t[at],
        group.a[at],
        group.b[at],
        group.n_places,
    )


def _same(value: Value) -> Value:
    return value


def _multiply(parts: Parts) -> tuple[Matrix]:
    with Pool(1) as pool:
        return (multiply_items(parts, pool),)


def _score(
    kernel: tuple[Matrix, float, float], block: Block, old: Matrix | None, noise: float
) -> Matrix:
    """Return the scores of everyone in a block."""
    K, first, second = kernel
    people = len(block.group.people)
    rows = np.arange(people) if old is not None else np.full(people, -1)
    F = np.zeros((0, len(K)), K.dtype) if old is None else old
    out = np.empty((people, len(K)), K.dtype)
    with Pool(1) as pool, threadpool_limits(1, "blas"):
        score_all(Stage(K, first, second, rows, F), block.group, noise, pool, out)
    return out


def _square(F: Matrix, block: Block) -> tuple[Matrix, float]:
    """Return the products of the scores of items, and their weighted sum of squares."""
    with threadpool_limits(1, "blas"):
        return F.T @ F, weigh_scores(F, block.counts)


def _add(*found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add tuples entry by entry."""
    return reduce(lambda one, other: tuple(a + b for a, b in zip(one, other, strict=True)), found)
