"""Ordered labels to ranks 0..k-1, and the sentences that refuse bad ones."""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

_NUMBERS = "biuf"


def as_labels(y: ArrayLike, name: str = "y") -> NDArray[np.generic]:
    """Return labels as a 1-D array; a column of shape (n, 1) is accepted with a warning."""
    labels: NDArray[np.generic] = column_or_1d(y, warn=True, input_name=name)
    if labels.dtype.kind == "f":
        missing = np.isnan(labels).any()
    else:
        missing = labels.dtype.kind == "O" and any(v is None or v != v for v in labels.tolist())
    if missing:
        raise ValueError(
            f"{name} contains NaN: a row without a label can't be learned from; drop it"
        )
    return labels


def ordered_categories(y: object) -> NDArray[np.generic] | None:
    """Return the categories of an ordered pandas categorical or a polars Enum, lowest first."""
    dtype = getattr(y, "dtype", None)
    if not getattr(dtype, "ordered", False) and type(dtype).__name__ != "Enum":
        return None
    return np.asarray(dtype.categories)  # type: ignore[union-attr]


def named_labels(order: ArrayLike, name: str) -> NDArray[np.generic]:
    """Check labels that a user lists from the lowest rank to the highest.

    Parameters
    ----------
    order : array-like of shape (k,)
        The labels, lowest rank first.
    name : str
        The argument's name, for the message.
    """
    labels = np.asarray(order)
    if labels.ndim != 1 or len(labels) < 2:
        raise ValueError(f"{name}={order!r} must list at least two labels, lowest rank first")
    if len(set(labels.tolist())) < len(labels):
        raise ValueError(f"{name}={order!r} names a label twice; each rank has one label")
    return labels


def found_labels(y: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the distinct labels of y in their own order, which becomes the order of the ranks."""
    if y.dtype.kind == "f" and not np.array_equal(y, np.trunc(y)):
        raise ValueError(
            f"Unknown label type: y is continuous (it holds {y[y != np.trunc(y)][0]}); an ordinal "
            "model needs a few ordered labels: name them with label_order=[...]"
        )
    return sorted_labels(y, "y")


def sorted_labels(
    y: NDArray[np.generic], name: str, *, say: str = "label_order"
) -> NDArray[np.generic]:
    """Return the distinct labels of y, sorted.

    Integers of a small span are counted rather than sorted: O(n) instead of O(n log n).

    Parameters
    ----------
    y : ndarray
        The labels.
    name, say : str
        The arguments that a message names: what was found bad, and where to say the order.
    """
    span = _span(y)
    if span is not None:
        low, width = span
        counts = np.bincount(y.astype(np.int64, copy=False) - low, minlength=width)
        return (np.flatnonzero(counts) + low).astype(y.dtype)
    try:
        labels = np.unique(y)
    except TypeError as error:
        raise ValueError(
            f"{name} mixes labels that can't be sorted: name their order with {say}=[...]"
        ) from error
    if labels.dtype.kind in "OTUS":
        warnings.warn(
            f"{name} holds strings, ranked alphabetically: {_listed(labels)}; "
            f"say their order with {say}=[...]",
            stacklevel=5,
        )
    return labels


def to_ranks(
    y: NDArray[np.generic], labels: NDArray[np.generic], name: str = "y"
) -> NDArray[np.int64]:
    """Return the position of each label of y in ``labels``, from 0.

    Raises
    ------
    ValueError
        If y holds a label that is not listed. The message names it.
    """
    if y.dtype.kind in _NUMBERS and labels.dtype.kind in _NUMBERS:
        span = _span(labels)
        if span is not None and y.dtype.kind != "f":
            low, width = span
            table = np.full(width, -1)
            table[labels.astype(np.int64) - low] = np.arange(len(labels))
            places = y.astype(np.int64, copy=False) - low
            if places.min(initial=0) < 0 or places.max(initial=0) >= width:
                table = np.append(table, -1)
                places = np.where((places >= 0) & (places < width), places, width)
            ranks = table.take(places)
        else:
            order = np.argsort(labels)
            places = np.minimum(np.searchsorted(labels, y, sorter=order), len(labels) - 1)
            ranks = np.where(labels[order[places]] == y, order[places], -1)
    else:
        rank_of = {label: rank for rank, label in enumerate(labels.tolist())}
        ranks = np.array([rank_of.get(label, -1) for label in y.tolist()], dtype=np.int64)
    unknown = np.flatnonzero(ranks < 0)
    if len(unknown):
        raise ValueError(
            f"{name} contains the label {y.tolist()[unknown[0]]!r} (row {unknown[0]}), which is "
            f"not among the labels {_listed(labels)}: correct it, or name every label beforehand"
        )
    return ranks


def _span(y: NDArray[np.generic]) -> tuple[int, int] | None:
    """Return (lowest, width) of integers that are dense enough to index a table, else None."""
    if y.dtype.kind not in "biu" or not len(y):
        return None
    low, high = int(y.min()), int(y.max())
    width = high - low + 1
    return (low, width) if width <= 4 * len(y) + 1024 and high < 2**62 else None


def _listed(labels: NDArray[np.generic]) -> str:
    """Return labels for a message, shortened when there are many."""
    shown = [repr(label) for label in labels.tolist()]
    return f"[{', '.join(shown if len(shown) <= 12 else [*shown[:6], '...', *shown[-5:]])}]"
