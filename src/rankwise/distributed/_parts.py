"""Rows that lie in parts, on a cluster or on disk, and what can be asked of them.

A part is some rows in order, a `Block` when it is in memory. `Parts` are all of them. There are two
kinds: `rankwise.distributed._cluster.ClusterParts`, whose rows stay on the workers of a Dask
cluster (or in a Dask collection that the local scheduler computes), and
`rankwise.distributed._machine.MachineParts`, which reads one block after the other from Parquet
files or a memory-mapped array, and needs no Dask. A learner asks both the same:

- ``parts.map(function, *shared)``: a list of ``function(block, *shared)``, part by part;
- ``parts.reduce(function, merge, *shared)``: the same merged in a tree, always the same tree;
- ``parts.fold(function, states, *shared)``: each state goes through all parts in order,
  ``state = function(block, state, *shared)``;
- ``parts.keep(function, *shared)``: dicts of arrays that stay where the parts are, in memory of the
  workers or in files, to be given along in later calls.

A function is pure: it changes nothing that it is given, so that a part that was lost with a worker
is made again. It is defined at the top of a module, so that workers can import it. What it is given
beside the block comes in the order: kept values (``along=``), values of this part alone
(``each=``), values for all (``*shared``). All numbers are checked in the first pass, whichever it
is; ``n_rows``, ``n_features`` and the like are known after it.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.arguments import shortened
from rankwise.distributed._block import (
    Block,
    Raw,
    Seen,
    check_alike,
    compare,
    read_block,
    transformed,
)

logger = logging.getLogger("rankwise.distributed")

# Results that are merged at a time.
FAN_IN = 8

Function = Callable[..., Any]


@dataclass
class Traffic:
    """What was moved: bytes sent to the parts and brought back, and passes over the rows.

    ``seconds`` is how long passes were waited for; the rest of a fit is the driver's own work.
    """

    sent: int = 0
    back: int = 0
    passes: int = 0
    seconds: float = 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time spent inside."""
        begin = perf_counter()
        try:
            yield
        finally:
            seconds = perf_counter() - begin
            self.seconds += seconds
            logger.debug("pass %d over the rows took %.3g s", self.passes, seconds)


class Kept:
    """Dicts of arrays, one for each part, that lie where the parts are; see `Parts.keep`.

    Attributes
    ----------
    values : list
        What stands for each, as the kind of parts takes it.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)


class Parts(ABC):
    """Rows in parts.

    Attributes
    ----------
    n_parts : int
        How many there are.
    has_queries : bool
        Whether a qid was given.
    limit : int or None
        Bytes of memory that a fit should stay within; None: nobody said.
    traffic : Traffic
        What was moved so far.
    rows : list of int
        Rows of each part, those of weight 0 left out; after the first pass.
    n_features : int
        After the first pass.
    names : tuple of str or None
        Names of the features; after the first pass.
    kinds : dict of str to str
        The types of X, y, qid and sample_weight, those that were given; after the first pass.
    """

    rows: list[int]
    n_features: int
    names: tuple[str, ...] | None
    kinds: dict[str, str]
    # A learner that takes NaN as a missing value says so before the first pass.
    missing = False
    # Told in a sentence how far the fit is.
    progress: Callable[[str], object] | None = None

    def __init__(self, n_parts: int, given: Raw) -> None:
        self.n_parts = n_parts
        self.has_queries = given.qid is not None
        self.limit: int | None = None
        self.traffic = Traffic()
        self._checked = False
        self._transformers: tuple[Any, ...] = ()

    # ------------------------------------------------------------------ what learners ask

    def map(
        self,
        function: Function,
        *shared: Any,
        each: Sequence[Sequence[Any]] = (),
        along: Sequence[Kept] = (),
    ) -> list[Any]:
        """Return ``function(block, *along, *each, *shared)`` of every part, in order.

        Parameters
        ----------
        function : callable
            Pure, and defined at the top of a module.
        *shared : objects
            What it is given for all parts.
        each : sequence of sequences, default=()
            Each has an entry for every part, which the function of that part is given.
        along : sequence of Kept, default=()
            What was kept of the parts before.
        """
        self._count(each, shared, self.n_parts)
        leaf = _Leaf(function, shared, self._transformers, check=self._check)
        with self.traffic.waiting():
            pairs = self._map(leaf, each, along)
        self._note([seen for seen, _ in pairs])
        results = [result for _, result in pairs]
        self.traffic.back += weigh(results)
        return results

    def reduce(
        self,
        function: Function,
        merge: Callable[[Any, Any], Any],
        *shared: Any,
        each: Sequence[Sequence[Any]] = (),
        along: Sequence[Kept] = (),
    ) -> Any:
        """Return what `map` would, merged two by two; None stands for nothing.

        Neighbours are merged, `FAN_IN` at a time from the left, then these: the same tree for
        parts of any kind, so that rounding is the same.
        """
        self._count(each, shared, self.n_parts)
        leaf = _Leaf(function, shared, self._transformers, check=self._check)
        with self.traffic.waiting():
            seen, result = self._reduce(leaf, _Merge(merge), each, along)
        self._note(seen)
        self.traffic.back += self.n_parts * weigh(result)
        return result

    def fold(self, function: Function, states: Sequence[Any], *shared: Any) -> list[Any]:
        """Return each state after it has gone through all parts in order.

        At each it becomes ``function(block, state, *shared)``.

        States know nothing of each other: on a cluster one is at one part while the next is at
        another. They travel, the rows don't.
        """
        self._count((), shared, self.n_parts)
        self.traffic.sent += self.n_parts * weigh(list(states))
        leaf = _Leaf(function, shared, self._transformers, check=self._check)
        with self.traffic.waiting():
            seen, results = self._fold(leaf, states)
        self._note(seen)
        self.traffic.back += weigh(results)
        return results

    def keep(
        self,
        function: Function,
        *shared: Any,
        each: Sequence[Sequence[Any]] = (),
        along: Sequence[Kept] = (),
    ) -> Kept:
        """Keep what the function returns, a dict of arrays, where the part is.

        It is made again from the same if a worker is lost, and forgotten with the `Kept` returned.
        """
        self.look()
        self._count(each, shared, self.n_parts)
        with self.traffic.waiting():
            return self._keep(_Leaf(function, shared, self._transformers, check=False), each, along)

    def mapped(self, transformer: Any, n_features: int) -> "Parts":
        """Return the same parts with their rows transformed, each time that they are read.

        Parameters
        ----------
        transformer : fitted transformer of scikit-learn
            What each row becomes must not depend on other rows.
        n_features : int
            How many features it makes.
        """
        self.look()
        view = copy(self)
        view._transformers = (*self._transformers, transformer)
        view.n_features, view.names = n_features, None
        return view

    def look(self) -> None:
        """Check all rows and learn the attributes of this, if no pass has done so yet."""
        if not self._checked:
            self.map(_nothing)

    def say(self, what: str) -> None:
        """Tell whoever wants to know how far the fit is."""
        if self.progress is not None:
            self.progress(what)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array that has an entry for each row, in the order of the parts."""
        edges = np.concatenate([[0], np.cumsum(self.rows)]).tolist()
        return [values[a:b] for a, b in pairwise(edges)]

    @property
    def _check(self) -> bool | str:
        """How a pass checks the rows, see `read_block`."""
        return not self._checked and ("allow-nan" if self.missing else True)

    @property
    def n_workers(self) -> int:
        """Parts that can be worked on at a time."""
        return 1

    @property
    def n_rows(self) -> int:
        """All rows of positive weight; after the first pass."""
        return sum(self.rows)

    @abstractmethod
    def persist(self) -> None:
        """Prepare for many passes: a cluster loads the rows once and keeps them."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held for this."""

    # ------------------------------------------------------------------ what a kind supplies

    @abstractmethod
    def _map(
        self, leaf: "_Leaf", each: Sequence[Sequence[Any]], along: Sequence[Kept]
    ) -> list[Any]:
        """Return what the leaf returns for every part."""

    @abstractmethod
    def _reduce(
        self,
        leaf: "_Leaf",
        merge: "_Merge",
        each: Sequence[Sequence[Any]],
        along: Sequence[Kept],
    ) -> tuple[list[Seen], Any]:
        """Return what a `Tree` makes of what the leaf returns."""

    @abstractmethod
    def _fold(self, leaf: "_Leaf", states: Sequence[Any]) -> tuple[list[Seen], list[Any]]:
        """Return what was seen, and the last states."""

    @abstractmethod
    def _keep(self, leaf: "_Leaf", each: Sequence[Sequence[Any]], along: Sequence[Kept]) -> Kept:
        """Keep what the leaf returns."""

    def _count(self, each: Iterable[Any], shared: Any, times: int) -> None:
        self.traffic.passes += 1
        self.say(f"pass {self.traffic.passes} over {self.n_parts} parts")
        self.traffic.sent += weigh(list(each)) + times * weigh(shared)

    def _note(self, seen: Sequence[Seen]) -> None:
        if self._checked:
            return
        self.n_features, self.names, self.kinds = check_alike(seen)
        self.rows = [each.n_rows for each in seen]
        self._checked = True


class _Leaf:
    """A function of one part, as it is sent to where the part is."""

    def __init__(
        self,
        function: Function,
        shared: tuple[Any, ...],
        transformers: tuple[Any, ...],
        *,
        check: bool | str,
    ) -> None:
        self.function, self.shared, self.check = function, shared, check
        self.transformers = transformers

    def __call__(self, part: int, raw: Raw, *values: Any) -> tuple[Seen, Any]:
        """Return what the part looks like, and the function of it."""
        block, seen = self.read(part, raw)
        return seen, self.function(block, *values, *self.shared)

    def read(self, part: int, raw: Raw) -> tuple[Block, Seen]:
        """Return the rows of a part, and what it looks like."""
        block, seen = read_block(part, raw, check=self.check)
        return transformed(block, self.transformers), seen


class _Merge:
    """Merges what leaves returned."""

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self.merge = merge

    def __call__(self, pairs: Sequence[tuple[Any, Any]]) -> tuple[list[Seen], Any]:
        """Merge some neighbours from the left."""
        seen: list[Seen] = []
        result = None
        for looks, _ in pairs:
            seen += [looks] if isinstance(looks, Seen) else looks
        compare(seen)
        for _, value in pairs:
            if value is not None:
                result = value if result is None else self.merge(result, value)
        return seen, result


class Tree:
    """Merges values that come one by one, neighbours first, `FAN_IN` at a time.

    Parameters
    ----------
    combine : callable
        Given a list of neighbours, return them merged.
    """

    def __init__(self, combine: Callable[[list[Any]], Any]) -> None:
        self._combine = combine
        self._levels: list[list[Any]] = []  # not yet merged, the later ones at the lower levels

    def add(self, value: Any) -> None:
        """Add the next one."""
        for level in self._levels:
            level.append(value)
            if len(level) < FAN_IN:
                return
            value = self._combine(level.copy())
            level.clear()
        self._levels.append([value])

    def finish(self) -> Any:
        """Return all of them merged."""
        rest: list[Any] = []
        for level in self._levels:
            rest = [*level, self._combine(rest)] if rest else level
        return self._combine(rest)


def _nothing(block: Block) -> None:  # noqa: ARG001
    return None


def weigh(value: Any) -> int:
    """Return the bytes of the numbers in a value, as they travel."""
    if value is None or isinstance(value, bool):
        return 0
    if isinstance(value, np.ndarray):
        return value.nbytes if value.dtype.kind != "O" else sum(map(weigh, value.tolist()))
    if sparse.issparse(value):
        return sum(weigh(getattr(value, name)) for name in ("data", "indices", "indptr"))
    if isinstance(value, int | float | np.generic):
        return 8
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(weigh(name) + weigh(each) for name, each in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return sum(map(weigh, value))
    if is_dataclass(value):
        return sum(weigh(getattr(value, field.name)) for field in fields(value))
    return sum(map(weigh, vars(value).values())) if hasattr(value, "__dict__") else 8


def _check_names(columns: Any, others: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the names of the features; refuse what is no list of names, or has another use."""
    if columns is None:
        return None
    names = () if isinstance(columns, str) else tuple(columns)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"columns={shortened(columns)} must be a list of names of features")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"columns names {name!r} twice: name each feature once")
        if name in [other for other in others if isinstance(other, str)]:
            raise ValueError(
                f"columns names {name!r}, which is y, qid or sample_weight: leave it out"
            )
    return names


def as_parts(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    columns: Sequence[str] | None = None,
    client: Any = None,
    memory_limit: int | str | None = None,
    width: int = 0,
) -> Parts:
    """Return the parts of what a caller gave.

    Parameters
    ----------
    X : dask array or dataframe, list of delayed, path of a folder or file, ndarray or memmap
        The rows.
    y, qid, sample_weight : collection of the same kind, ndarray, str or None
        A string is the name of a column of X, which then is no feature.
    columns : sequence of str, default=None
        The columns of X that are features; None: all others.
    client : distributed.Client, default=None
        None: the current one if there is one, else the local scheduler, for collections of Dask.
    memory_limit : int or str, default=None
        Bytes, or a text such as "4GB", that reading on one machine should stay within.
    width : int, default=0
        Features that rows are mapped to, if these are more than they have.
    """
    raw = Raw(X, y, qid, sample_weight, _check_names(columns, (y, qid, sample_weight)))
    kind = type(X).__module__.partition(".")[0]
    of_dask = {"dask", "dask_expr", "distributed"}
    listed = (
        isinstance(X, list | tuple)
        and X
        and all(type(each).__module__.partition(".")[0] in of_dask for each in X)
    )
    if kind in of_dask or listed or client is not None:
        from rankwise.distributed._cluster import cluster_parts  # noqa: PLC0415

        if memory_limit is not None and not isinstance(X, str | Path):
            raise ValueError(
                f"memory_limit={shortened(memory_limit)} is for rows on disk, but X is Dask's: "
                "leave it out; workers have limits of their own (dask worker --memory-limit)"
            )
        return cluster_parts(raw, client, memory_limit, width)
    from rankwise.distributed._machine import machine_parts  # noqa: PLC0415

    return machine_parts(raw, memory_limit, width)
