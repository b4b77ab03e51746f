"""JSON lines to columns at once, by pyarrow; what it can't read is left to the slow way."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@cache
def _arrow() -> tuple[Any, Any] | None:
    """Return pyarrow and its reader of JSON, if it is installed."""
    if find_spec("pyarrow") is None:
        return None
    return import_module("pyarrow"), import_module("pyarrow.json")


def read_lines(
    piece: bytes, features: Sequence[str], target: str, *, as_text: bool
) -> tuple[Array, Array] | None:
    r"""Return the numbers and the targets of lines that are all plain, else None.

    Plain is one object a line without blanks around it, and in each every column, once, with a
    number; the target is a number, or text. Without pyarrow nothing is plain. A number is the
    nearest double, as `json` has it.

    Parameters
    ----------
    piece : bytes
        Lines, the last one ended too.
    features, target : sequence of str and str
        The columns.
    as_text : bool
        Whether the target is text.

    Returns
    -------
    columns : ndarray of shape (n_features, n_rows)
        The numbers.
    target : ndarray of shape (n_rows,)
        Numbers, or texts.

    Examples
    --------
    >>> from rankwise.datasets._json_lines import read_lines
    >>> piece = b'{"a": 1, "y": 3}\n{"y": 4, "a": 0.5}\n'
    >>> columns, target = read_lines(piece, ["a"], "y", as_text=False)
    >>> columns.tolist(), target.tolist()
    ([[1.0, 0.5]], [3.0, 4.0])
    """
    n_rows = _count_objects(piece)
    arrow = _arrow() if n_rows else None
    if arrow is None:
        return None
    pa, reader = arrow
    kinds = [(name, pa.float64()) for name in features]
    schema = pa.schema([*kinds, (target, pa.string() if as_text else pa.float64())])
    parsing = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    reading = reader.ReadOptions(use_threads=False, block_size=len(piece) + 1)
    try:
        table = reader.read_json(pa.BufferReader(piece), reading, parsing)
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    found = [table.column(name) for name in (*features, target)]
    if table.num_rows != n_rows or any(column.null_count for column in found):
        return None
    columns = np.empty((len(features), n_rows))
    for values, column in zip(columns, found, strict=False):
        np.add(column.to_numpy(), 0.0, out=values)
    if as_text:
        return columns, np.array(found[-1].to_pylist(), object)
    return columns, np.array(found[-1].to_numpy())


def _count_objects(piece: bytes) -> int:
    """Return the number of lines if each begins and ends with a brace, else 0."""
    letters = np.frombuffer(piece, np.uint8)
    # a text holds no line end, so that these are the ends of lines
    ends = np.flatnonzero(letters == ord("\n"))
    if not len(ends) or ends[0] == 0 or ends[-1] + 1 < len(letters):
        return 0
    starts = np.append(0, ends[:-1] + 1)
    plain = (letters[starts] == ord("{")).all() and (letters[ends - 1] == ord("}")).all()
    return len(ends) if plain else 0
