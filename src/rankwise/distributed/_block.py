"""The rows of one part in memory, checked so that a message names the part and the row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.inputs import as_floats, as_weights, bad_row, rows_of
from rankwise._core.labels import any_missing
from rankwise._core.queries import encode_queries


class Raw(NamedTuple):
    """A part as it was given: each is an array, a column, a frame, the name of a column or None.

    ``features`` names the columns of a frame that are features; None: all that have no other use.
    """

    X: Any
    y: Any = None
    qid: Any = None
    sample_weight: Any = None
    features: tuple[str, ...] | None = None

    def columns(self) -> dict[str, Any]:
        """Return what there is beside the features."""
        return {"y": self.y, "qid": self.qid, "sample_weight": self.sample_weight}


class Block(NamedTuple):
    """The rows of one part.

    Attributes
    ----------
    part : int
        The number of the part, from 0.
    X : ndarray or csr_array of shape (n, n_features)
        The rows of positive weight, in single precision if they were given so, else in double.
    y : ndarray of shape (n,) or None
        What they are learned from, as it was given.
    qid : ndarray of shape (n,) or None
        Their queries: integers, or an array of objects that are strings.
    weight : ndarray of shape (n,) or None
        Their weights, in double precision, all above 0. None: none were given.
    names : tuple of str or None
        The names of the features as they were given, if they had such.
    """

    part: int
    X: Any
    y: NDArray[Any] | None = None
    qid: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None

    def doubles(self) -> Any:
        """Return the rows in double precision."""
        return self.X.astype(np.float64, copy=False)

    def weights(self) -> NDArray[np.float64]:
        """Return the weights, 1 if none were given."""
        return np.ones(self.X.shape[0]) if self.weight is None else self.weight


class Seen(NamedTuple):
    """What a part looks like: parts of one table look alike, but for their rows.

    Attributes
    ----------
    part : int
        Its number.
    n_rows : int
        Rows of positive weight.
    n_features : int
        Features, 0 if nothing says how many.
    names : tuple of str or None
        The names of the features.
    kinds : dict of str to str
        The types of X, y, qid and sample_weight.
    """

    part: int
    n_rows: int
    n_features: int
    names: tuple[str, ...] | None
    kinds: dict[str, str]


class Loaded(NamedTuple):
    """A part that was read before, and stays in memory."""

    block: Block
    seen: Seen


def load_block(
    part: int, raw: Raw, transformers: Sequence[Any], *, check: bool | str = True
) -> Loaded:
    """Read, check and transform a part, to keep it."""
    block, seen = read_block(part, raw, check=check)
    return Loaded(transformed(block, transformers), seen)


def transformed(block: Block, transformers: Sequence[Any]) -> Block:
    """Return a part whose rows went through some transformers."""
    if not transformers or not block.X.shape[0]:
        return block
    X = block.X
    for each in transformers:
        X = each.transform(X)
    return block._replace(X=_as_rows(X)[0], names=None)


def read_block(part: int, raw: Raw | Loaded, *, check: bool | str) -> tuple[Block, Seen]:
    """Return the rows of a part, and what they look like.

    Parameters
    ----------
    part : int
        The number of the part, for the messages.
    raw : Raw or Loaded
        What was given, or what was made of it before.
    check : bool or "allow-nan"
        Whether to look at every number; NaN may be allowed in X. The structure is looked at in any
        case.

    Raises
    ------
    ValueError
        If a row can't be learned from. The message names the part and the row.
    """
    if isinstance(raw, Loaded):
        return raw.block, raw.seen
    try:
        return _read(part, raw, check=check)
    except ValueError as error:
        raise ValueError(f"part {part}: {error}") from error


def _read(part: int, raw: Raw, *, check: bool | str) -> tuple[Block, Seen]:
    frame, columns = _without_columns(raw)
    X, names = _as_rows(frame)
    n = X.shape[0]
    if n and not X.shape[1]:
        raise ValueError("X has no features: nothing is left of its columns to learn from")
    y, qid, given = (_column(value, name, n) for name, value in columns.items())
    kinds = {"X": X.dtype.name}
    for name, value in (("y", y), ("qid", qid), ("sample_weight", given)):
        if value is not None:
            kinds[name] = "string" if value.dtype.kind in "OUST" else value.dtype.name
    weight = None if given is None else as_floats(given, "sample_weight")
    if qid is not None and n:
        qid = _queries(qid, n)
    if check and n:
        _check_rows(X, missing=check == "allow-nan")
        if y is not None:
            _check_targets(y)
        if weight is not None:
            weight = as_weights(weight, "sample_weight", n)
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        X, weight = X[kept], weight[kept]
        y = None if y is None else y[kept]
        qid = None if qid is None else qid[kept]
    seen = Seen(part, X.shape[0], X.shape[1], names, kinds)
    return Block(part, X, y, qid, weight, names), seen


def _without_columns(raw: Raw) -> tuple[Any, dict[str, Any]]:
    """Return what holds the features, and the other columns, taken out of it where named."""
    frame, columns = raw.X, raw.columns()
    known = list(getattr(frame, "columns", ()))
    named = {name: value for name, value in columns.items() if isinstance(value, str)}
    check_columns(raw, known, "X")
    columns |= {name: frame[value] for name, value in named.items()}
    taken = set(named.values())
    if raw.features is not None:
        frame = frame[list(raw.features)]
    elif taken:
        frame = frame[[name for name in known if name not in taken]]
    return frame, columns


def check_columns(raw: Raw, known: Sequence[str], where: str) -> None:
    """Refuse names that are no columns.

    Raises
    ------
    ValueError
        If one is not among the known ones.
    """
    named = {name: value for name, value in raw.columns().items() if isinstance(value, str)}
    wanted = [*named.items(), *(("columns", name) for name in raw.features or ())]
    for name, value in wanted:
        if value not in known:
            shown = ", ".join(map(repr, known[:12])) or "none"
            raise ValueError(f"{name}={value!r} is no column of {where}, whose columns are {shown}")


def _as_rows(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return rows as floats, C-ordered or CSR, and the names of the columns of a frame."""
    if sparse.issparse(X):
        rows = rows_of(X)
        single = rows.dtype == np.float32
        return sparse.csr_array(rows, dtype=np.float32 if single else np.float64), None
    names = None
    if hasattr(X, "columns"):
        listed = list(X.columns)
        names = tuple(listed) if all(isinstance(name, str) for name in listed) else None
        if not len(X):
            return np.empty((0, len(listed))), names
        for name in listed:
            if getattr(np.asarray(X[name]).dtype, "kind", "O") not in "biuf":
                raise ValueError(
                    f"column {name!r} of X holds {X[name].dtype}, which are no numbers: leave it "
                    "out, or make numbers of it"
                )
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must have a row for each sample, but its shape is {array.shape}")
    if array.dtype.kind not in "biuf" and len(array):
        raise ValueError(f"X holds {array.dtype}, which are no numbers: make numbers of it")
    single = array.dtype in (np.float32, np.float16)
    return np.ascontiguousarray(array, dtype=np.float32 if single else np.float64), names


def _column(values: Any, name: str, n: int) -> NDArray[Any] | None:
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
        raise ValueError(f"{name} has {len(array)} entries for {n} rows of X: cut both alike")
    return array


def _queries(qid: NDArray[Any], n: int) -> NDArray[Any]:
    """Return queries as integers, or as strings in an array of objects."""
    encode_queries(qid, n)  # refuses what names no query
    return qid.astype(np.int64) if qid.dtype.kind in "biuf" else qid.astype(object)


def _check_rows(X: Any, *, missing: bool) -> None:
    values = X.data if sparse.issparse(X) else X
    if missing:
        values = np.where(np.isnan(values), 0.0, values)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    if sparse.issparse(X):
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(X.indptr, place, side="right")) - 1
    else:
        row = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
    raise bad_row(X, row)


def _check_targets(y: NDArray[Any]) -> None:
    row = None
    if y.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(y))
        row = int(bad[0]) if len(bad) else None
    elif any_missing(y):
        row = next(i for i in range(len(y)) if any_missing(y[i : i + 1]))
    if row is not None:
        raise ValueError(
            f"y contains {y[row]} (row {row}): a row without a target can't be learned from; drop "
            "it"
        )


def check_alike(seen: Sequence[Seen]) -> tuple[int, tuple[str, ...] | None, dict[str, str]]:
    """Return features, names and types of parts that are alike; empty parts may be anything.

    Raises
    ------
    ValueError
        If two parts differ. The message names both.
    """
    if not any(each.n_rows for each in seen):
        raise ValueError(
            f"all {len(seen)} parts are empty, or all their rows have weight 0: there is "
            "nothing to learn from"
        )
    first = compare(seen)
    return first.n_features, first.names, first.kinds


def compare(seen: Sequence[Seen]) -> Seen:
    """Return the first part that has rows, the first of all if none has.

    Raises
    ------
    ValueError
        If others that have rows differ from it. The message names both.
    """
    full = [each for each in seen if each.n_rows] or list(seen[:1])
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
        for name, kind in first.kinds.items():
            if other.kinds.get(name) != kind:
                raise ValueError(
                    f"{name} is of type {other.kinds.get(name)} in part {other.part} and {kind} in "
                    f"part {first.part}: cast all parts to one type"
                )
    return first
