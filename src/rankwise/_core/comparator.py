"""Call a comparator about pairs of items: checks, the log, repeats, budgets and async.

A sort is a plain function of ``compare(first, second)``, which takes two arrays of positions in the
input and returns the probability that each first goes before its second. `Comparator` makes that
callable from ``prefer``: it reuses the answers of the log, repeats questions and asks them both
ways, stops at the limit, and logs every answer at once. `Comparator.acompare` is the same for a
``prefer`` that is awaited.
"""

import asyncio
import sys
from collections.abc import Callable
from inspect import isawaitable
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rankwise._core.arguments import check_whole
from rankwise._core.inputs import rows_of
from rankwise._core.ranking import Ranking
from rankwise._core.sklearn_private import safe_indexing

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Progress = Callable[[int, float], object]

_MEANING = "the probability that the first goes before the second"

# The limit of questions about one pair.
_MANY = 2**31


class Comparator:
    """Compare items by ``prefer``, and count and log the answers.

    Parameters
    ----------
    items, prefer, batch, repeats, symmetrise, max_calls, log, progress
        As in `rankwise.preference.quicksort`.
    max_concurrency : int
        The number of questions that `acompare` awaits at the same time.

    Attributes
    ----------
    n : int
        The number of items.
    known : ndarray of shape (m, 2)
        The unordered pairs of the log at the start.
    n_calls, n_batches : int
        Questions so far, and in how many batches.
    left : int
        The number of questions that ``max_calls`` still allows.
    copies : int
        Questions about each pair.
    expected : float
        The expected number of questions in all, for ``progress``.
    """

    def __init__(
        self,
        items: Any,
        prefer: Callable[..., Any],
        *,
        batch: bool,
        max_calls: int | None,
        log: list[Any] | None,
        progress: Progress | None,
        repeats: int = 1,
        symmetrise: bool = False,
        max_concurrency: int = 1,
    ) -> None:
        if not callable(prefer):
            raise TypeError(f"prefer={short(prefer)} must be callable: prefer(u, v) in [0, 1]")
        if progress is not None and not callable(progress):
            raise TypeError(
                f"progress={short(progress)} must be callable: progress(n_calls, expected)"
            )
        check_flags(batch=batch, symmetrise=symmetrise)
        count: Any = repeats
        if type(count) is bool or not (isinstance(count, Integral) and 0 < int(count) < _MANY):
            raise ValueError(
                f"repeats={short(repeats)} must be an integer from 1 on, below {_MANY:,}"
            )
        if max_calls is not None:
            check_whole(max_calls, "max_calls", 0)
        if log is not None and not isinstance(log, list):
            raise TypeError(f"log must be a list, which answers are appended to, not {type(log)}")
        self.items: Any = as_items(items)
        self.n = len(self.items) if isinstance(self.items, list) else self.items.shape[0]
        self.prefer, self.batch, self.progress = prefer, batch, progress
        self.repeats, self.symmetrise, self.max_concurrency = repeats, symmetrise, max_concurrency
        plain = isinstance(self.items, list | np.ndarray)
        self._item = self.items.__getitem__ if plain else lambda i: safe_indexing(self.items, [i])
        # Without being asked to, the answers to millions of questions in arrays are not kept.
        self.log = [] if log is None and not batch else log
        self.known = np.empty((0, 2), dtype=np.int64)
        # By ordered pair of the log: its sorted key, the number of answers and their sum. The last
        # key is that of no pair.
        self._keys, self._counts, self._totals = (
            np.array([np.iinfo(np.int64).max]),
            np.zeros(1, np.int64),
            np.zeros(1),
        )
        if self.log:
            self._read_log(self.log)
        self.copies = repeats * (2 if symmetrise else 1)
        self.expected = 0.0
        self.n_calls = self.n_batches = 0
        self.left = sys.maxsize if max_calls is None else max_calls

    def compare(self, first: Indices, second: Indices) -> Floats:
        """Return the probability that each first goes before its second, NaN past the limit."""
        questions, average = self._plan(first, second)
        return average(self.call(*questions))

    async def acompare(self, first: Indices, second: Indices) -> Floats:
        """Do the same as `compare` by awaiting ``prefer``."""
        questions, average = self._plan(first, second)
        return average(await self.acall(*questions))

    def call(self, first: Indices, second: Indices) -> Floats:
        """Call ``prefer`` about each pair and log the answers."""
        if not len(first):
            return np.empty(0)
        self.n_batches += 1
        if self.batch:
            return self._keep_all(first, second, self.prefer(self.take(first), self.take(second)))
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return np.array(
            [self._keep(i, j, self.prefer(self._item(i), self._item(j))) for i, j in pairs]
        )

    async def acall(self, first: Indices, second: Indices) -> Floats:
        """Await ``prefer`` about each pair, ``max_concurrency`` at a time, and log the answers."""
        if not len(first):
            return np.empty(0)
        self.n_batches += 1
        if self.batch:
            answers = await _awaitable(self.prefer(self.take(first), self.take(second)))
            return self._keep_all(first, second, answers)
        answers = np.empty(len(first))
        questions = enumerate(zip(first.tolist(), second.tolist(), strict=True))
        failures: list[BaseException] = []

        async def work() -> None:
            for number, (i, j) in questions:
                if failures or _is_cancelled():
                    return
                # A failure of any kind is raised below, when the questions under way are answered
                # and kept: raised here, it would leave the other workers behind.
                try:
                    answer = await _awaitable(self.prefer(self._item(i), self._item(j)))
                    answers[number] = self._keep(i, j, answer)
                except BaseException as failure:
                    failures.append(failure)

        await asyncio.gather(*(work() for _ in range(min(self.max_concurrency, len(first)))))
        if failures:
            raise failures[0]
        return answers

    def take(self, indices: Any) -> Any:
        """Return the items at some places."""
        if isinstance(self.items, np.ndarray):
            return self.items.take(indices, axis=0)
        if not isinstance(self.items, list):
            return safe_indexing(self.items, indices)
        return [self.items[i] for i in indices.tolist()]

    def ranking(self, order: Indices, certain: NDArray[np.bool_]) -> Ranking:
        """Return an order of the items as a `Ranking`."""
        positions = np.empty(self.n, dtype=np.int64)
        positions[order] = np.arange(1, self.n + 1)
        return Ranking(
            order=self.take(order),
            positions=positions,
            n_calls=self.n_calls,
            n_batches=self.n_batches,
            log=self.log,
            certain=certain,
        )

    def _plan(
        self, first: Indices, second: Indices
    ) -> tuple[tuple[Indices, Indices], Callable[[Floats], Floats]]:
        """Return the questions about pairs, and the function that averages their answers."""
        if self.copies == 1 and not len(self.known):
            missing = np.full(max(len(first) - self.left, 0), np.nan)
            questions = first[: self.left], second[: self.left]
            return questions, lambda got: np.append(got, missing) if len(missing) else got
        # Columns: asked as (first, second), and swapped.
        counts, totals = (
            np.column_stack(both)
            for both in zip(self._look_up(first, second), self._look_up(second, first), strict=True)
        )
        if self.symmetrise:
            needs = np.maximum(self.repeats - counts, 0)
        else:
            needs = np.maximum(self.repeats - counts.sum(axis=1, keepdims=True), 0) * [1, 0]
        cost = needs.sum(axis=1)
        answered = (cost == 0) | (np.cumsum(cost) <= self.left)
        needs[~answered] = 0
        cells = np.repeat(np.arange(needs.size), needs.ravel())
        asked_first, asked_second = (
            np.column_stack([first, second, second, first]).reshape(-1, 2)[cells].T
        )

        def average(answers: Floats) -> Floats:
            n = (counts + np.bincount(cells, minlength=needs.size).reshape(-1, 2))[answered]
            sums = (totals + np.bincount(cells, answers, minlength=needs.size).reshape(-1, 2))[
                answered
            ]
            probability = np.full(len(first), np.nan)
            if self.symmetrise:
                probability[answered] = (sums / n) @ [0.5, -0.5] + 0.5
            else:
                probability[answered] = (sums[:, 0] + n[:, 1] - sums[:, 1]) / n.sum(axis=1)
            return probability

        return (asked_first, asked_second), average

    def _read_log(self, log: list[Any]) -> None:
        """Set the unordered pairs of a log, and what `_look_up` finds."""
        check_log(log, self.n)
        pairs = np.array([entry[:2] for entry in log], dtype=np.int64)
        keys, inverse = np.unique(pairs @ [self.n, 1], return_inverse=True)
        self.known = np.unique(np.sort(pairs, axis=1), axis=0)
        self._keys = np.append(keys, np.iinfo(np.int64).max)
        self._counts = np.append(np.bincount(inverse), 0)
        self._totals = np.append(np.bincount(inverse, [entry[2] for entry in log]), 0.0)

    def _look_up(self, first: Indices, second: Indices) -> tuple[Indices, Floats]:
        """Return how often the log has each pair in this order, and the sum of the answers."""
        keys = first * self.n + second
        index = np.searchsorted(self._keys, keys)
        hit = self._keys[index] == keys
        return np.where(hit, self._counts[index], 0), np.where(hit, self._totals[index], 0.0)

    def _keep(self, i: int, j: int, answer: Any) -> float:
        probability = _as_probability(i, j, answer)
        self.n_calls, self.left = self.n_calls + 1, self.left - 1
        if self.log is not None:
            self.log.append((i, j, probability))
        if self.progress is not None:
            self.progress(self.n_calls, max(self.expected, self.n_calls))
        return probability

    def _keep_all(self, first: Indices, second: Indices, answers: Any) -> Floats:
        if isawaitable(answers):
            _refuse_awaitable(answers)
        probability = _as_numbers(answers)
        if probability.shape != first.shape:
            raise ValueError(
                f"prefer returned an array of shape {probability.shape} for {len(first)} pairs: "
                "with batch=True it must return one probability a pair"
            )
        if not (probability.min() >= 0 and probability.max() <= 1):
            bad = np.flatnonzero(~((probability >= 0) & (probability <= 1)))[0]
            _as_probability(first[bad], second[bad], probability[bad])
        self.n_calls, self.left = self.n_calls + len(first), self.left - len(first)
        if self.log is not None:
            self.log.extend(zip(first.tolist(), second.tolist(), probability.tolist(), strict=True))
        if self.progress is not None:
            self.progress(self.n_calls, max(self.expected, self.n_calls))
        return probability


def is_number(value: Any, most: float) -> bool:
    """Whether a value is a real number from 0 to ``most``."""
    number: Any = value if isinstance(value, Real) else -1
    return bool(0 <= number <= most)


def check_flags(**flags: bool) -> None:
    """Raise for a value that is neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}={short(value)} must be True or False")


def plain_number(value: Any) -> Any:
    """Return a NumPy number as one of Python's, and everything else unchanged."""
    if isinstance(value, np.ndarray | np.generic) and value.size == 1:
        return value.item()
    return value


def _is_cancelled() -> bool:
    """Whether this task is to end, even if a comparator took no notice of it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def as_items(items: Any) -> Any:
    """Return a table whose rows can be taken, or a list."""
    if issparse(items):
        return rows_of(items, "items")
    if not np.iterable(items):
        raise TypeError(
            f"items={short(items)} must be a list, array or frame of the items to put in order"
        )
    is_table = isinstance(items, np.ndarray) or len(getattr(items, "shape", ())) == 2
    return items if is_table else list(items)


def _as_numbers(answers: Any) -> Floats:
    """Return the answers to a batch as floats."""
    try:
        array = np.asarray(answers)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"answers of the type {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"prefer returned {short(answers)}: with batch=True it must return one number in "
            f"[0, 1] a pair, {_MEANING}"
        ) from error


def _as_probability(i: int, j: int, answer: Any) -> float:
    if type(answer) in {bool, int, float} and 0 <= answer <= 1:
        return float(answer)
    if isawaitable(answer):
        _refuse_awaitable(answer)
    value = plain_number(answer)
    if not is_number(value, 1.0):
        raise ValueError(
            f"prefer returned {short(answer)} for items {i} and {j}: it must return a number in "
            f"[0, 1], {_MEANING}"
        )
    return float(value)


def _awaitable(answer: Any) -> Any:
    if not isawaitable(answer):
        raise TypeError(f"prefer returned {short(answer)}, which can't be awaited: use quicksort")
    return answer


def _refuse_awaitable(answer: Any) -> NoReturn:
    if hasattr(answer, "close"):
        answer.close()
    raise TypeError("prefer returned an awaitable: use aquicksort and await it")


def check_log(log: Any, n: int) -> None:
    """Raise unless a log is a list of (i, j, p), answers about n items."""
    if not isinstance(log, list):
        raise TypeError(f"log must be a list of (i, j, p), not {type(log)}")
    for entry in log:
        if not (
            isinstance(entry, tuple | list)
            and len(entry) == 3
            and all(isinstance(i, Integral) and not isinstance(i, bool) for i in entry[:2])
            and 0 <= min(entry[:2]) <= max(entry[:2]) < n
            and entry[0] != entry[1]
            and is_number(entry[2], 1.0)
        ):
            raise ValueError(
                f"log holds {short(entry)}: an entry is (i, j, p), two positions among the {n} "
                f"items and {_MEANING}; pass a log together with the items that it was made for"
            )
