"""Rows in partitions: on disk, read one after the other, or Dask's, computed where they are.

A learner calls the same methods of both:

- ``map(function, *shared)``: a list of ``function(block, *shared)`` of all partitions;
- ``reduce(function, merge, *shared)``: the same merged, on a cluster in a tree;
- ``fold(function, states, *shared)``: each state goes through all partitions in order,
  ``state = function(block, state, *shared)``.

``each=`` holds values for each partition, which come between block and shared values. A function
is pure and defined at the top of a module, so that Dask can run it again on another worker. Values
travel in the graph, so that Dask itself computes again what was lost with a worker. All numbers are
checked in the first pass, whichever it is.
"""

import operator
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from functools import partial, reduce
from itertools import islice, pairwise
from numbers import Integral
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.arguments import shortened
from rankwise.distributed._partition import (
    Block,
    Header,
    Raw,
    check_alike,
    check_columns,
    read_block,
)
from rankwise.distributed.connection import (
    RETRIES,
    find_client,
    import_dask,
    log_dashboard,
    release,
    results_of,
)

# Results that are merged in one task.
FAN_IN = 8
# Values with more bytes are sent to one worker, from which the others get them.
_LARGE = 100_000
# A block in double precision may take this share of the limit: the next one is read at the same
# time, and learners work on copies.
_SHARE = 32
_LARGEST_BLOCK, _LEAST_LIMIT = 64 * 10**6, 100 * 10**6
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

Function = Callable[..., Any]
Each = Sequence[Sequence[Any]]


def n_bytes(value: Any) -> int:
    """Return the bytes of the numbers and names in a value."""
    if value is None or isinstance(value, bool):
        return 0
    if isinstance(value, np.ndarray):
        return value.nbytes if value.dtype.kind != "O" else n_bytes(value.tolist())
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return n_bytes([*value, *value.values()])
    if isinstance(value, list | tuple):
        return sum(map(n_bytes, value))
    return n_bytes(vars(value)) if hasattr(value, "__dict__") else 8


def call_on_block(
    function: Function,
    shared: tuple[Any, ...],
    transformers: tuple[Any, ...],
    finite: bool | str,
    part: int,
    values: Sequence[Any],
    raw: Raw | Block,
) -> tuple[list[Header], Any]:
    """Return the header of a partition, and the function of its rows if there are any."""
    block = read_block(part, raw, finite=finite)
    header = block.header()
    if not header.n_rows and function is not _whole:
        return [header], None
    if transformers and header.n_rows:
        X = block.X
        for each in transformers:
            X = each.transform(X)
        X = X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)
        block = block._replace(X=X, names=None)
    return [header], function(block, *values, *shared)


def merge_pairs(
    merge: Function, pairs: Sequence[tuple[list[Header], Any]]
) -> tuple[list[Header], Any]:
    """Merge the results of neighbours; None stands for nothing."""
    headers = [header for some, _ in pairs for header in some]
    results = [result for _, result in pairs if result is not None]
    try:
        return headers, reduce(merge, results) if results else None
    except ValueError:
        check_alike(headers)
        raise


class Partitions:
    """Rows that are read block by block; the next one while the last is worked on.

    Parameters
    ----------
    n_parts : int
        How many there are; after the first pass, how many have rows.
    read : callable
        Returns an iterator over all partitions.
    given : Raw
        The caller's arguments.
    limit : int, default=None
        Bytes of memory that a fit should stay within.

    Attributes
    ----------
    traffic : SimpleNamespace
        Bytes sent to the partitions and back, passes over the rows, and the seconds of these.
    numbers, rows : lists of int
        The partitions that have rows, and how many, without those of weight 0; after the first
        pass.
    n_features, names, types
        As in `Header`; after the first pass.
    """

    rows: list[int]
    n_features: int
    names: tuple[str, ...] | None
    types: dict[str, str]
    # A learner that takes NaN as a missing value sets this before the first pass.
    allow_nan = False
    # Called with a sentence on the progress of the fit.
    progress: Callable[[str], object] | None = None
    # Seconds that a cluster may be without workers, see `seconds_without_workers`.
    timeout: float | str | None = None

    def __init__(
        self, n_parts: int, read: Callable[[], Iterable[Raw]], given: Raw, limit: int | None = None
    ) -> None:
        self.n_parts, self.read, self.limit = n_parts, read, limit
        self.numbers = list(range(n_parts))
        self.has_queries = given.qid is not None
        self.traffic = SimpleNamespace(sent=0, back=0, passes=0, seconds=0.0)
        self._checked = False
        self._transformers: tuple[Any, ...] = ()

    def map(self, function: Function, *shared: Any, each: Each = ()) -> list[Any]:
        """Return ``function(block, *each, *shared)`` of every partition with rows, in order."""
        with self._pass(shared, each):
            pairs = self._compute(self.calls(function, shared, each))
        self._record([header for headers, _ in pairs for header in headers])
        results = [result for (header,), result in pairs if header.n_rows]
        self.traffic.back += n_bytes(results)
        return results

    def reduce(self, function: Function, merge: Function, *shared: Any, each: Each = ()) -> Any:
        """Return the results that `map` would return, merged; None stands for nothing."""
        with self._pass(shared, each):
            headers, result = self._merged(
                self.calls(function, shared, each), partial(merge_pairs, merge)
            )
        self._record(headers)
        self.traffic.back += self.n_parts * n_bytes(result)
        return result

    def fold(self, function: Function, states: Sequence[Any], *shared: Any) -> list[Any]:
        """Return each state after all partitions, ``function(block, state, *shared)`` at each.

        States are independent: on a cluster one is at one partition while the next is at another.
        """
        self.look()
        with self._pass((*shared, *states), ()):
            apply, call = self.delayed(_result), self._call(function, shared)
            results = [self.delayed(partial(_same, state))() for state in states]
            for part, raw in self._raws():
                results = [apply(call, part, [state], raw) for state in results]
            results = self._compute(results)
        self.traffic.back += n_bytes(results)
        return results

    def kept(self, function: Function, *shared: Any, each: Each = ()) -> list[Any]:
        """Return the results that `map` would return, where they are: on Dask they are delayed."""
        self.look()
        with self._pass(shared, each):
            return list(self.calls(function, shared, each, _result))

    def mapped(self, transformer: Any) -> Self:
        """Return the same partitions with their rows transformed, each time they are read."""
        self.look()
        view = copy(self)
        view._transformers = (*self._transformers, transformer)
        view.n_features, view.names = int(transformer.transform(self.fetch([0])).shape[1]), None
        return view

    def look(self) -> None:
        """Check all rows, if no pass has done so yet."""
        if not self._checked:
            self.map(_nothing)

    def fetch(self, rows: Any) -> Any:
        """Return some rows in double precision, given by their sorted numbers among all."""
        numbers, edges = np.asarray(rows), np.cumsum([0, *self.rows])
        cuts = np.searchsorted(numbers, edges)
        each = [numbers[a:b] - edge for (a, b), edge in zip(pairwise(cuts), edges, strict=False)]
        found = self.map(_some_rows, each=[each])
        return sparse.vstack(found, format="csr") if sparse.issparse(found[0]) else np.vstack(found)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split an array that has an entry for each row by partitions."""
        return np.split(values, np.cumsum(self.rows)[:-1])

    def set_features(self, estimator: Any) -> None:
        """Set the number of features and their names, as scikit-learn's validation does."""
        estimator.n_features_in_ = self.n_features
        estimator.__dict__.pop("feature_names_in_", None)
        if self.names is not None:
            estimator.feature_names_in_ = np.array(self.names, dtype=object)

    def say(self, sentence: str) -> None:
        """Report the progress of the fit."""
        if self.progress is not None:
            self.progress(sentence)

    @property
    def n_workers(self) -> int:
        """Partitions that can be computed at the same time."""
        return 1

    @property
    def n_rows(self) -> int:
        """All rows of positive weight; after the first pass."""
        return sum(self.rows)

    @contextmanager
    def _pass(self, shared: Any, each: Each) -> Iterator[None]:
        """Count a pass over the rows."""
        self.traffic.passes += 1
        self.traffic.sent += n_bytes(list(each)) + self.n_parts * n_bytes(shared)
        self.say(f"pass {self.traffic.passes} over {self.n_parts} parts")
        begin = perf_counter()
        yield
        self.traffic.seconds += perf_counter() - begin

    def _record(self, headers: list[Header]) -> None:
        if self._checked:
            return
        full = [each for each in headers if each.n_rows]
        if not full:
            raise ValueError(
                f"all {len(headers)} parts are empty, or all their rows have weight 0: there is "
                "nothing to learn from"
            )
        check_alike(full)
        self.n_features, self.names, self.types = full[0].n_features, full[0].names, full[0].types
        self.numbers, self.rows = [each.part for each in full], [each.n_rows for each in full]
        self.n_parts, self._checked = len(full), True

    def calls(
        self, function: Function, shared: tuple[Any, ...], each: Each, run: Function | None = None
    ) -> Iterable[Any]:
        """Yield the calls of a function of each partition, or what they return if not delayed."""
        apply, call = self.delayed(run or operator.call), self._call(function, shared)
        for at, (part, raw) in enumerate(self._raws()):
            yield apply(call, part, [values[at] for values in each], raw)

    # ------------------------------------------------------------------ overridden for Dask

    def persist(self) -> None:
        """Prepare for many passes: workers keep the rows in memory, and from disk nothing is."""

    def close(self) -> None:
        """Release what was computed for this."""

    def delayed(self, function: Function) -> Function:
        """Return a function that is called where the partitions are."""
        return function

    def _call(self, function: Function, shared: tuple[Any, ...]) -> Any:
        """Return a function of number, values and rows of a partition."""
        finite = not self._checked and ("allow-nan" if self.allow_nan else True)
        return partial(call_on_block, function, shared, self._transformers, finite)

    def _raws(self) -> Iterator[tuple[int, Raw]]:
        """Yield numbers and rows of the partitions, and read one ahead."""
        raws, last, wanted = iter(self.read()), self.numbers[-1], set(self.numbers)
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(next, raws, None)
            for part in range(last + 1):
                raw = ahead.result()
                if raw is None:
                    raise ValueError(f"X has ended before part {part} of {last + 1}: it changed")
                ahead = reader.submit(next, raws, None)
                if part:
                    self.say(f"pass {self.traffic.passes} over {self.n_parts} parts, {part} done")
                if part in wanted:
                    yield part, raw

    def start(self, calls: Iterable[Any]) -> list[Any]:
        """Return the results of delayed calls, on a cluster futures of them."""
        return list(calls)

    def _compute(self, calls: Iterable[Any]) -> list[Any]:
        return list(calls)

    def _merged(self, calls: Iterable[Any], merge: Function) -> Any:
        return reduce(lambda one, other: merge([one, other]), calls)


class DaskPartitions(Partitions):
    """Partitions on the workers of a cluster, or computed by Dask's local scheduler.

    Parameters
    ----------
    parts : list of Delayed
        Each makes a `Raw`.
    given : Raw
        The caller's arguments.
    client : distributed.Client or None
        None: the local scheduler.
    """

    def __init__(self, parts: Sequence[Any], given: Raw, client: Any) -> None:
        super().__init__(len(parts), lambda: parts, given)
        self.client, self._parts = client, dict(enumerate(parts))
        self._delayed = import_dask().delayed
        self._held: list[Any] = []  # futures of the rows

    @property
    def n_workers(self) -> int:
        """Threads of all workers."""
        threads = os.cpu_count() if self.client is None else sum(self.client.nthreads().values())
        return max(1, threads or 1)

    def persist(self) -> None:
        """Load all rows into the memory of the workers, which may put some on their disks."""
        loads = list(self.calls(_whole, (), (), _result))
        self._transformers = ()
        if self.client is None:
            loads = import_dask().persist(*loads)
        else:
            loads = self.client.persist(loads, retries=RETRIES)
            self._held += import_dask("distributed").futures_of(loads)
        self._parts = dict(zip(self.numbers, loads, strict=True))

    def close(self) -> None:
        """Release what was loaded for this, also if it is not there yet."""
        release(self._held)
        self._held, self._parts = [], {}

    def delayed(self, function: Function) -> Function:
        """Return a function that is called where the partitions are."""
        delayed: Function = self._delayed(function, pure=False)
        return delayed

    def _raws(self) -> Iterator[tuple[int, Any]]:
        return ((part, self._parts[part]) for part in self.numbers)

    def _call(self, function: Function, shared: tuple[Any, ...]) -> Any:
        """Return the function for the graph; if it is large, it has its own task."""
        call = super()._call(function, shared)
        large = n_bytes([*shared, *self._transformers]) > _LARGE
        return self.delayed(partial(_same, call))() if large else call

    def start(self, calls: Iterable[Any]) -> list[Any]:
        """Return the results of delayed calls, on a cluster futures of them."""
        if self.client is None:
            return list(import_dask().compute(*calls))
        with warnings.catch_warnings():
            # values travel in the graph, so that none is lost with a worker
            warnings.filterwarnings("ignore", "Sending large graph")
            return list(self.client.compute(list(calls), retries=RETRIES))

    def _compute(self, calls: Iterable[Any]) -> list[Any]:
        if self.client is None:
            return self.start(calls)
        futures: list[Any] = []
        try:
            futures = self.start(calls)
            look = partial(self._say_done, futures)
            return results_of(self.client, futures, look, timeout=self.timeout)
        finally:
            release(futures)

    def _say_done(self, futures: Sequence[Any]) -> None:
        """Report the known progress of a pass."""
        done = f", {sum(each.done() for each in futures)} done" if len(futures) > 1 else ""
        self.say(f"pass {self.traffic.passes} over {self.n_parts} parts{done}")

    def _merged(self, calls: Iterable[Any], merge: Function) -> Any:
        run, values = self.delayed(merge), list(calls)
        while len(values) > 1:
            values = [run(values[k : k + FAN_IN]) for k in range(0, len(values), FAN_IN)]
        return self._compute(values)[0]


def _nothing(block: Block) -> None:  # noqa: ARG001
    return None


def _some_rows(block: Block, rows: NDArray[np.int64]) -> Any:
    return block.X[rows].astype(np.float64)


def _same(value: Any) -> Any:
    return value


def _whole(block: Block) -> Block:
    return block


def _result(call: Function, *arguments: Any) -> Any:
    return call(*arguments)[1]


# ---------------------------------------------------------------------- partitions of arguments


def as_partitions(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    columns: Sequence[str] | None = None,
    client: Any = None,
    memory_limit: int | str | None = None,
    width: int = 0,
) -> Partitions:
    """Return the partitions of what a caller gave.

    Parameters
    ----------
    X, y, qid, sample_weight, columns, client, memory_limit
        As for `rankwise.distributed.fit`.
    width : int, default=0
        Features that rows are mapped to, if these are more than they have.
    """
    raw = Raw(X, y, qid, sample_weight, _check_names(columns, (y, qid, sample_weight)))
    on_disk = isinstance(X, str | Path)
    if client is not None or is_dask(X) or are_dask(X):
        if memory_limit is not None and not on_disk:
            raise ValueError(
                f"memory_limit={shortened(memory_limit)} is for rows on disk, but X is Dask's: "
                "leave it out; workers have limits of their own (dask worker --memory-limit)"
            )
        return _dask_partitions(raw, client, bytes_of(memory_limit), width)
    limit = bytes_of(memory_limit)
    if on_disk:
        groups = parquet_groups(raw, limit, width)
        n = sum(-(-rows // size) for _, _, rows, size in groups)
        return Partitions(
            n,
            lambda: (
                piece
                for path, group, _, size in groups
                for piece in read_group(raw, path, group, size)
            ),
            raw,
            limit,
        )
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return _array_partitions(raw, limit, width)
    raise TypeError(
        f"X={shortened(X)} must be a dask array or dataframe, a list of delayed, the path of a "
        "folder of Parquet, or an array, for example a numpy.memmap; a frame or lists in memory "
        "are fitted by estimator.fit(X, y)"
    )


def is_dask(value: Any) -> bool:
    """Whether a value is a collection of Dask, delayed or a future."""
    return type(value).__module__.partition(".")[0] in {"dask", "dask_expr", "distributed"}


def are_dask(values: Any) -> bool:
    """Whether values are a list of these."""
    return isinstance(values, list | tuple) and bool(values) and all(map(is_dask, values))


def delayed_parts(collection: Any) -> list[Any]:
    """Return the partitions of a collection of Dask."""
    parts = collection.to_delayed()
    return parts.ravel().tolist() if hasattr(parts, "ravel") else list(parts)


def _check_names(columns: Any, others: Sequence[Any]) -> tuple[str, ...] | None:
    """Return the names of the features; raise if they are not names, or have another use."""
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


def bytes_of(limit: Any) -> int:
    """Return a limit of memory in bytes, 4 GB by default.

    Raises
    ------
    ValueError
        If it is neither a number of bytes nor a string such as "4GB", or less than 100 MB.
    """
    found = 4 * 10**9 if limit is None else 0
    if isinstance(limit, Integral):
        found = int(limit)
    elif isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?I?B|)\s*", limit.upper())
        found = int(float(match[1]) * _UNITS.get(match[2], 0)) if match else 0
    if found < _LEAST_LIMIT:
        raise ValueError(
            f"memory_limit={shortened(limit)} must be at least 100 MB: a number of bytes, or a "
            "string such as '4GB'"
        )
    return found


def block_rows(n_columns: int, limit: int) -> int:
    """Return how many rows a block may have."""
    return max(1, min(limit // _SHARE, _LARGEST_BLOCK) // (8 * max(1, n_columns)))


def parquet_groups(raw: Raw, limit: int, width: int) -> list[tuple[str, int, int, int]]:
    """Return path, number, rows and rows at a time of the row groups of Parquet files.

    Raises
    ------
    ValueError
        If there is none, or a column is missing in one of them.
    """
    where = Path(raw.X)
    paths = sorted(where.rglob("*.parquet")) if where.is_dir() else [where]
    if not paths or not all(each.is_file() for each in paths):
        raise ValueError(f"X={str(where)!r} has no file whose name ends in .parquet")
    parquet = import_dask("pyarrow.parquet", "data")
    for name, value in raw.columns().items():
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"{name} must be the name of a column of the Parquet files, not "
                f"{type(value).__name__}"
            )
    groups, first = [], None
    for path in paths:
        try:
            metadata = parquet.read_metadata(path)
        except ValueError as error:  # ArrowInvalid
            raise ValueError(f"X={str(path)!r} is not a Parquet file: {error}") from error
        known = metadata.schema.to_arrow_schema().names
        check_columns(raw, known, path.name)
        first = first or known
        if raw.features is None and known != first:
            odd = sorted(set(known) ^ set(first))
            what = f"the column {odd[0]!r} is in one only" if odd else "in another order"
            raise ValueError(
                f"{path.name} has other columns than {paths[0].name}, {what}: name those that "
                "are features by columns=[...], or write all files with the same columns"
            )
        size = block_rows(max(len(known), width), limit)
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        groups += [(str(path), group, rows, size) for group, rows in enumerate(sizes) if rows]
    if not groups:
        raise ValueError(f"X={str(where)!r} has no rows")
    return groups


def read_group(raw: Raw, path: str, group: int, size: int) -> Iterator[Raw]:
    """Yield the rows of a row group of a Parquet file, some at a time."""
    names = None
    if raw.features is not None:
        names = list(dict.fromkeys([*raw.features, *raw.named().values()]))
    with import_dask("pyarrow.parquet", "data").ParquetFile(path) as file:
        for batch in file.iter_batches(size, row_groups=[group], columns=names):
            yield raw._replace(X=batch.to_pandas(ignore_metadata=True))


def _read_piece(raw: Raw, path: str, group: int, size: int, number: int) -> Raw:
    """Return the rows of one block of a row group."""
    piece = next(islice(read_group(raw, path, group, size), number, None), None)
    if piece is None:
        raise ValueError(f"{path} has changed: the rows from {number * size} on are gone")
    return piece


def _array_partitions(raw: Raw, limit: int, width: int) -> Partitions:
    """Return blocks of rows of an array, memory-mapped or not."""
    X = raw.X
    if X.ndim != 2:
        raise ValueError(f"X must have a row for each sample, but it is {shortened(X)}")
    check_columns(raw, (), "X, which is an array")
    columns: dict[str, Any] = {
        name: value if value is None or hasattr(value, "dtype") else np.asarray(value)
        for name, value in raw.columns().items()
    }
    for name, column in columns.items():
        if column is not None:
            _check_length(name, len(column), X.shape[0])
    whole = raw._replace(X=X.tocsr() if sparse.issparse(X) else X, **columns)
    size = block_rows(max(X.shape[1], width), limit)

    def read() -> Iterator[Raw]:
        for start in range(0, max(1, X.shape[0]), size):
            rows = slice(start, start + size)
            yield Raw(*(None if value is None else value[rows] for value in whole))

    return Partitions(max(1, -(-X.shape[0] // size)), read, raw, limit)


def _dask_partitions(raw: Raw, client: Any, limit: int, width: int) -> DaskPartitions:
    """Return the partitions of a collection of Dask, of delayed or of Parquet for workers."""
    delayed = partial(import_dask().delayed, pure=False)
    client = find_client(client)
    log_dashboard(client)
    X, sizes = raw.X, None
    if isinstance(X, str | Path):
        groups, read = parquet_groups(raw, limit, width), delayed(_read_piece)
        rows = [
            read(raw, path, group, size, number)
            for path, group, n, size in groups
            for number in range(-(-n // size))
        ]
        return DaskPartitions(rows, raw, client)
    if isinstance(X, list | tuple):
        rows = list(X)
    elif hasattr(X, "to_delayed"):
        if getattr(X, "ndim", 0) != 2:
            raise ValueError(f"X must have a row for each sample, but its shape is {X.shape}")
        if not hasattr(X, "columns"):
            X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
            sizes = X.chunks[0]
        rows = delayed_parts(X)
    else:
        raise TypeError(
            f"X={shortened(X)} must be a dask array of rows, a dask dataframe, a list of delayed "
            "frames or a path of Parquet that workers can read; an array in memory becomes one by "
            "dask.array.from_array"
        )
    columns = [_split(value, name, len(rows), sizes) for name, value in raw.columns().items()]
    build = delayed(Raw)
    parts = [build(*values, raw.features) for values in zip(rows, *columns, strict=True)]
    return DaskPartitions(parts, raw, client)


def _check_length(name: str, entries: int, rows: int) -> None:
    if entries != rows:
        raise ValueError(f"{name} has {entries} entries for {rows} rows of X: give each row one")


def _split(value: Any, name: str, n: int, sizes: Any) -> list[Any]:
    """Return a column by partitions, as many as those of X."""
    if value is None or isinstance(value, str):
        return [value] * n
    known = sizes is not None and not np.isnan(np.sum(sizes))
    if are_dask(value):
        parts = list(value)
    elif hasattr(value, "to_delayed"):
        if known and hasattr(value, "chunks") and not np.isnan(np.sum(value.chunks[0])):
            _check_length(name, sum(value.chunks[0]), sum(sizes))
            value = value.rechunk((sizes, *value.chunks[1:]))
        parts = delayed_parts(value)
    elif known:
        array = np.asarray(value)
        _check_length(name, len(array), sum(sizes))
        parts = np.split(array, np.cumsum(sizes)[:-1])
    else:
        raise ValueError(
            f"{name} is an array in memory, but how many rows each part of X has is not known: "
            f"give {name} as a collection of Dask"
        )
    if len(parts) != n:
        raise ValueError(
            f"{name} has {len(parts)} parts and X has {n}: partition both alike, for example by "
            f"{name}.rechunk, or take both from one dataframe"
        )
    return parts
