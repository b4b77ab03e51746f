"""Parts on one machine: Parquet files and memory-mapped arrays, one block in memory at a time."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from numbers import Integral
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np
from scipy import sparse

from rankwise._core.arguments import shortened
from rankwise.distributed._block import Raw, Seen, check_columns
from rankwise.distributed._parts import Kept, Parts, Tree, _Leaf, _Merge

# A block in double precision may take this share of the limit: it is read ahead, converted, and
# learners work on copies of it.
_SHARE = 32
_LARGEST_BLOCK, _LEAST_LIMIT = 64 * 10**6, 100 * 10**6
DEFAULT_LIMIT = 4 * 10**9
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def bytes_of(limit: Any) -> int:
    """Return a limit of memory in bytes.

    Raises
    ------
    ValueError
        If it is neither a number of bytes nor a text such as "4GB", or less than 100 MB.
    """
    if limit is None:
        return DEFAULT_LIMIT
    found = None
    if isinstance(limit, Integral) and not isinstance(limit, bool):
        found = int(limit)
    elif isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?I?B|)\s*", limit.upper())
        if match and match[2] in _UNITS:
            found = int(float(match[1]) * _UNITS[match[2]])
    if found is None or found < _LEAST_LIMIT:
        raise ValueError(
            f"memory_limit={shortened(limit)} must be at least 100 MB: a number of bytes, or a "
            "text such as '4GB'"
        )
    return found


def block_rows(n_columns: int, limit: int) -> int:
    """Return how many rows a block may have."""
    return max(1, min(limit // _SHARE, _LARGEST_BLOCK) // (8 * max(1, n_columns)))


class Source(ABC):
    """Where the blocks of a machine come from."""

    n_parts: int

    @abstractmethod
    def read(self) -> Iterator[Raw]:
        """Yield all parts in order."""


class Piece(NamedTuple):
    """Some rows of a row group of a Parquet file."""

    path: str
    group: int
    start: int
    stop: int


class ParquetSource(Source):
    """A folder of Parquet files, in the order of their names, or a single one.

    Parameters
    ----------
    path : str or Path
        The folder or file.
    columns : Raw
        The names of the columns y, qid and sample_weight; X is not used.
    limit : int
        Bytes of memory, from which the size of the parts follows.
    width : int
        Columns that rows may be mapped to.
    """

    def __init__(self, path: Any, columns: Raw, limit: int, width: int) -> None:
        self.pieces = find_pieces(path, columns, limit, width)
        self.columns = columns
        self.n_parts = len(self.pieces)

    def read(self) -> Iterator[Raw]:
        """Yield all parts; a row group that is several parts is read once."""
        parquet = _import_pyarrow()
        for piece in self.pieces:
            if piece.start:
                continue
            with parquet.ParquetFile(piece.path) as file:
                for batch in file.iter_batches(
                    piece.stop, row_groups=[piece.group], columns=wanted_columns(self.columns)
                ):
                    yield self.columns._replace(X=ColumnTable(batch))


def find_pieces(path: Any, columns: Raw, limit: int, width: int) -> list[Piece]:
    """Return the parts of a folder or file of Parquet.

    Raises
    ------
    ValueError
        If there is none, or a column is missing in one of them.
    """
    where = Path(path)
    paths = sorted(where.rglob("*.parquet")) if where.is_dir() else [where]
    if not paths or not all(each.is_file() for each in paths):
        raise ValueError(f"X={str(path)!r} has no file whose name ends in .parquet")
    parquet = _import_pyarrow()
    for name, value in columns.columns().items():
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"{name} must be the name of a column of the Parquet files, not "
                f"{type(value).__name__}"
            )
    pieces = []
    first: list[str] = []
    for each in paths:
        with _open_file(parquet, each) as file:
            known = file.schema_arrow.names
            check_columns(columns, known, each.name)
            first = first or known
            if columns.features is None and known != first:
                odd = sorted(set(known) ^ set(first))
                what = f"the column {odd[0]!r} is in one only" if odd else "in another order"
                raise ValueError(
                    f"{each.name} has other columns than {paths[0].name}, {what}: name those that "
                    "are features by columns=[...], or write all files alike"
                )
            size = block_rows(max(len(known), width), limit)
            for group in range(file.metadata.num_row_groups):
                n = file.metadata.row_group(group).num_rows
                pieces += [
                    Piece(str(each), group, start, min(start + size, n))
                    for start in range(0, n, size)
                ]
    if not pieces:
        raise ValueError(f"X={str(path)!r} has no rows")
    return pieces


def _open_file(parquet: Any, path: Path) -> Any:
    """Open a Parquet file, or say which one is none."""
    try:
        return parquet.ParquetFile(path)
    except ValueError as error:  # ArrowInvalid
        raise ValueError(f"X={str(path)!r} is no Parquet file: {error}") from error


def wanted_columns(columns: Raw) -> list[str] | None:
    """Return the columns to read from files; None: all."""
    if columns.features is None:
        return None
    named = [value for value in columns.columns().values() if value is not None]
    return list(dict.fromkeys([*columns.features, *named]))


def read_piece(columns: list[str] | None, *fields: Any) -> "ColumnTable":
    """Return the rows of a piece, given by its fields, wherever this runs."""
    parquet, piece = _import_pyarrow(), Piece(*fields)
    with parquet.ParquetFile(piece.path) as file:
        for n, batch in enumerate(
            file.iter_batches(piece.stop - piece.start, row_groups=[piece.group], columns=columns)
        ):
            if n * (piece.stop - piece.start) >= piece.start:
                return ColumnTable(batch)
    raise ValueError(f"{piece.path} has changed: rows {piece.start} on are gone")


class ColumnTable:
    """A batch of Arrow as the little of a frame that a block is read from."""

    def __init__(self, batch: Any, names: list[str] | None = None) -> None:
        self._batch = batch
        self.columns = batch.schema.names if names is None else names

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, list):
            return ColumnTable(self._batch, name)
        return self._batch.column(name).to_numpy(zero_copy_only=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        columns = [self[name] for name in self.columns]
        kind = np.result_type(*columns) if dtype is None else dtype
        array = np.empty((len(self), len(columns)), dtype=kind)
        for j, column in enumerate(columns):
            array[:, j] = column
        return array


class ArraySource(Source):
    """An array, memory-mapped or not, cut into blocks of rows."""

    def __init__(self, raw: Raw, limit: int, width: int) -> None:
        X = raw.X
        if getattr(X, "ndim", 0) != 2:
            raise ValueError(f"X must have a row for each sample, but it is {shortened(X)}")
        if raw.features is not None:
            raise ValueError("columns names features, but X is an array, which has no names")
        columns: dict[str, Any] = {}
        for name, value in raw.columns().items():
            if value is None:
                continue
            if isinstance(value, str):
                raise ValueError(
                    f"{name}={value!r} names a column, but X is an array, which has no names: give "
                    f"{name} as an array"
                )
            column = value if hasattr(value, "dtype") else np.asarray(value)
            if column.shape[:1] != X.shape[:1]:
                raise ValueError(
                    f"{name} has {len(column)} entries for {X.shape[0]} rows of X: cut it to them"
                )
            columns[name] = column
        self._raw = raw._replace(X=X.tocsr() if sparse.issparse(X) else X, **columns)
        self._size = block_rows(max(X.shape[1], width), limit)
        self.n_parts = max(1, -(-X.shape[0] // self._size))

    def read(self) -> Iterator[Raw]:
        """Yield some rows after the other."""
        for at in range(self.n_parts):
            rows = slice(at * self._size, (at + 1) * self._size)
            yield Raw(*(None if value is None else value[rows] for value in self._raw))


class MachineParts(Parts):
    """Parts that are read one after the other; the next one while the last is worked on.

    Parameters
    ----------
    source : Source
        Where they come from.
    given : Raw
        What the caller gave.
    limit : int
        Bytes of memory that a fit should stay within.
    """

    def __init__(self, source: Source, given: Raw, limit: int) -> None:
        super().__init__(source.n_parts, given)
        self._source, self.limit = source, limit

    def persist(self) -> None:
        """Do nothing: each pass reads the rows."""

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _values(
        self, each: Sequence[Sequence[Any]], along: Sequence[Kept]
    ) -> Iterator[tuple[int, Raw, list[Any]]]:
        """Yield every part with what it is given."""
        parts = self._source.read()
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(next, parts, None)
            for part in range(self.n_parts):
                raw = ahead.result()
                if raw is None:
                    raise ValueError(
                        f"X has ended before part {part} of {self.n_parts}: it changed"
                    )
                ahead = reader.submit(next, parts, None)
                kept = [load_kept(values.values[part]) for values in along]
                if part:
                    self.say(f"pass {self.traffic.passes} over {self.n_parts} parts, {part} done")
                yield part, raw, [*kept, *(values[part] for values in each)]

    def _map(self, leaf: _Leaf, each: Sequence[Sequence[Any]], along: Sequence[Kept]) -> list[Any]:
        return [leaf(part, raw, *values) for part, raw, values in self._values(each, along)]

    def _reduce(
        self, leaf: _Leaf, merge: _Merge, each: Sequence[Sequence[Any]], along: Sequence[Kept]
    ) -> tuple[list[Seen], Any]:
        tree = Tree(merge)
        for part, raw, values in self._values(each, along):
            tree.add(leaf(part, raw, *values))
        return tree.finish()

    def _fold(self, leaf: _Leaf, states: Sequence[Any]) -> tuple[list[Seen], list[Any]]:
        seen, now = [], list(states)
        for part, raw, _ in self._values((), ()):
            block, looks = leaf.read(part, raw)
            now = [leaf.function(block, state, *leaf.shared) for state in now]
            seen.append(looks)
        return seen, now

    def _keep(self, leaf: _Leaf, each: Sequence[Sequence[Any]], along: Sequence[Kept]) -> Kept:
        folder = Path(mkdtemp(prefix="rankwise-"))
        kept = Kept([folder / str(part) for part in range(self.n_parts)])
        finalize(kept, rmtree, folder, ignore_errors=True)  # also if this raises
        for part, raw, values in self._values(each, along):
            _, arrays = leaf(part, raw, *values)
            kept.values[part].mkdir()
            for name, array in arrays.items():
                np.save(kept.values[part] / f"{name}.npy", array, allow_pickle=False)
        return kept


def load_kept(folder: Path) -> dict[str, Any]:
    """Return the arrays of a part that were kept, memory-mapped."""
    return {
        path.stem: np.load(path, mmap_mode="r" if path.stat().st_size > 4096 else None)
        for path in sorted(folder.glob("*.npy"))
    }


def _import_pyarrow() -> Any:
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError(
            "Parquet files are read by pyarrow, which is not installed: pip install "
            "'rankwise[data]'"
        ) from error


def machine_parts(raw: Raw, memory_limit: int | str | None, width: int) -> MachineParts:
    """Return the parts of Parquet files or of an array."""
    limit = bytes_of(memory_limit)
    if isinstance(raw.X, str | Path):
        return MachineParts(ParquetSource(raw.X, raw, limit, width), raw, limit)
    if isinstance(raw.X, np.ndarray) or sparse.issparse(raw.X):
        return MachineParts(ArraySource(raw, limit, width), raw, limit)
    raise TypeError(
        f"X={shortened(raw.X)} must be a dask array or dataframe, a list of delayed, the path of a "
        "folder of Parquet, or an array, for example a numpy.memmap; a frame or lists in memory "
        "are fitted by estimator.fit(X, y)"
    )
