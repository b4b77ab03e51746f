"""How far a comparator or an order is from a target order, with weights by position.

A target is an order; tau*(u, v) is omega(i, j) if it has u at position i before v at j, else 0.

- `preference_loss`: ``L(h, tau*) = 2 / (n (n - 1)) sum over u != v of h(u, v) tau*(v, u)``;
- `order_loss`: the same for the order's own sigma(u, v), 1 if u is before v.

The weight omega may be Kemeny's (1 for all pairs), that of the first k (1 if one of the two is
among them), bipartite (1 if one is among the first k and the other isn't), with several cuts, or
your own. The guarantees of the sorts ask three things of it, which `check_weight` checks.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.base import Ranking
from rankwise.engine.loops.inversions import count_inversions

Floats = NDArray[np.float64]
Weight = str | tuple[str, Any] | Callable[[int, int], float]

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
    wanted = as_order(target, "target")
    place = places(wanted)
    ranks = np.array([place.get(item, -1) for item in as_order(order, "order")], dtype=np.int64)
    n = len(wanted)
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
    W = weight_matrix(weight, n)
    slack = 1e-12 * W.max(initial=0.0)

    def omega(i: int, j: int) -> str:
        return f"omega({i + 1}, {j + 1}) = {W[i, j]:g}"

    bad = np.argwhere(np.abs(W - W.T) > slack)
    if len(bad):
        i, j = bad[0]
        raise ValueError(f"the weight breaks symmetry: {omega(i, j)} but {omega(j, i)}")
    for i in range(n):
        # Rows are j > i, columns k > j.
        rest = W[i, i + 1 :]
        inner = np.triu(W[i + 1 :, i + 1 :], 1)
        later = np.triu(np.ones_like(inner, dtype=bool), 1)
        for smaller in (np.broadcast_to(rest[:, None], inner.shape), inner):
            bad = np.argwhere(later & (smaller > rest + slack))
            if len(bad):
                j, k = bad[0] + i + 1
                first = (i, j) if smaller is not inner else (j, k)
                raise ValueError(
                    f"the weight breaks monotonicity: {omega(*first)} is more than {omega(i, k)}"
                )
    for k in range(n):
        detour = W[:, k, None] + W[k]
        bad = np.argwhere(detour + slack < W)
        if len(bad):
            i, j = bad[0]
            raise ValueError(
                f"the weight breaks the triangle inequality: {omega(i, j)} is more than\n"
                f"omega({i + 1}, {k + 1}) + omega({k + 1}, {j + 1}) = {detour[i, j]:g}"
            )
    return W


def weight_matrix(weight: Weight, n: int) -> Floats:
    """Return the weights of all pairs of positions, zero on the diagonal."""
    groups = _groups(weight, n)
    position = np.arange(n)
    if groups is None:
        if not callable(weight):
            raise ValueError(f"weight={weight!r} must be {_KINDS}")
        W = np.array(
            [
                [float(weight(i, j)) if i != j else 0.0 for j in range(1, n + 1)]
                for i in range(1, n + 1)
            ]
        ).reshape(n, n)
        if not (np.isfinite(W).all() and (W >= 0).all()):
            i, j = np.argwhere(~((W >= 0) & np.isfinite(W)))[0] + 1
            raise ValueError(f"weight({i}, {j}) is {W[i - 1, j - 1]}: it must be 0 or more")
        return W
    kind, cuts = groups
    if kind == "top":
        W = (np.minimum(position[:, None], position) < cuts[0]).astype(np.float64)
    else:
        group = position if kind == "kemeny" else _group_of(cuts, position)
        W = (group[:, None] != group).astype(np.float64)
    np.fill_diagonal(W, 0.0)
    return W


def check_preferences(prefer_matrix: ArrayLike) -> Floats:
    """Return a square matrix of probabilities."""
    P = np.asarray(prefer_matrix, dtype=np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise ValueError(f"prefer_matrix must be square, P[u, v] = h(u, v), not {P.shape}")
    off = ~np.eye(len(P), dtype=bool)
    bad = np.argwhere(off & ~((P >= 0) & (P <= 1)))
    if len(bad):
        u, v = bad[0]
        raise ValueError(f"prefer_matrix[{u}, {v}] is {P[u, v]}: it must be in [0, 1]")
    return P


def as_order(order: Any, name: str) -> list[Any]:
    """Return the items of an order as a list, each of them once."""
    items = order.order if isinstance(order, Ranking) else order
    listed = items.tolist() if isinstance(items, np.ndarray) else list(items)
    if len(set(listed)) < len(listed):
        raise ValueError(f"{name} names an item twice")
    return listed


def index_order(order: Any, n: int, name: str) -> NDArray[np.int64]:
    """Return an order of 0..n-1 as an array."""
    listed = as_order(order, name)
    if sorted(listed) != list(range(n)):
        raise ValueError(f"{name}={order!r} must hold each of 0..{n - 1} once, best first")
    return np.array(listed, dtype=np.int64)


def places(order: list[Any]) -> dict[Any, int]:
    """Return the place of each item, from 0."""
    return {item: place for place, item in enumerate(order)}


def _groups(weight: Weight, n: int) -> tuple[str, NDArray[np.int64]] | None:
    """Return the kind of a named weight and its cuts, None for a callable."""
    if callable(weight):
        return None
    if isinstance(weight, str) and weight == "kemeny":
        return "kemeny", np.arange(1, n)
    if not (
        isinstance(weight, tuple)
        and len(weight) == 2
        and weight[0] in {"top", "bipartite", "partite"}
    ):
        raise ValueError(f"weight={weight!r} must be {_KINDS}")
    kind, value = weight
    cuts = np.atleast_1d(np.asarray(value))
    if cuts.dtype.kind not in "iu" or (np.diff(cuts) <= 0).any() or cuts.min(initial=1) < 1:
        raise ValueError(f"weight={weight!r}: positions are whole numbers from 1, increasing")
    if kind != "partite" and len(cuts) != 1:
        raise ValueError(f"weight={weight!r} takes one position k")
    return kind, cuts.astype(np.int64)


def _group_of(cuts: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(cuts, places, side="right")


def _inversions(values: NDArray[np.int64]) -> float:
    return float(count_inversions(np.argsort(values, kind="stable")))


def _share(total: float, n: int) -> float:
    if n < 2:
        raise ValueError(f"there are {n} items: a loss over pairs needs two or more")
    return 2 * total / (n * (n - 1))
