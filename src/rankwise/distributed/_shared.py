"""What learners of parts share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankwise._core.inputs import as_floats
from rankwise._core.ranker import check_size
from rankwise.distributed._block import Block
from rankwise.distributed._parts import Parts

# Rows that are made double at a time.
_ROWS = 8192


@contextmanager
def in_part(block: Block) -> Iterator[None]:
    """Name the part in what is refused inside."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"part {block.part}: {error}") from error


def to_ratings(block: Block) -> NDArray[np.float64]:
    """Return the targets of a part as numbers."""
    if block.y is None:
        raise ValueError("y is missing: ranking learns from ratings; give y, or its column's name")
    return np.ascontiguousarray(as_floats(block.y, "y"))


def checked_ratings(block: Block) -> NDArray[np.float64]:
    """Return the targets of a part as numbers, after a look at what squares can hold."""
    with in_part(block):
        y = to_ratings(block)
        kept = np.arange(len(y))
        for start in range(0, len(y), _ROWS):
            some = slice(start, start + _ROWS)
            rows = block.X[some].astype(np.float64, copy=False)
            check_size(rows, y[some], "linear", kept[some])
    return y


def set_features(estimator: Any, parts: Parts) -> None:
    """Set what scikit-learn's validation would: the number of features and their names."""
    estimator.n_features_in_ = parts.n_features
    estimator.__dict__.pop("feature_names_in_", None)
    if parts.names is not None:
        estimator.feature_names_in_ = np.array(parts.names, dtype=object)


def fetch(parts: Parts, rows: NDArray[np.int64]) -> Any:
    """Bring some rows here, given by their sorted numbers among all."""
    edges = np.concatenate([[0], np.cumsum(parts.rows)])
    cuts = np.searchsorted(rows, edges)
    each = [rows[a:b] - edge for a, b, edge in zip(cuts[:-1], cuts[1:], edges[:-1], strict=True)]
    found = [some for some in parts.map(_some, each=[each]) if some is not None]
    return sparse.vstack(found, format="csr") if sparse.issparse(found[0]) else np.vstack(found)


def _some(block: Block, rows: NDArray[np.int64]) -> Any:
    return block.X[rows].astype(np.float64) if len(rows) else None
