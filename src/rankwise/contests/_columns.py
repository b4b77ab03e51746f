"""Columns of contests: who met whom, and what came of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import as_array, only_column, own_array, shortened
from rankwise._core.ids import as_column, row_number
from rankwise._core.inputs import as_floats, check_weights, refuse_masked
from rankwise._core.sklearn_private import safe_indexing
from rankwise.contests._loops.counts import GOOD, look

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

MOST_CONTESTS = 1e15
"""Past so many, one more is lost in rounding."""
_LARGEST = 1e100
WORDS = {"first": 1.0, "second": 0.0, "tie": 0.5}


def check_contests(first: Any, second: Any, rows: Indices | None = None) -> tuple[Any, Any]:
    """Return two columns of ids of the same length.

    Here and below, ``rows`` are the numbers of the rows in the user's table, for messages; None:
    from 0.
    """
    columns = as_column(first, "first", rows), as_column(second, "second", rows)
    if len(columns[0]) != len(columns[1]):
        raise ValueError(
            f"first has {len(columns[0])} rows and second {len(columns[1])}: a contest is one of "
            "each"
        )
    if not len(columns[0]):
        raise ValueError("there are no contests: first and second are empty")
    return columns


def check_outcome(outcome: Any, m: int, rows: Indices | None = None) -> tuple[Floats, bool]:
    """Return what the first of each contest got, from 0 to 1, and whether 1/2 is a tie.

    It is, if there are only 0, 1/2 and 1; else these are probabilities, and 1/2 is one of them.
    """
    refuse_masked(outcome, "outcome")
    given = only_column(outcome)
    column = given if hasattr(given, "dtype") else as_array(given, "outcome")
    if column.ndim != 1 or len(column) != m:
        raise ValueError(f"outcome has the shape {column.shape} for {m} contests: give one a row")
    if getattr(column.dtype, "kind", "O") not in "biuf":
        listed = column.tolist() if hasattr(column, "tolist") else list(column)
        if any(isinstance(word, str) for word in listed[:1]):
            try:
                values = np.fromiter(map(WORDS.__getitem__, listed), np.float64, m)
            except (KeyError, TypeError):
                row = next(
                    i for i, w in enumerate(listed) if not isinstance(w, str) or w not in WORDS
                )
                raise ValueError(
                    f"outcome is {shortened(listed[row])} in row {row_number(row, rows)}: it must "
                    "be 'first', 'second' or 'tie', or a number from 0 to 1 in all rows"
                ) from None
            return values, True
    values = own_array(as_floats(column, "outcome"), np.float64)
    row, plain = look(values)
    if row != GOOD:
        raise ValueError(
            f"outcome is {values[row]} in row {row_number(row, rows)}: it must be what the first "
            "one got, 1, 0 or 0.5 for a tie, or its probability to win"
        )
    return values, bool(plain)


def check_weight(weight: Any, first: Any) -> Floats | None:
    """Return how often each contest happened, None if once; ``first`` tells how many there are."""
    if weight is None:
        return None
    m = len(first) if hasattr(first, "__len__") else np.size(weight)
    weights = check_weights(weight, "sample_weight", m, "contest")
    check_total(float(np.minimum(weights, 2 * MOST_CONTESTS).sum()))
    return own_array(weights, np.float64)


def take_rows(column: Any, rows: Indices, n_weights: int, name: str) -> Any:
    """Return some rows of a column that is not checked yet, and None for None."""
    if column is None or not hasattr(column, "__len__") or isinstance(column, str | bytes | dict):
        return column
    if len(column) != n_weights:
        raise ValueError(
            f"sample_weight has {n_weights} rows, but {name} has {len(column)}: give one a contest"
        )
    return safe_indexing(column, rows)


def check_total(total: float) -> None:
    """Refuse weights that add up to more than can be counted."""
    if total > MOST_CONTESTS:
        raise ValueError(
            f"sample_weight adds up to more than {MOST_CONTESTS:.0e}, too many to be counted: "
            "divide all weights by the same number"
        )


def check_covariates(
    covariates: Any, m: int, names: list[str] | None = None, rows: Indices | None = None
) -> tuple[Floats, list[str]]:
    """Return covariates of shape (m, d), and their names; ``names`` are those learned with."""
    if covariates is None:
        if names:
            raise ValueError(
                f"covariates is None, but the model has learned with {names}: give them"
            )
        return np.zeros((m, 0)), []
    values = as_floats(covariates, "covariates")
    values = own_array(values[:, None] if values.ndim == 1 else values, np.float64)
    if values.ndim != 2 or len(values) != m:
        raise ValueError(f"covariates has the shape {values.shape} for {m} contests: (m, d)")
    if not np.isfinite(values).all():
        row = row_number(np.flatnonzero(~np.isfinite(values).all(axis=1))[0], rows)
        raise ValueError(f"covariates is not finite in row {row}: drop the row or correct it")
    if (np.abs(values) > _LARGEST).any():
        row = row_number(np.flatnonzero((np.abs(values) > _LARGEST).any(axis=1))[0], rows)
        raise ValueError(f"covariates is beyond {_LARGEST:.0e} in row {row}: choose a larger unit")
    columns = getattr(covariates, "columns", None)
    found = (
        [f"z{k}" for k in range(values.shape[1])] if columns is None else list(map(str, columns))
    )
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(f"covariates has {values.shape[1]} columns, learned were {names}")
    return values, found
