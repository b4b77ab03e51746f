"""Validation of targets, scores and weights, and rows on a scale that sums over pairs can hold.

Weights count by their ratios alone, and a loss of differences is homogeneous: rows divided by a
power of 2, which is exact, have a loss that is multiplied back.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core import inputs
from rankwise._core.arguments import check_word
from rankwise._core.inputs import as_floats, ratings_of
from rankwise._core.pairs import Pairs
from rankwise._core.queries import encode_queries

Floats = NDArray[np.float64]

# Integers up to this are floats.
_EXACT = 2.0**53
# Powers of 2. Squares of numbers in this range can be summed over all pairs as they are.
_WIDE = 300
# Row weights in this range are used as they are.
_WIDE_WEIGHT = 100
# Weights of all pairs that neither overflow nor lose digits.
_LOW_SUM, _HIGH_SUM = 2.0**-900, 2.0**900
# Numbers above this are so far apart that only their order counts in an exponential.
_FAR, _APART = 2.0**1000, 2.0**960
_SMALLEST = 2.0**-1074
# The difference of two numbers up to this power of 2 is finite.
_SUMMABLE = 1023


class Scored(NamedTuple):
    """Rows of positive weight: targets, scores, queries and weights."""

    y: Floats
    s: Floats
    qid: Any
    weight: Floats | None

    def pairs(self, exponent: int = 0, pair_weight: str = "uniform") -> Pairs:
        """Return the pairs of the rows with targets divided by 2^exponent, still in their order."""
        y = shrunk(self.y, exponent)
        return Pairs(y, qid=self.qid, sample_weight=self.weight, pair_weight=pair_weight)

    def some(self, kept: NDArray[np.bool_]) -> "Scored":
        """Return some of the rows."""
        columns: list[Any] = [None if c is None else np.asarray(c)[kept] for c in self]
        return Scored(*columns)

    def balanced(self) -> "Scored":
        """Return the rows with their largest weight near 1."""
        if self.weight is None or abs(exponent_of(self.weight)) < _WIDE_WEIGHT:
            return self
        return self._replace(weight=scaled(self.weight, exponent_of(self.weight)))

    def comparable(self) -> "Scored":
        """Return the rows of queries with two different targets, or all rows if there is none."""
        codes, _ = encode_queries(self.qid, len(self.y))
        order = np.lexsort((self.y, codes))
        starts = np.searchsorted(codes[order], np.arange(codes.max() + 1))
        ends = np.append(starts[1:], len(order)) - 1
        kept = (self.y[order[starts]] < self.y[order[ends]])[codes]
        return self.some(kept) if kept.any() else self


def shrunk(values: Floats, exponent: int) -> Floats:
    """Return the values divided by 2^exponent, different ones still different.

    Those that come near the smallest of all floats are moved apart by that.
    """
    less = scaled(values, exponent)
    if exponent <= 0:
        return less
    return less + _SMALLEST * np.unique(values, return_inverse=True)[1]


def check_scored(y_true: Any, y_score: Any, qid: Any, sample_weight: Any) -> Scored:
    """Validate what a measure of pairs takes; rows without weight are left out."""
    y = check_numbers(y_true, "y_true", shift=True)
    s = check_numbers(y_score, "y_score", len(y), shift=True)
    weight = check_weights(sample_weight, len(y))
    if weight is None or weight.all():
        return Scored(y, s, qid, weight)
    codes = None if qid is None else encode_queries(qid, len(y))[0]
    return Scored(y, s, codes, weight).some(weight > 0)


def two_sided(pairs: Pairs) -> Pairs:
    """Refuse rows that make no pair of two rows."""
    if pairs.n_queries == len(pairs.y):
        raise ValueError(
            f"no query has two rows of positive weight ({len(pairs.y)} rows in {pairs.n_queries} "
            "queries), so there is no pair to measure: give more rows, or other queries"
        )
    return pairs


def one_sided(rows: Scored, pair_weight: str = "uniform") -> tuple[Scored, Pairs]:
    """Return rows with the same mean over their comparable pairs, and the pairs.

    The weights of all pairs can be summed, but for unweighted rows these may be no pairs at all.
    """
    check_word(pair_weight, "pair_weight", ("uniform", "magnitude"))
    with np.errstate(over="ignore", invalid="ignore"):
        pairs = rows.pairs(pair_weight=pair_weight)
        if rows.weight is None and pair_weight == "uniform":
            return rows, pairs
        if rows.balanced() is rows and _LOW_SUM < pairs.one_sided_weight < _HIGH_SUM:
            return rows, pairs
    rows._replace(weight=None).pairs().check_comparable()
    rows = rows.comparable().balanced()
    if pair_weight == "magnitude":
        rows = rows._replace(y=shrunk(rows.y, exponent_of(rows.y)))
    if rows.weight is not None:
        rows = rows.some(rows.weight > 0)
    pairs = rows.pairs(pair_weight=pair_weight)
    if not pairs.one_sided_weight > _LOW_SUM:
        raise ValueError(
            "sample_weight has too wide a range: a float can't hold the weight of a pair relative "
            "to the highest; bring its values closer together"
        )
    return rows, pairs


def is_wide(*columns: Floats) -> bool:
    """Whether squares may be too large or too small for a sum over all pairs."""
    return abs(exponent_of(*columns)) > _WIDE


def homogeneous(loss: Callable[[int], float], power: int, *columns: Floats) -> float:
    """Return a loss that is multiplied by c^power when all columns are multiplied by c.

    Parameters
    ----------
    loss : callable
        Takes an exponent e and returns the loss of the columns divided by 2^e, not finite if they
        are too large.
    power : int
        See above.
    columns : ndarrays
        What the loss depends on.

    Raises
    ------
    ValueError
        If no float can hold the loss.
    """
    top = exponent_of(*columns)
    # what is far off may cost nothing, so divide by no more than is needed
    exponents = (0, 2, top // 2, top) if top > -_WIDE else (top,)
    for exponent in exponents[top > _SUMMABLE :]:
        with np.errstate(over="ignore", invalid="ignore"):
            value = loss(exponent)
        if math.isfinite(value):
            break
    try:
        return math.ldexp(value, power * exponent)
    except OverflowError:
        raise ValueError(
            "the loss is larger than a float can hold: scale y_true and y_score, which reach "
            f"{max(float(np.abs(column).max()) for column in columns):.3g}"
        ) from None


def far_apart(s: Floats) -> Floats:
    """Return scores with the same exponentials of their differences, which no longer overflow."""
    far = np.abs(s) > _FAR
    if not far.any():
        return s
    sizes, places = np.unique(np.abs(s[far]), return_inverse=True)
    near = s.copy()
    near[far] = np.sign(s[far]) * (_FAR + _APART * np.arange(1, len(sizes) + 1))[places]
    return near


def check_numbers(values: Any, name: str, n: int | None = None, *, shift: bool = False) -> Floats:
    """Return a 1-D array of finite floats, of length n if it is given.

    An ordered categorical means the places of its categories; see
    `rankwise._core.inputs.ratings_of`. With ``shift``, a constant is taken off integers that
    floats would round.
    """
    array = as_floats(ratings_of(values, name), name)
    if shift and array.size and np.abs(array).max() >= _EXACT:
        integers = np.asarray(values)
        if integers.ndim and integers.dtype.kind in "iu":
            array = (integers.astype(object) - int(integers.min())).astype(np.float64)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one number a row, but its shape is {array.shape}")
    if n is not None and len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} rows: give one number a row")
    if not len(array):
        raise ValueError(f"{name} is empty: a mean needs at least one row")
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.dot(array, array)
    # squares need no temporary, but those of finite numbers may overflow
    if not np.isfinite(squares) and not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} contains {array[row]} (row {row}): drop the row or correct it")
    return np.ascontiguousarray(array)


def check_weights(values: Any, n: int) -> Floats | None:
    """Return row weights, or None."""
    return None if values is None else inputs.check_weights(values, "sample_weight", n)


def exponent_of(*arrays: Floats) -> int:
    """Return the smallest e such that all numbers lie between -2^e and 2^e, 0 if all are 0."""
    return math.frexp(max(max(array.max(), -array.min()) for array in arrays))[1]


def scaled(values: Floats, exponent: int) -> Floats:
    """Return the values divided by 2^exponent, which is exact but where that is below any float."""
    return np.ldexp(values, -exponent) if exponent else values
