"""The order of least cost, exactly, where the costs leave little open."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

LARGEST = 18


def best_order(costs: ArrayLike) -> NDArray[np.int64]:
    """Return an order of 0..n-1 for which the sum of ``costs[u, v]`` over u before v is least.

    Things that prefer each other in circles (the strongly connected components of "u before v is
    cheaper") stay together, and the components have an order that no pair contradicts; so each is
    solved by itself, by dynamic programming over its subsets in O(2^m m) for m things.

    Parameters
    ----------
    costs : array-like of shape (n, n)
        What u before v costs.

    Raises
    ------
    ValueError
        If a component has more than 18 things: the problem is NP-hard.

    Examples
    --------
    >>> from rankwise.engine.linear_ordering import best_order
    >>> best_order([[0, 3, 1], [0, 0, 1], [0, 0, 0]])
    array([2, 1, 0])
    """
    cost = np.asarray(costs, dtype=np.float64)
    cheaper = cost < cost.T
    n_parts, part = connected_components(csr_array(cheaper), connection="strong")
    after = np.zeros((n_parts, n_parts), dtype=bool)
    rows, columns = np.nonzero(cheaper)
    after[part[rows], part[columns]] = True
    np.fill_diagonal(after, False)
    in_front = after.sum(axis=0)
    order: list[int] = []
    for _ in range(n_parts):
        free = int(np.argmin(in_front))
        in_front -= after[free]
        in_front[free] = n_parts
        members = np.flatnonzero(part == free)
        order += members[_by_subsets(cost[np.ix_(members, members)])].tolist()
    return np.array(order, dtype=np.int64)


def _by_subsets(cost: NDArray[np.float64]) -> list[int]:
    """Return the best order, by the least cost of every subset that may come first."""
    m = len(cost)
    if m > LARGEST:
        raise ValueError(
            f"{m} items prefer each other in circles, and the best order of more than {LARGEST} "
            "such items is not searched for: pass a good one with best=..."
        )
    # What each thing costs behind a subset.
    behind = np.zeros((1, m))
    for thing in range(m):
        behind = np.vstack([behind, behind + cost[thing]])
    subsets = np.arange(1 << m)
    size = sum((subsets >> thing) & 1 for thing in range(m))
    least, last = np.full(1 << m, np.inf), np.zeros(1 << m, dtype=np.int64)
    least[0] = 0.0
    for members in range(m):
        before = subsets[size == members]
        for thing in range(m):
            open_ = before[(before >> thing) & 1 == 0]
            wider, total = open_ | (1 << thing), least[open_] + behind[open_, thing]
            better = total < least[wider]
            least[wider[better]], last[wider[better]] = total[better], thing
    order: list[int] = []
    subset = (1 << m) - 1
    while subset:
        order.append(int(last[subset]))
        subset ^= 1 << order[-1]
    return order[::-1]
