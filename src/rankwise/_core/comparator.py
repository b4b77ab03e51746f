"""Questions and answers: who is asked what, what is known already, and what is kept.

A sort is a generator. It yields pairs to ask, as two arrays of positions in the input, and is sent
their answers; so the same sort serves comparators that are called and those that are awaited. The
`Asker` is between the sort and the comparator: it looks up what the log knows, repeats and turns
questions, stops at the limit, and keeps every answer at once.
"""

import asyncio
from collections.abc import Callable, Generator
from inspect import isawaitable
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rankwise._core._loops.quicksort import turn_pairs
from rankwise._core.arguments import check_whole
from rankwise._core.ranking import Ranking, positions_of
from rankwise._core.sklearn_private import safe_indexing

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
T = TypeVar("T")
Progress = Callable[[int, float], object]

# Yields pairs, is sent the probability that the first of each goes before the second.
Sort = Generator[tuple[Indices, Indices], Floats, T]

_MEANING = "the probability that the first goes before the second"

# So many questions about one pair are no longer counted.
_MANY = 2**31


class Asker:
    """Asks a comparator, and keeps and counts the answers."""

    def __init__(
        self,
        items: Any,
        prefer: Callable[..., Any],
        *,
        batch: bool,
        repeats: int,
        symmetrise: bool,
        max_calls: int | None,
        log: list[Any] | None,
        progress: Callable[[int, float], object] | None,
    ) -> None:
        if not callable(prefer):
            raise TypeError(f"prefer={short(prefer)} must be callable: prefer(u, v) in [0, 1]")
        if progress is not None and not callable(progress):
            raise TypeError(
                f"progress={short(progress)} must be callable: progress(n_calls, expected)"
            )
        check_flags(batch=batch, symmetrise=symmetrise)
        check_whole(repeats, "repeats")
        if repeats >= _MANY:
            raise ValueError(f"repeats={short(repeats)} must be below {_MANY:,}: ask less often")
        if max_calls is not None:
            check_whole(max_calls, "max_calls", 0)
        if log is not None and not isinstance(log, list):
            raise TypeError(f"log must be a list, which answers are appended to, not {type(log)}")
        self.items: Any = _as_items(items)
        self.n = self.items.shape[0] if _is_table(self.items) else len(self.items)
        self.prefer, self.batch = prefer, batch
        self.repeats, self.symmetrise, self.max_calls = repeats, symmetrise, max_calls
        # Without being asked to, the answers to millions of questions in arrays are not kept.
        self.log = [] if log is None and not batch else log
        self.known, self._keys, self._counts, self._totals = _read_log(self.log or [], self.n)
        self.progress = progress
        self.expected = 0.0
        self.n_calls = self.n_batches = 0

    def take(self, places: Any) -> Any:
        """Return the items at some places."""
        if isinstance(self.items, np.ndarray):
            return self.items.take(places, axis=0)
        if not isinstance(self.items, list):
            return safe_indexing(self.items, places)
        return [self.items[i] for i in places.tolist()]

    def spread_answers(self, first: Indices, second: Indices, seed: int) -> Sort[Floats]:
        """Get `answers`, where a coin of the pair decides which of the two is shown first."""
        one, other = np.empty_like(first), np.empty_like(second)
        turned = np.empty(len(first), dtype=np.bool_)
        turn_pairs(seed, first, second, one, other, turned)
        found = yield from self.answers(one, other)
        # 1 less the answer where the pair was turned.
        return np.abs(turned - found)

    def answers(self, first: Indices, second: Indices) -> Sort[Floats]:
        """Get the probability that each first goes before its second, NaN past the limit."""
        left = np.inf if self.max_calls is None else self.max_calls - self.n_calls
        if self.repeats == 1 and not self.symmetrise and not len(self.known):
            if len(first) <= left:
                return (yield first, second)
            found = np.full(len(first), np.nan)
            if left:
                found[: int(left)] = yield first[: int(left)], second[: int(left)]
            return found
        # Columns: asked as (first, second), and turned round.
        counts, totals = (
            np.column_stack(both)
            for both in zip(self._look_up(first, second), self._look_up(second, first), strict=True)
        )
        if self.symmetrise:
            needs = np.maximum(self.repeats - counts, 0)
        else:
            needs = np.maximum(self.repeats - counts.sum(axis=1, keepdims=True), 0) * [1, 0]
        cost = needs.sum(axis=1)
        answered = (cost == 0) | (np.cumsum(cost) <= left)
        needs[~answered] = 0
        slots = np.repeat(np.arange(needs.size), needs.ravel())
        if len(slots):
            asked = np.column_stack([first, second, second, first]).reshape(-1, 2)[slots]
            got = yield asked[:, 0], asked[:, 1]
            counts += np.bincount(slots, minlength=needs.size).reshape(-1, 2)
            totals += np.bincount(slots, got, minlength=needs.size).reshape(-1, 2)
        found = np.full(len(first), np.nan)
        counts, totals = counts[answered], totals[answered]
        if self.symmetrise:
            found[answered] = (totals / counts) @ [0.5, -0.5] + 0.5
        else:
            found[answered] = (totals[:, 0] + counts[:, 1] - totals[:, 1]) / counts.sum(axis=1)
        return found

    def run(self, sort: Sort[T]) -> T:
        """Work a sort off by calling the comparator."""
        pairs, ranking = _step(sort)
        while pairs is not None:
            pairs, ranking = _step(sort, self._ask(*pairs))
        return ranking

    async def arun(self, sort: Sort[T], max_concurrency: int) -> T:
        """Work a sort off by awaiting the comparator, so many questions at a time."""
        pairs, ranking = _step(sort)
        while pairs is not None:
            pairs, ranking = _step(sort, await self._aask(*pairs, max_concurrency))
        return ranking

    def _ask(self, first: Indices, second: Indices) -> Floats:
        self.n_batches += 1
        if self.batch:
            return self._keep_all(first, second, self.prefer(self.take(first), self.take(second)))
        found = np.empty(len(first))
        for slot, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            found[slot] = self._keep(i, j, self.prefer(self._one(i), self._one(j)))
        return found

    async def _aask(self, first: Indices, second: Indices, max_concurrency: int) -> Floats:
        self.n_batches += 1
        if self.batch:
            answers = await self._awaitable(self.prefer(self.take(first), self.take(second)))
            return self._keep_all(first, second, answers)
        found = np.empty(len(first))
        questions = enumerate(zip(first.tolist(), second.tolist(), strict=True))
        failures: list[BaseException] = []

        async def work() -> None:
            for slot, (i, j) in questions:
                if failures or _is_cancelled():
                    return
                # A failure of any kind is raised below, when the questions under way are answered
                # and kept: raised here, it would leave the other workers behind.
                try:
                    answer = await self._awaitable(self.prefer(self._one(i), self._one(j)))
                    found[slot] = self._keep(i, j, answer)
                except BaseException as failure:
                    failures.append(failure)

        await asyncio.gather(*(work() for _ in range(min(max_concurrency, len(first)))))
        if failures:
            raise failures[0]
        return found

    def _one(self, i: int) -> Any:
        plain = isinstance(self.items, list | np.ndarray)
        return self.items[i] if plain else safe_indexing(self.items, [i])

    @staticmethod
    def _awaitable(answer: Any) -> Any:
        if not isawaitable(answer):
            raise TypeError(
                f"prefer returned {short(answer)}, which can't be awaited: use quicksort"
            )
        return answer

    def _keep(self, i: int, j: int, answer: Any) -> float:
        probability = _as_probability(i, j, answer)
        self.n_calls += 1
        if self.log is not None:
            self.log.append((i, j, probability))
        self._report()
        return probability

    def _keep_all(self, first: Indices, second: Indices, answers: Any) -> Floats:
        if isawaitable(answers):
            _refuse_awaitable(answers)
        found = _as_numbers(answers)
        if found.shape != first.shape:
            raise ValueError(
                f"prefer returned an array of shape {found.shape} for {len(first)} pairs: with "
                "batch=True it must return one probability a pair"
            )
        if not (found.min() >= 0 and found.max() <= 1):
            bad = np.flatnonzero(~((found >= 0) & (found <= 1)))[0]
            _as_probability(first[bad], second[bad], found[bad])
        self.n_calls += len(first)
        if self.log is not None:
            self.log.extend(zip(first.tolist(), second.tolist(), found.tolist(), strict=True))
        self._report()
        return found

    def _report(self) -> None:
        if self.progress is not None:
            self.progress(self.n_calls, max(self.expected, self.n_calls))

    def _look_up(self, first: Indices, second: Indices) -> tuple[Indices, Floats]:
        """Return how often each pair was asked in this order, and the sum of the answers."""
        keys = first * self.n + second
        place = np.searchsorted(self._keys, keys)
        hit = self._keys[place] == keys
        return np.where(hit, self._counts[place], 0), np.where(hit, self._totals[place], 0.0)


def is_number(value: Any, most: float) -> bool:
    """Whether a value is a real number from 0 to ``most``."""
    number: Any = value if isinstance(value, Real) else -1
    return bool(0 <= number <= most)


def _step(sort: Sort[T], answers: Any = None) -> tuple[tuple[Indices, Indices] | None, Any]:
    """Send answers to a sort; return the next pairs, or None and what the sort returns.

    The comparator runs outside, so that a StopIteration of its own is not taken for the sort's end.
    """
    try:
        return sort.send(answers), None
    except StopIteration as end:
        return None, end.value


def check_flags(**flags: bool) -> None:
    """Refuse what is neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}={short(value)} must be True or False")


def plain_number(value: Any) -> Any:
    """Return a NumPy number as one of Python's, and all else as it is."""
    if isinstance(value, np.ndarray | np.generic) and value.size == 1:
        return value.item()
    return value


def _is_cancelled() -> bool:
    """Whether this task is to end, even if a comparator took no notice of it."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_table(items: Any) -> bool:
    """Whether items are an array, or the rows of a frame or a sparse matrix."""
    return isinstance(items, np.ndarray) or len(getattr(items, "shape", ())) == 2


def _as_items(items: Any) -> Any:
    """Return a table whose rows can be taken, or a list."""
    if issparse(items):
        return items.tocsr()
    if not np.iterable(items):
        raise TypeError(
            f"items={short(items)} must be a list, array or frame of the things to put in order"
        )
    return items if _is_table(items) else list(items)


def _as_numbers(answers: Any) -> Floats:
    """Return the answers to a batch as floats."""
    try:
        given = np.asarray(answers)
        if given.dtype.kind in "biufO":
            return given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(_not_numbers(answers)) from error
    raise ValueError(_not_numbers(answers))


def _not_numbers(answers: Any) -> str:
    return (
        f"prefer returned {short(answers)}: with batch=True it must return one number in [0, 1] a "
        f"pair, {_MEANING}"
    )


def _as_probability(i: int, j: int, answer: Any) -> float:
    if type(answer) in {bool, int, float} and 0 <= answer <= 1:
        return float(answer)
    if isawaitable(answer):
        _refuse_awaitable(answer)
    value = plain_number(answer)
    if not _is_probability(value):
        raise ValueError(
            f"prefer returned {short(answer)} for items {i} and {j}: it must return a number in "
            f"[0, 1], {_MEANING}"
        )
    return float(value)


def _is_probability(value: Any) -> bool:
    return is_number(value, 1.0)


def _is_position(value: Any, n: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < n


def _refuse_awaitable(answer: Any) -> NoReturn:
    if hasattr(answer, "close"):
        answer.close()
    raise TypeError("prefer returned an awaitable: use aquicksort and await it")


def _read_log(log: list[Any], n: int) -> tuple[Indices, Indices, Indices, Floats]:
    """Return the unordered pairs of a log, and by ordered pair its key, count and sum of answers.

    The keys are sorted, with a last one that no pair has.
    """
    check_log(log, n)
    pairs = np.array([entry[:2] for entry in log], dtype=np.int64).reshape(-1, 2)
    answers = np.array([entry[2] for entry in log], dtype=np.float64)
    keys, inverse = np.unique(pairs @ [n, 1], return_inverse=True)
    return (
        np.unique(np.sort(pairs, axis=1), axis=0),
        np.append(keys, np.iinfo(np.int64).max),
        np.append(np.bincount(inverse), 0),
        np.append(np.bincount(inverse, answers), 0.0),
    )


def check_log(log: Any, n: int) -> None:
    """Refuse what is no list of (i, j, p), answers about n items."""
    if not isinstance(log, list):
        raise TypeError(f"log must be a list of (i, j, p), not {type(log)}")
    for entry in log:
        if not (
            isinstance(entry, tuple | list)
            and len(entry) == 3
            and all(_is_position(i, n) for i in entry[:2])
            and entry[0] != entry[1]
            and _is_probability(entry[2])
        ):
            raise ValueError(
                f"log holds {short(entry)}: an entry is (i, j, p), two positions among the {n} "
                f"items and {_MEANING}; pass a log together with the items that it was made for"
            )


def make_asker(
    items: Any,
    prefer: Callable[..., Any],
    batch: bool,
    repeats: int,
    symmetrise: bool,
    max_calls: int | None,
    log: list[Any] | None,
    progress: Progress | None,
) -> Asker:
    """Return what asks a comparator for a sort."""
    return Asker(
        items, prefer, batch=batch, repeats=repeats, symmetrise=symmetrise, max_calls=max_calls,
        log=log, progress=progress,
    )  # fmt: skip


def as_ranking(
    asker: Asker, order: Indices, certain: np.ndarray[Any, np.dtype[np.bool_]]
) -> Ranking:
    """Return an order of the items of an asker as a `Ranking`."""
    return Ranking(
        order=asker.take(order),
        positions=positions_of(order),
        n_calls=asker.n_calls,
        n_batches=asker.n_batches,
        log=asker.log,
        certain=certain,
    )
