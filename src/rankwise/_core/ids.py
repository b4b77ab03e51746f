"""Names of items, of any kind, and their codes 0..n-1.

Whole numbers of a small span are looked up in a table, other numbers are sorted, and all else goes
through one dictionary: O(n) but for the sort.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import as_array, only_column, shortened
from rankwise._core.inputs import refuse_masked
from rankwise._core.labels import is_missing, sorted_labels, to_ranks

Codes = NDArray[np.int64]

_SHOWN = 5


def encode_ids(columns: Sequence[Any], names: Sequence[str]) -> tuple[NDArray[Any], list[Codes]]:
    """Return the distinct ids of several columns, sorted if they can be, and each column's codes.

    Parameters
    ----------
    columns : sequence of array-like of shape (m,)
        Ids: numbers, strings, or anything that can be looked up in a dictionary.
    names : sequence of str
        The arguments that hold them, for messages.
    """
    checked = [as_column(column, name) for column, name in zip(columns, names, strict=True)]
    return encode_columns(checked, names)


def encode_columns(
    columns: Sequence[NDArray[Any] | list[Any]], names: Sequence[str]
) -> tuple[NDArray[Any], list[Codes]]:
    """Do the same for columns that `as_column` has returned."""
    numbers = [ids for ids in columns if isinstance(ids, np.ndarray)]
    if len(numbers) == len(columns) and _fit_one_array(numbers):
        distinct: NDArray[Any] = sorted_labels(np.concatenate(numbers), name=names[0])
        return distinct, [to_ranks(ids, distinct) for ids in numbers]
    number: defaultdict[Hashable, int] = defaultdict(count().__next__)
    codes = []
    for ids, name in zip(columns, names, strict=True):
        listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
        try:
            # The dictionary gives an id that it has not seen the next number.
            codes.append(np.fromiter(map(number.__getitem__, listed), np.int64, len(listed)))
        except TypeError as error:
            raise ValueError(
                f"{name} holds something that can't be an id ({error}): use numbers, strings or "
                "tuples"
            ) from error
    distinct_ids = list(number)
    ids = sorted_objects(distinct_ids)
    position = {value: new for new, value in enumerate(ids.tolist())}
    new_code = np.array([position[value] for value in distinct_ids], dtype=np.int64)
    return ids, [new_code[column] for column in codes]


def _fit_one_array(columns: Sequence[NDArray[Any]]) -> bool:
    """Whether ids keep their values in one array: floats don't hold all integers past 2^53."""
    if np.result_type(*columns).kind != "f":
        return True
    whole = [ids for ids in columns if ids.dtype.kind != "f" and len(ids)]
    return all(int(ids.min()) >= -(2**53) and int(ids.max()) <= 2**53 for ids in whole)


def find_ids(ids: Any, known: NDArray[Any], name: str) -> Codes:
    """Return the codes of ids among the known ones.

    Raises
    ------
    ValueError
        If some are unknown. The message names them.
    """
    column = as_column(ids, name)
    listed = column.tolist() if isinstance(column, np.ndarray) else column
    code_of = {value: code for code, value in enumerate(known.tolist())}
    try:
        codes = np.fromiter((code_of.get(value, -1) for value in listed), np.int64, len(listed))
    except TypeError as error:
        raise ValueError(f"{name} holds something that can't be an id: {error}") from error
    if codes.min(initial=0) < 0:
        unknown = list(dict.fromkeys(listed[i] for i in np.flatnonzero(codes < 0)))
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise ValueError(
            f"{name} holds {', '.join(map(shortened, unknown[:_SHOWN]))}{more}, which the model "
            f"does not know; it knows {listed_ids(known.tolist())}"
        )
    return codes


def listed_ids(ids: Sequence[Any]) -> str:
    """Return ids for a message, the first few of them."""
    text = ", ".join(map(shortened, ids[:_SHOWN]))
    return f"{text} and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else text or "none"


def row_number(row: int, rows: Codes | None) -> int:
    """Return the number of a row in the user's table, of which ``rows`` were kept; None: all."""
    return int(row if rows is None else rows[row])


def as_column(ids: Any, name: str, rows: Codes | None = None) -> NDArray[Any] | list[Any]:
    """Return a column of ids: an array of numbers, or a list of anything else.

    ``rows`` are the numbers of its rows in the user's table, for messages; None: from 0.
    """
    refuse_masked(ids, name)
    ids = only_column(ids)
    alone = isinstance(ids, str | bytes | dict) or not hasattr(ids, "__len__")
    if alone or getattr(ids, "ndim", 1) == 0:
        raise ValueError(f"{name}={shortened(ids)} is invalid: expected a list of ids, [...]")
    if not (hasattr(ids, "dtype") or hasattr(ids, "__array__")):
        listed = list(ids)
        kinds = set(map(type, listed))
        integers = kinds and all(issubclass(k, int | np.integer) and k is not bool for k in kinds)
        if integers and all(-(2**63) <= value < 2**63 for value in listed):
            return np.array(listed, dtype=np.int64)
        return listed if kinds <= {str} else _without_missing(listed, name, rows)
    values = as_array(ids, name)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be 1-D, one id a row, but its shape is {values.shape}: give one column"
        )
    if values.dtype.kind in "iu" or (values.dtype.kind == "f" and not np.isnan(values).any()):
        return values
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]")
    return _without_missing(values.tolist(), name, rows)


def _without_missing(listed: list[Any], name: str, rows: Codes | None) -> list[Any]:
    """Return ids of any kind; raise if one is missing."""
    row = next((row for row, value in enumerate(listed) if is_missing(value)), None)
    if row is not None:
        row = row_number(row, rows)
        raise ValueError(f"{name} is missing in row {row}: drop the row or name it")
    return listed


def objects(values: list[Any]) -> NDArray[Any]:
    """Return an array of these objects; NumPy would make strings of numbers, rows of tuples."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def sorted_objects(distinct: list[Any]) -> NDArray[Any]:
    """Return distinct objects sorted, else type by type, else as they came."""
    try:
        return objects(sorted(distinct))
    except (TypeError, ValueError):
        pass
    try:
        return objects(sorted(distinct, key=lambda value: (type(value).__name__, value)))
    except (TypeError, ValueError):
        return objects(distinct)
