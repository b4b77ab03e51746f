"""Parts on a Dask cluster, or in a collection that Dask's local scheduler computes."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from rankwise._core.arguments import shortened
from rankwise.distributed._block import Loaded, Raw, Seen, load_block
from rankwise.distributed._machine import bytes_of, find_pieces, read_piece, wanted_columns
from rankwise.distributed._parts import Kept, Parts, Tree, _Leaf, _Merge, logger, weigh
from rankwise.distributed._waiting import check_open, lost_errors, release, results_of

# Values larger than this go straight to the workers, past the scheduler.
_LARGE = 100_000
# How often a pass is begun again after values on their way were lost with a worker.
_TRIES = 5
# Seconds until the scheduler has noticed that a worker is gone.
_PAUSE = 1.0


def import_dask(name: str = "dask") -> Any:
    """Import a module of Dask, or say how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is not installed, which this needs: pip install 'rankwise[dask]'"
        ) from error


def find_client(client: Any) -> Any:
    """Return the client given, else the current one, else None for the local scheduler."""
    if client is not None:
        if not (hasattr(client, "compute") and hasattr(client, "persist")):
            raise TypeError(f"client={shortened(client)} must be a distributed.Client")
        check_open(client)
        return client
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].default_client()
    except ValueError:
        return None


def say_dashboard(client: Any) -> None:
    """Log where a cluster shows its progress."""
    link = getattr(client, "dashboard_link", None)
    if link:
        logger.info("the cluster's dashboard: %s", link)


class _Sealed:
    """A value that Dask shall not look into."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _open(value: Any) -> Any:
    return value.value if isinstance(value, _Sealed) else value


def _raw(X: Any, y: Any, qid: Any, sample_weight: Any, features: Any) -> Raw:
    return Raw(_open(X), _open(y), _open(qid), _open(sample_weight), _open(features))


def _load(part: int, raw: Raw, transformers: _Sealed, check: bool | str) -> Loaded:
    return load_block(part, raw, transformers.value, check=check)


def _read_piece(columns: _Sealed, *fields: Any) -> Any:
    return read_piece(columns.value, *fields)


def _apply(leaf: _Sealed, part: int, raw: Raw, *values: Any) -> Any:
    return leaf.value(part, raw, *map(_open, values))


def _advance(leaf: _Sealed, part: int, raw: Raw, before: Any) -> tuple[list[Seen], Any]:
    seen, state = _open(before)
    looks, state = leaf.value(part, raw, state)
    return [*seen, looks], state


def _second(leaf: _Sealed, part: int, raw: Raw, *values: Any) -> Any:
    return _apply(leaf, part, raw, *values)[1]


class ClusterParts(Parts):
    """Parts that lie on the workers, or are computed by the local scheduler.

    Parameters
    ----------
    parts : list of Delayed
        Each makes a `Raw`.
    given : Raw
        What the caller gave.
    client : distributed.Client or None
        None: the local scheduler.
    """

    def __init__(self, parts: Sequence[Any], given: Raw, client: Any) -> None:
        super().__init__(len(parts), given)
        self._parts, self.client = list(parts), client
        self._dask = import_dask()
        self._held: list[Any] = []  # futures of what was loaded or kept on the workers for this

    @property
    def n_workers(self) -> int:
        """Threads of all workers."""
        if self.client is None:
            return os.cpu_count() or 1
        return max(1, sum(self.client.nthreads().values()))

    def persist(self) -> None:
        """Load all rows into the memory of the workers, which may put some on their disks."""
        load = self._dask.delayed(_load, pure=False)
        sealed = _Sealed(self._transformers)
        self._parts = self._persisted(
            [load(part, raw, sealed, self._check) for part, raw in enumerate(self._parts)]
        )
        self._transformers = ()

    def close(self) -> None:
        """Let go of what was loaded and kept for this, also if it is not there yet."""
        release(self._held)
        self._held.clear()
        self._parts = []

    def _map(self, leaf: _Leaf, each: Sequence[Sequence[Any]], along: Sequence[Kept]) -> list[Any]:
        return self._compute(lambda: self._leaves(_apply, leaf, each, along))

    def _reduce(
        self, leaf: _Leaf, merge: _Merge, each: Sequence[Sequence[Any]], along: Sequence[Kept]
    ) -> tuple[list[Seen], Any]:
        def build() -> list[Any]:
            tree = Tree(self._dask.delayed(merge, pure=False))
            for value in self._leaves(_apply, leaf, each, along):
                tree.add(value)
            return [tree.finish()]

        return self._compute(build)[0]

    def _fold(self, leaf: _Leaf, states: Sequence[Any]) -> tuple[list[Seen], list[Any]]:
        def build() -> list[Any]:
            advance = self._dask.delayed(_advance, pure=False)
            sent = self._send(_Sealed(leaf), leaf.shared)
            now: list[Any] = [self._send(_Sealed(([], state)), state) for state in states]
            for part, raw in enumerate(self._parts):
                now = [advance(sent, part, raw, state) for state in now]
            return now

        ends = self._compute(build)
        return ends[0][0], [state for _, state in ends]

    def _keep(self, leaf: _Leaf, each: Sequence[Sequence[Any]], along: Sequence[Kept]) -> Kept:
        values = self._leaves(_second, leaf, each, along, lasting=True)
        return Kept(self._persisted(values))

    def _persisted(self, values: list[Any]) -> list[Any]:
        if self.client is None:
            return list(self._dask.persist(*values))
        held = list(self.client.persist(values))
        self._held += import_dask("distributed").futures_of(held)
        return held

    def _leaves(
        self,
        function: Callable[..., Any],
        leaf: _Leaf,
        each: Sequence[Sequence[Any]],
        along: Sequence[Kept],
        *,
        lasting: bool = False,
    ) -> list[Any]:
        """Return what computes the leaf of each part."""
        apply = self._dask.delayed(function, pure=False)
        sent = self._send(_Sealed(leaf), leaf.shared, lasting=lasting)
        return [
            apply(
                sent,
                part,
                raw,
                *(kept.values[part] for kept in along),
                *(self._send(_Sealed(v[part]), v[part], lasting=lasting) for v in each),
            )
            for part, raw in enumerate(self._parts)
        ]

    def _send(self, sealed: _Sealed, value: Any, *, lasting: bool = False) -> Any:
        """Return a value for a task: itself if small, else where it was sent.

        What must outlive a worker goes with the task, however large.
        """
        if self.client is None or lasting or weigh(value) <= _LARGE:
            return sealed
        return self.client.scatter(sealed, hash=False)

    def _compute(self, build: Callable[[], list[Any]]) -> list[Any]:
        """Return the values of a pass, begun again if something on its way was lost."""
        if self.client is None:
            return list(self._dask.compute(*build()))
        for left in reversed(range(_TRIES)):
            futures: list[Any] = []
            check_open(self.client)
            try:
                futures = self.client.compute(build())
                return results_of(self.client, futures, partial(self._say_done, futures))
            except lost_errors():
                if not left:
                    raise
                logger.warning("a worker was lost with values on their way: the pass begins again")
                sleep(_PAUSE)
            finally:
                release(futures)
        raise AssertionError

    def _say_done(self, futures: Sequence[Any], _: Any) -> None:
        """Say how far a pass is, as far as can be seen from here."""
        done = f", {sum(each.done() for each in futures)} done" if len(futures) > 1 else ""
        self.say(f"pass {self.traffic.passes} over {self.n_parts} parts{done}")


def cluster_parts(raw: Raw, client: Any, memory_limit: Any, width: int) -> ClusterParts:
    """Return the parts of a collection of Dask, of delayed frames or of Parquet for workers."""
    dask = import_dask()
    client = find_client(client)
    say_dashboard(client)
    X, sizes = raw.X, None
    if isinstance(X, str | Path):
        pieces = find_pieces(X, raw, bytes_of(memory_limit), width)
        load = dask.delayed(_read_piece, pure=False)
        rows = [load(_Sealed(wanted_columns(raw)), *piece) for piece in pieces]
    elif isinstance(X, list | tuple):
        rows = list(X)
    elif hasattr(X, "to_delayed") and hasattr(X, "columns"):
        rows = list(X.to_delayed())
    elif hasattr(X, "to_delayed") and getattr(X, "ndim", 0) == 2:
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        rows, sizes = X.to_delayed().ravel().tolist(), X.chunks[0]
    elif hasattr(X, "to_delayed"):
        raise ValueError(f"X must have a row for each sample, but its shape is {X.shape}")
    else:
        raise TypeError(
            f"X={shortened(X)} must be a dask array of rows, a dask dataframe, a list of delayed "
            "frames or a path of Parquet that workers can read; an array in memory becomes one by "
            "dask.array.from_array"
        )
    columns = [_columns(value, name, len(rows), sizes) for name, value in raw.columns().items()]
    columns.append([_Sealed(raw.features)] * len(rows))
    build = dask.delayed(_raw, pure=False)
    parts = [build(*values) for values in zip(rows, *columns, strict=True)]
    return ClusterParts(parts, raw, client)


def _is_lazy(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in {"dask", "dask_expr", "distributed"}


def _as_many(cut: list[Any], name: str, n: int) -> list[Any]:
    """Return the parts of a column, which are as many as those of X."""
    if len(cut) != n:
        raise ValueError(
            f"{name} has {len(cut)} parts and X has {n}: cut both alike, for example by "
            f"{name}.rechunk, or take both from one dataframe"
        )
    return cut


def _check_length(name: str, entries: int, rows: int) -> None:
    if entries != rows:
        raise ValueError(f"{name} has {entries} entries for {rows} rows of X: give each row one")


def _columns(value: Any, name: str, n: int, sizes: Any) -> list[Any]:
    """Return a column part by part."""
    if value is None or isinstance(value, str):
        return [_Sealed(value)] * n
    if isinstance(value, list | tuple) and value and all(map(_is_lazy, value)):
        return _as_many(list(value), name, n)
    if hasattr(value, "to_delayed"):
        if sizes is not None and hasattr(value, "rechunk") and value.chunks[0] != sizes:
            known = not np.isnan(np.sum([*value.chunks[0], *sizes]))
            if known:
                _check_length(name, sum(value.chunks[0]), sum(sizes))
                value = value.rechunk((sizes, *value.chunks[1:]))
        cut = value.to_delayed()
        cut = cut.ravel().tolist() if hasattr(cut, "ravel") else list(cut)
        return _as_many(cut, name, n)
    array = value if hasattr(value, "dtype") else np.asarray(value)
    if sizes is None or np.isnan(np.sum(sizes)):
        raise ValueError(
            f"{name} is an array in memory, but how many rows each part of X has is not known: "
            f"give {name} as a collection of Dask"
        )
    _check_length(name, len(array), sum(sizes))
    edges = np.cumsum(sizes)[:-1]
    return [_Sealed(each) for each in np.split(np.asarray(array), edges)]
