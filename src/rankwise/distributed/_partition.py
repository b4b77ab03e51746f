"""The rows of one partition in memory, checked so that a message names the partition and row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from rankwise._core.inputs import as_floats, as_weights, explained, rows_of
from rankwise._core.labels import any_missing, is_missing
from rankwise._core.queries import encode_queries
from rankwise._core.ranker import check_size

# Rows that are made double at a time.
ROWS = 8192


class Raw(NamedTuple):
    """A partition as the caller gave it: arrays, columns, a frame, names of columns, or None.

    ``features`` names the columns of a frame that are features; None: all without another use.
    """

    X: Any
    y: Any = None
    qid: Any = None
    sample_weight: Any = None
    features: tuple[str, ...] | None = None

    def columns(self) -> dict[str, Any]:
        """Return all but the features."""
        return {"y": self.y, "qid": self.qid, "sample_weight": self.sample_weight}

    def named(self) -> dict[str, str]:
        """Return the columns that are given by their names."""
        return {name: value for name, value in self.columns().items() if isinstance(value, str)}


class Block(NamedTuple):
    """The rows of one partition.

    Attributes
    ----------
    part : int
        The number of the partition, from 0.
    X : ndarray or csr_array of shape (n, n_features)
        The rows of positive weight, in single precision if they were given so, else in double.
    y : ndarray of shape (n,) or None
        The targets, unchanged.
    qid : ndarray of shape (n,) or None
        Queries: integers, or strings in an array of objects.
    weight : ndarray of shape (n,) or None
        Weights in double precision, all above 0. None: none were given.
    names : tuple of str or None
        The names of the features, if they have such.
    types : dict of str to str
        The types of X, y, qid and sample_weight, those that were given.
    """

    part: int
    X: Any
    y: NDArray[Any] | None
    qid: NDArray[Any] | None
    weight: NDArray[np.float64] | None
    names: tuple[str, ...] | None
    types: dict[str, str]

    def doubles(self) -> Any:
        """Return the rows in double precision."""
        return self.X.astype(np.float64, copy=False)

    def weights(self) -> NDArray[np.float64]:
        """Return the weights, 1 if none were given."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight

    def header(self) -> "Header":
        """Return what other partitions of the table must agree with."""
        return Header(self.part, self.X.shape[0], self.X.shape[1], self.names, self.types)


class Header(NamedTuple):
    """Number, shape, names and types of a partition, without its rows."""

    part: int
    n_rows: int
    n_features: int
    names: tuple[str, ...] | None
    types: dict[str, str]


@contextmanager
def in_part(part: int) -> Iterator[None]:
    """Name the partition in errors about its rows."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"part {part}: {error}") from error


def read_block(part: int, raw: Raw | Block, *, finite: bool | str) -> Block:
    """Return the rows of a partition.

    Parameters
    ----------
    part : int
        The number of the partition, for the messages.
    raw : Raw or Block
        What was given, or what was read of it before.
    finite : bool or "allow-nan"
        Whether to check every number; NaN may be allowed in X. The structure is always checked.

    Raises
    ------
    ValueError
        If a row is invalid. The message names the partition and the row.
    """
    if isinstance(raw, Block):
        return raw
    with in_part(part):
        frame, columns = _split_columns(raw)
        X, names = _as_rows(frame, finite)
        n = X.shape[0]
        if n and not X.shape[1]:
            raise ValueError("X has no features: no columns are left to learn from")
        y, qid, given = (_as_column(value, name, n) for name, value in columns.items())
        types = {"X": X.dtype.name}
        for name, value in (("y", y), ("qid", qid), ("sample_weight", given)):
            if value is not None:
                types[name] = "string" if value.dtype.kind in "OUST" else value.dtype.name
        if qid is not None:
            if n:
                encode_queries(qid, n)  # raises for what is not the name of a query
            qid = qid.astype(np.int64 if qid.dtype.kind in "biuf" else object)
        if finite and y is not None:
            _check_targets(y)
        weight = None if given is None else as_weights(given, "sample_weight", n)
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        X, weight = X[kept], weight[kept]
        y, qid = (None if each is None else each[kept] for each in (y, qid))
    return Block(part, X, y, qid, weight, names, types)


def _split_columns(raw: Raw) -> tuple[Any, dict[str, Any]]:
    """Return what holds the features, and the other columns, taken out of it where named."""
    known, named = list(getattr(raw.X, "columns", ())), raw.named()
    check_columns(raw, known, "X")
    frame = raw.X
    if named or raw.features is not None:
        frame = frame[list(raw.features or (name for name in known if name not in named.values()))]
    return frame, raw.columns() | {name: raw.X[column] for name, column in named.items()}


def check_columns(raw: Raw, known: Sequence[str], where: str) -> None:
    """Raise if a name is not among the known columns."""
    for name, column in [*raw.named().items(), *(("columns", each) for each in raw.features or ())]:
        if column not in known:
            shown = ", ".join(map(repr, known[:12])) or "none"
            raise ValueError(
                f"{name}={column!r} is not a column of {where}, whose columns are {shown}"
            )


def _as_rows(X: Any, finite: bool | str) -> tuple[Any, tuple[str, ...] | None]:
    """Return rows as floats, C-ordered or CSR, and the names of the columns of a frame."""
    names = None
    if hasattr(X, "columns"):
        listed = list(X.columns)
        names = tuple(listed) if all(isinstance(name, str) for name in listed) else None
        columns = [np.asarray(X[name]) for name in listed] if len(X) else []
        for name, column in zip(listed, columns, strict=bool(columns)):
            if column.dtype.kind not in "biuf":
                raise ValueError(
                    f"column {name!r} of X holds {X[name].dtype}, not numbers: leave it out, or "
                    "make numbers of it"
                )
        X = np.column_stack(columns) if columns else np.empty((len(X), len(listed)))
    elif not sparse.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have a row for each sample, but its shape is {X.shape}")
    with explained(X), np.errstate(over="ignore", invalid="ignore"):
        rows = check_array(
            rows_of(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=finite,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name="X",
        )
    return (sparse.csr_array(rows) if sparse.issparse(rows) else rows), names


def _as_column(values: Any, name: str, n: int) -> NDArray[Any] | None:
    """Return a column with an entry for each of n rows."""
    if values is None:
        return None
    if type(getattr(values, "dtype", None)).__name__ in {"CategoricalDtype", "Categorical", "Enum"}:
        raise ValueError(
            f"{name} is a categorical, whose categories may differ from part to part: give numbers "
            "or strings; the order of labels is said by label_order=[...]"
        )
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, an entry a row, but its shape is {array.shape}")
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} rows of X: give each row one")
    return array


def _check_targets(y: NDArray[Any]) -> None:
    bad: Sequence[int] = []
    if y.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(y)).tolist()
    elif any_missing(y):
        bad = [row for row, value in enumerate(y.tolist()) if is_missing(value)]
    if bad:
        raise ValueError(
            f"y contains {y[bad[0]]} (row {bad[0]}): a row without a target can't be learned from; "
            "drop it"
        )


def check_alike(headers: Sequence[Header]) -> Header:
    """Return the header of the first partition that has rows, the first of all if none has.

    Raises
    ------
    ValueError
        If another one that has rows differs from it. The message names both.
    """
    full = [each for each in headers if each.n_rows] or list(headers[:1])
    first = full[0]
    for other in full[1:]:
        if other.n_features != first.n_features:
            raise ValueError(
                f"part {other.part} has {other.n_features} features and part {first.part} has "
                f"{first.n_features}: give all parts the same columns"
            )
        if other.names != first.names:
            raise ValueError(
                f"part {other.part} has other columns than part {first.part}, or in another order: "
                "give all parts the same columns"
            )
        for name, kind in first.types.items():
            if other.types.get(name) != kind:
                raise ValueError(
                    f"{name} is of type {other.types.get(name)} in part {other.part} and {kind} in "
                    f"part {first.part}: cast all parts to one type"
                )
    return first


def checked_ratings(block: Block) -> NDArray[np.float64]:
    """Return the targets of a partition as numbers, after a check of what squares can hold."""
    with in_part(block.part):
        y = np.ascontiguousarray(as_floats(block.y, "y"))
        kept = np.arange(len(y))
        for start in range(0, len(y), ROWS):
            some = slice(start, start + ROWS)
            check_size(block.X[some].astype(np.float64, copy=False), y[some], "linear", kept[some])
    return y
