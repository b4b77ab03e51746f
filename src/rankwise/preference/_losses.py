"""Losses of a comparator or an order against a target order, with weights by position.

A target is an order; tau*(u, v) is omega(i, j) if it has u at position i before v at j, else 0.

- `preference_loss`: ``L(h, tau*) = 2 / (n (n - 1)) sum over u != v of h(u, v) tau*(v, u)``;
- `order_loss`: the same for the order's own sigma(u, v), 1 if u is before v.

The weight omega may be Kemeny's (1 for all pairs), that of the first k (1 if one of the two is
among them), bipartite (1 if one is among the first k and the other isn't), with several cuts, or
your own. The guarantees of the sorts ask three properties of it, which `check_weight` checks.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Set
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from rankwise._core._loops.inversions import count_inversions
from rankwise._core.arguments import check_whole
from rankwise._core.comparator import is_number, plain_number
from rankwise._core.ranking import Ranking
from rankwise.preference._loops import first_detour

Floats = NDArray[np.float64]
Weight = str | tuple[str, Any] | Callable[[int, int], float]

# The largest weight: sums over pairs must be finite.
_MOST = 1e300
_KINDS = '"kemeny", ("top", k), ("bipartite", k), ("partite", cuts) or a callable(i, j)'


def preference_loss(prefer_matrix: ArrayLike, target: Any, *, weight: Weight = "kemeny") -> float:
    """Return the share of pairs that a comparator gets wrong.

    Parameters
    ----------
    prefer_matrix : array-like of shape (n, n)
        P[u, v] = h(u, v), the probability that u goes before v. The diagonal doesn't count.
    target : sequence of int, or Ranking
        All of 0..n-1, best first.
    weight : "kemeny", ("top", k), ("bipartite", k), ("partite", cuts) or callable
        The weight of a pair by its positions in the target, from 1. ``cuts`` are the positions
        after which a new group begins; a callable gets (i, j).

    Examples
    --------
    >>> from rankwise.preference import preference_loss
    >>> cycle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]    # 0 before 1, 1 before 2, 2 before 0
    >>> print(f"{preference_loss(cycle, [0, 1, 2]):.3f}")
    0.333
    """
    P = check_preferences(prefer_matrix)
    order = index_order(target, len(P), "target")
    W = weight_matrix(weight, len(P))
    inside = P[np.ix_(order, order)]
    return _share(float((np.tril(inside, -1).T * W).sum()), len(P))


def order_loss(order: Any, target: Any, *, weight: Weight = "kemeny") -> float:
    """Return the share of pairs that an order has in the wrong order.

    Parameters
    ----------
    order, target : sequence or Ranking
        The same items, best first.
    weight : "kemeny", ("top", k), ("bipartite", k), ("partite", cuts) or callable
        As in `preference_loss`.

    Notes
    -----
    O(n log n), and O(n^2) with a callable.

    Examples
    --------
    >>> from rankwise.preference import order_loss
    >>> print(f"{order_loss('cab', 'abc'):.3f}")
    0.667
    >>> print(f"{order_loss('cab', 'abc', weight=('bipartite', 2)):.3f}")
    0.667
    >>> print(f"{order_loss('bac', 'abc', weight=('bipartite', 2)):.3f}")
    0.000
    """
    target_items = as_order(target, "target")
    rank_of = ranks_of(target_items)
    ranks = np.array([rank_of.get(item, -1) for item in as_order(order, "order")], dtype=np.int64)
    n = len(target_items)
    if len(ranks) != n or not np.array_equal(np.sort(ranks), np.arange(n)):
        raise ValueError("order and target must hold the same items, each once")
    groups = _groups(weight, n)
    if groups is None:
        W = weight_matrix(weight, n)
        wrong = ranks[:, None] > ranks
        return _share(float((np.triu(wrong, 1) * W[ranks][:, ranks].T).sum()), n)
    kind, cuts = groups
    if kind == "top":
        tail = ranks[ranks >= cuts[0]] - cuts[0]
        return _share(_inversions(ranks) - _inversions(tail), n)
    return _share(_inversions(ranks if kind == "kemeny" else _group_of(cuts, ranks)), n)


def check_weight(weight: Weight, n: int) -> Floats:
    """Check what the guarantees of the sorts ask of a weight, on positions 1..n.

    - symmetry: ``omega(i, j) = omega(j, i)``;
    - monotonicity: ``omega(i, j), omega(j, k) <= omega(i, k)`` for i < j < k;
    - triangle inequality: ``omega(i, j) <= omega(i, k) + omega(k, j)``.

    Parameters
    ----------
    weight : "kemeny", ("top", k), ("bipartite", k), ("partite", cuts) or callable
        As in `preference_loss`.
    n : int
        The number of positions.

    Returns
    -------
    ndarray of shape (n, n)
        The weights, zero on the diagonal.

    Raises
    ------
    ValueError
        If one of the three fails. The message says which, and where.

    Notes
    -----
    O(n^2) for the named weights, which have all three by their form. A callable is called for
    all n (n - 1) pairs and checked on all triples, with n^3 / 6 additions: seconds for 2,000
    positions.

    Examples
    --------
    >>> from rankwise.preference import check_weight
    >>> check_weight(("bipartite", 1), 3)
    array([[0., 1., 1.],
           [1., 0., 0.],
           [1., 0., 0.]])
    >>> check_weight(lambda i, j: abs(i - j) ** 2, 3)
    Traceback (most recent call last):
    ...
    ValueError: the weight breaks the triangle inequality: omega(1, 3) = 4 is more than
    omega(1, 2) + omega(2, 3) = 2
    """
    check_whole(n, "n")
    W = weight_matrix(weight, n)
    if not callable(weight):
        return W
    tolerance = 1e-12 * W.max()

    def omega(i: int, j: int) -> str:
        return f"omega({i + 1}, {j + 1}) = {W[i, j]:g}"

    bad = np.argwhere(np.abs(W - W.T) > tolerance)
    if len(bad):
        i, j = bad[0]
        raise ValueError(f"the weight breaks symmetry: {omega(i, j)} but {omega(j, i)}")
    # Seen from the last position, columns are rows.
    for seen, positions in ((W, np.arange(n)), (W[::-1, ::-1], np.arange(n)[::-1])):
        drop = _first_drop(seen, tolerance)
        if drop is not None:
            end, inner, other = positions[list(drop)]
            less, more = sorted((end, inner)), sorted((end, other))
            raise ValueError(
                f"the weight breaks monotonicity: {omega(*less)} is more than {omega(*more)}"
            )
    # By monotonicity, only a detour over a place between the two can be shorter.
    i, k, j = first_detour(W, tolerance)
    if i >= 0:
        raise ValueError(
            f"the weight breaks the triangle inequality: {omega(i, j)} is more than\n"
            f"omega({i + 1}, {k + 1}) + omega({k + 1}, {j + 1}) = {W[i, k] + W[k, j]:g}"
        )
    return W


def _first_drop(W: Floats, tolerance: float) -> tuple[int, int, int] | None:
    """Return the first i < j < k with W[i, j] > W[i, k], if there are any."""
    highest = np.maximum.accumulate(np.triu(W, 1), axis=1)
    drops = np.argwhere(np.triu(highest[:, :-1] > W[:, 1:] + tolerance, 1))
    if not len(drops):
        return None
    i, k = int(drops[0, 0]), int(drops[0, 1]) + 1
    return i, i + 1 + int(np.argmax(W[i, i + 1 : k] > W[i, k] + tolerance)), k


def weight_matrix(weight: Weight, n: int) -> Floats:
    """Return the weights of all pairs of positions, zero on the diagonal."""
    groups = _groups(weight, n)
    position = np.arange(n)
    if groups is None:
        positions = range(1, n + 1)
        called = [[_called(weight, i, j) if i != j else 0.0 for j in positions] for i in positions]
        return np.array(called, dtype=np.float64).reshape(n, n)
    kind, cuts = groups
    if kind == "top":
        W = (np.minimum(position[:, None], position) < cuts[0]).astype(np.float64)
    else:
        group = position if kind == "kemeny" else _group_of(cuts, position)
        W = (group[:, None] != group).astype(np.float64)
    np.fill_diagonal(W, 0.0)
    return W


def _called(weight: Any, i: int, j: int) -> float:
    """Return the weight of two positions, a finite number from 0."""
    value = weight(i, j)
    if type(value) in {float, int} and 0 <= value <= _MOST:
        return float(value)
    number = plain_number(value)
    if not is_number(number, _MOST):
        raise ValueError(
            f"weight({i}, {j}) is {short(value)}: it must be a number from 0 to {_MOST}"
        )
    return float(number)


def check_preferences(prefer_matrix: ArrayLike) -> Floats:
    """Return a square matrix of probabilities."""
    expected = "prefer_matrix must be a square matrix of numbers in [0, 1], P[u, v] = h(u, v)"
    if callable(prefer_matrix):
        raise ValueError(f"{expected}, not {short(prefer_matrix)}: call it for each pair of items")
    try:
        array = np.asarray(prefer_matrix)
        P = array.astype(np.float64) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{expected}, not {short(prefer_matrix)}") from error
    if P is None:
        raise ValueError(f"{expected}, but its dtype is {array.dtype}")
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise ValueError(f"{expected}, but its shape is {P.shape}")
    off = ~np.eye(len(P), dtype=bool)
    bad = np.argwhere(off & ~((P >= 0) & (P <= 1)))
    if len(bad):
        u, v = bad[0]
        raise ValueError(f"prefer_matrix[{u}, {v}] is {P[u, v]}: it must be in [0, 1]")
    # The diagonal doesn't count, whatever it is.
    np.fill_diagonal(P, 0.0)
    return P


def as_list(values: Any, name: str, what: str) -> list[Any]:
    """Return the members of a sequence, an array, a Ranking or an iterator, which have an order."""
    members = values.order if isinstance(values, Ranking) else values
    if isinstance(members, Set | Mapping) or issparse(members) or not np.iterable(members):
        raise ValueError(f"{name}={short(values)} must be {what}")
    return members.tolist() if isinstance(members, np.ndarray) else list(members)


def as_order(order: Any, name: str) -> list[Any]:
    """Return the items of an order as a list, each of them once."""
    items = as_list(order, name, "a list or an array of items, best first")
    if not all(map(_is_hashable, items)):
        loose = next(item for item in items if not _is_hashable(item))
        raise ValueError(
            f"{name} holds {short(loose)}, which can't be hashed: name items by numbers, strings "
            "or tuples"
        )
    if len(set(items)) < len(items):
        duplicate = next(item for item, times in Counter(items).items() if times > 1)
        raise ValueError(f"{name} has a duplicated item: {short(duplicate)}")
    return items


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def index_order(order: Any, n: int, name: str) -> NDArray[np.int64]:
    """Return an order of 0..n-1 as an array."""
    items = as_order(order, name)
    if set(items) != set(range(n)):
        raise ValueError(f"{name}={short(order)} must hold each of 0..{n - 1} once, best first")
    return np.array(items, dtype=np.int64)


def ranks_of(order: list[Any]) -> dict[Any, int]:
    """Return the place of each item, from 0."""
    return {item: rank for rank, item in enumerate(order)}


def _groups(weight: Weight, n: int) -> tuple[str, NDArray[np.int64]] | None:
    """Return the kind of a named weight and its cuts, None for a callable."""
    if callable(weight):
        return None
    if isinstance(weight, str) and weight == "kemeny":
        return "kemeny", np.arange(1, n)
    if not (
        isinstance(weight, tuple)
        and len(weight) == 2
        and isinstance(weight[0], str)
        and weight[0] in {"top", "bipartite", "partite"}
    ):
        raise ValueError(f"weight={short(weight)} must be {_KINDS}")
    kind, value = weight
    expected = f"weight={short(weight)}: positions are integers from 1, increasing"
    try:
        cuts = np.atleast_1d(np.asarray(value))
    except ValueError as error:
        raise ValueError(expected) from error
    if cuts.ndim != 1 or cuts.dtype.kind not in "iu" or cuts.min(initial=1) < 1:
        raise ValueError(expected)
    if (cuts[1:] <= cuts[:-1]).any():
        raise ValueError(expected)
    if kind != "partite" and len(cuts) != 1:
        raise ValueError(f"weight={short(weight)} takes one position k")
    return kind, np.minimum(cuts, n).astype(np.int64)


def _group_of(cuts: NDArray[np.int64], ranks_of: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(cuts, ranks_of, side="right")


def _inversions(values: NDArray[np.int64]) -> float:
    return float(count_inversions(np.argsort(values, kind="stable")))


def _share(total: float, n: int) -> float:
    if n < 2:
        raise ValueError(f"there are {n} items: a loss over pairs needs two or more")
    return 2 * total / (n * (n - 1))
