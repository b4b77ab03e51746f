"""Ordered labels to ranks 0..k-1, with checks of the labels."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from rankwise._core.arguments import as_array, warn_user

Labels = NDArray[np.generic]

_NUMBERS = "biuf"


def known_labels(
    y: Any, order: ArrayLike | None, *, name: str = "y", say: str = "label_order"
) -> tuple[Labels | None, Labels]:
    """Return the ordered labels that are known without looking at y's values, and y as an array.

    They are known from ``order``, or from y's type if it is an ordered categorical.

    Parameters
    ----------
    y : array-like of shape (n,), or (n, 1) with a warning
        The labels of the rows.
    order : array-like of shape (k,) or None
        All labels, lowest rank first, as the user listed them.
    name, say : str
        The arguments that a message names: what is bad, and where the order is said.
    """
    values = as_labels(y, name)
    categories = ordered_categories(y)
    if order is None:
        return (None if categories is None else named_labels(categories, name)), values
    labels = named_labels(order, say)
    if categories is not None:
        check_same_order(categories, labels, name)
    return labels, values


def as_labels(y: Any, name: str = "y") -> Labels:
    """Return labels as a 1-D array, none of them missing or infinite."""
    labels: Labels = column_or_1d(y, warn=True)
    kind = labels.dtype.kind
    if kind == "c":
        raise ValueError(f"Unknown label type: {name} holds complex numbers, which have no order")
    if kind == "f" and np.isinf(labels).any():
        raise ValueError(f"{name} contains infinity, which is not a label: correct the row")
    if np.ma.is_masked(y) or any_missing(labels):
        raise ValueError(
            f"{name} contains NaN or a masked entry: a row without a label can't be learned from; "
            "drop it"
        )
    return labels


def any_missing(values: Labels) -> bool:
    """Whether a value is NaN, NaT, None or pandas' NA."""
    kind = values.dtype.kind
    if kind == "f":
        return bool(np.isnan(values).any())
    if kind in "mM":
        return bool(np.isnat(values).any())
    return kind in "OT" and any(is_missing(value) for value in values.tolist())


def ordered_categories(y: object) -> Labels | None:
    """Return the categories of an ordered pandas categorical or a polars Enum, lowest first.

    It may be an array, a column or a table of one column. None: it is neither.
    """
    dtype: Any = getattr(y, "dtype", None)
    if hasattr(y, "columns"):
        dtype = next(iter(getattr(y, "dtypes", ())), None)
    if not getattr(dtype, "ordered", False) and type(dtype).__name__ != "Enum":
        return None
    return np.asarray(dtype.categories)


def named_labels(order: Any, name: str) -> Labels:
    """Check labels that are listed from the lowest rank to the highest.

    Parameters
    ----------
    order : array-like of shape (k,)
        The labels, lowest rank first.
    name : str
        The argument's name, for the message.
    """
    labels = as_array(order, name)
    if labels.ndim != 1 or len(labels) < 2:
        raise ValueError(f"{name}={order!r} must be a list of at least two labels")
    if labels.dtype.kind in "US" and not all(isinstance(value, str | bytes) for value in order):
        labels = np.array(list(order), dtype=object)
    if len(set(labels.tolist())) < len(labels):
        raise ValueError(f"{name}={order!r} has a duplicated label: each rank has one label")
    return as_labels(labels, name)


def check_same_order(categories: Labels, labels: Labels, name: str) -> None:
    """Refuse categories whose order contradicts that of the labels."""
    rank_of = {label: rank for rank, label in enumerate(labels.tolist())}
    ranks = [rank_of[label] for label in categories.tolist() if label in rank_of]
    if ranks != sorted(ranks):
        raise ValueError(
            f"the categories of {name} are ordered {_listed(categories)}, against the labels "
            f"{_listed(labels)}: use one order"
        )


def found_labels(y: Labels, *, name: str = "y", say: str = "label_order") -> Labels:
    """Return the distinct labels of y in their own order, which becomes the order of the ranks."""
    if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
        raise ValueError(
            f"Unknown label type: {name} is continuous (it holds {y[y != np.trunc(y)][0]}), but "
            f"ranks are a few ordered labels: name them with {say}=[...]"
        )
    return sorted_labels(y, name=name, say=say)


def sorted_labels(y: Labels, *, name: str = "y", say: str = "label_order") -> Labels:
    """Return the distinct labels of y, sorted.

    Integers of a small span are counted rather than sorted: O(n) instead of O(n log n).
    """
    bounds = _bounds(y)
    if bounds is not None:
        counts = np.bincount(y.astype(np.int64, copy=False) - bounds[0])
        return (np.flatnonzero(counts) + bounds[0]).astype(y.dtype)
    try:
        return np.unique(y)
    except TypeError as error:
        raise ValueError(
            f"{name} mixes labels that can't be sorted: name their order with {say}=[...]"
        ) from error


def warn_alphabetical(labels: Labels, *, name: str = "y", say: str = "label_order") -> None:
    """Warn if labels that were sorted are strings: their order is hardly ever the alphabet's."""
    if any(isinstance(label, str) for label in labels.tolist()):
        warn_user(
            f"{name} holds strings, ranked alphabetically: {_listed(labels)}; say their order with "
            f"{say}=[...]"
        )


def to_ranks(y: Labels, labels: Labels, name: str = "y") -> NDArray[np.int64]:
    """Return the position of each label of y in ``labels``, from 0.

    Raises
    ------
    ValueError
        If y holds a label that is not listed. The message names it.
    """
    kinds = {y.dtype.kind, labels.dtype.kind}
    known, seen = _bounds(labels), _bounds(y)
    if known is not None and seen is not None:
        low, high = known
        table = np.full(high - low + 2, -1, dtype=np.int64)
        table[labels.astype(np.int64) - low] = np.arange(len(labels))
        places = y.astype(np.int64, copy=False) - low
        if seen[0] < low or seen[1] > high:
            places = np.where((places >= 0) & (places <= high - low), places, -1)
        ranks = table.take(places)
    elif kinds <= set(_NUMBERS) and ("f" in kinds or y.dtype == labels.dtype):
        order = np.argsort(labels)
        places = np.minimum(np.searchsorted(labels, y, sorter=order), len(labels) - 1)
        ranks = np.where(labels[order[places]] == y, order[places], -1)
    else:
        rank_of = {label: rank for rank, label in enumerate(labels.tolist())}
        ranks = np.array([rank_of.get(label, -1) for label in y.tolist()], dtype=np.int64)
    if ranks.min(initial=0) < 0:
        row = int(ranks.argmin())
        raise ValueError(
            f"{name} contains the label {y[row : row + 1].tolist()[0]!r} (row {row}), which is "
            f"not among the labels {_listed(labels)}: correct it, or name every label beforehand"
        )
    return ranks


def _bounds(y: Labels) -> tuple[int, int] | None:
    """Return the bounds of integers if a table from lowest to highest is short, else None."""
    if y.dtype.kind not in "biu" or not len(y):
        return None
    low, high = int(y.min()), int(y.max())
    small = low >= -(2**62) and high < 2**62 and high - low < 4 * len(y) + 1024
    return (low, high) if small else None


def is_missing(label: Any) -> bool:
    """Whether a value is NaN, NaT, None or pandas' NA."""
    return (
        label is None
        or (isinstance(label, float) and label != label)
        or type(label).__name__ in {"NAType", "NaTType"}
    )


def _listed(labels: Labels) -> str:
    """Return labels for a message, shortened when there are many."""
    names = [repr(label) for label in labels.tolist()]
    return f"[{', '.join(names if len(names) <= 12 else [*names[:6], '...', *names[-5:]])}]"
