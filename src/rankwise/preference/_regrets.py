"""Regrets: the loss compared with the best possible, from a sample of targets.

The targets of a set V are drawn from an unknown distribution; several of them per set estimate the
expectations in

- weak regret: ``E L(., tau*) - E_V min E_(tau* | V) L(., tau*)``, a separate minimum for each set;
- strong regret: ``E L(., tau*) - min E L(., tau*)``, one comparator or order of all items for
  all sets; never more than the weak one, since one choice for all does no better than many.

All results on the sorts hold for weak regrets. For strong ones they need *independence of
irrelevant alternatives*: the expectation of tau*(u, v) must be the same in all sets that hold u and
v. `alternatives_gap` measures by how much it isn't.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import check_word, warn_user
from rankwise._core.linear_ordering import solve
from rankwise._core.ranking import Ranking
from rankwise.preference._losses import (
    Floats,
    Weight,
    as_list,
    as_order,
    check_preferences,
    ranks_of,
    weight_matrix,
)

# One weight for all targets, or lists of them: one for each set, or for each target of a set.
Weights = Weight | list[Weight | list[Weight]]


class _Set(NamedTuple):
    """Names of the items of a set, its share of all targets, and the loss of u before v."""

    items: list[Any]
    share: float
    costs: Floats


@dataclass(frozen=True)
class AlternativesGap:
    """The largest difference of E tau*(u, v) between two sets, and where it is.

    Attributes
    ----------
    value : float
        The difference.
    pair : tuple or None
        The items u and v; None if no two sets share a pair that they order differently.
    sets : tuple of int or None
        The numbers of the two sets.
    """

    value: float
    pair: tuple[Any, Any] | None
    sets: tuple[int, int] | None


def preference_regret(
    prefer_matrix: Any,
    targets: Any,
    *,
    weight: Weights = "kemeny",
    kind: str = "weak",
    items: Sequence[Sequence[Any]] | None = None,
) -> float:
    """Return the regret of a comparator compared with the best pairwise consistent one.

    Parameters
    ----------
    prefer_matrix : array-like of shape (n, n), or list of them
        P[u, v] = h(u, v), for one set or for each of several.
    targets : list of orders, or list of such lists
        Sampled targets, orders of 0..n-1; for several sets a list for each.
    weight : "kemeny", ("top", k), ("bipartite", k), ("partite", cuts), callable or list
        As in `preference_loss`. A list has one for each set, or for each target of the one set; a
        list in a list, one for each target of that set: bipartite targets may differ in their cut.
    kind : {"weak", "strong"}, default="weak"
        Whether the best comparator may be another one for each set.
    items : list of sequences, default=None
        The name of each row, for each set: says which items the sets share. Without it, row u is
        the same thing in all sets.

    Examples
    --------
    >>> from rankwise.preference import preference_regret
    >>> never_sure = [[0.5, 0.5], [0.5, 0.5]]
    >>> preference_regret(never_sure, [[0, 1], [0, 1], [0, 1], [1, 0]])
    0.25
    """
    weak = _weak(kind)
    several, by_set = _targets_by_set(targets)
    raw_matrices = [prefer_matrix]
    if several:
        raw_matrices = as_list(
            prefer_matrix, "prefer_matrix", "a list of matrices, one for each set"
        )
    matrices = [check_preferences(P) for P in raw_matrices]
    names = [list(range(len(P))) for P in matrices]
    groups = _group(by_set, names, "prefer_matrix")
    if items is not None:
        named = as_list(items, "items", "a list of the names of rows, one for each set")
        names = [as_order(row_names, "items") for row_names in named]
        if [len(row_names) for row_names in names] != [len(P) for P in matrices]:
            raise ValueError(
                f"items={short(items)} must have a unique name for each row of each prefer_matrix"
            )
    sets = _sets(groups, names, weight, several)
    had = sum(s.share * float((P * s.costs).sum()) for P, s in zip(matrices, sets, strict=True))
    pools = [[s] for s in sets] if weak else [sets]
    least = sum(np.triu(np.minimum(costs, costs.T), 1).sum() for costs in map(_pooled, pools))
    return float(had - least)


def ranking_regret(
    order: Any,
    targets: Any,
    *,
    weight: Weights = "kemeny",
    kind: str = "weak",
    best: Any = None,
) -> float:
    """Return the regret of an order, or of one for each of several sets.

    Parameters
    ----------
    order : sequence or Ranking, or list of them
        The order of a set, or one for each set. Items are not lists or tuples themselves.
    targets : list of orders, or list of such lists
        Sampled targets of the set; for several sets a list for each.
    weight : "kemeny", ("top", k), ("bipartite", k), ("partite", cuts), callable or list
        As in `preference_loss`. A list is as in `preference_regret`.
    kind : {"weak", "strong"}, default="weak"
        Whether the best order may be another one for each set, or must be one order of all items.
    best : order, or list of orders, default=None
        What to compare with, where the search for the best order takes too long: one for each set
        if weak (for a single set, itself), one of all items if strong.

    Notes
    -----
    The best order is found as by `rankwise.aggregation.kemeny` and proven to be the best, within a
    millionth of the largest difference between the two costs of a pair: in seconds as long as some
    hundred items at most prefer each other in circles. If the proof is given up for lack of
    memory, a warning says by how much the regret may be too small. For a randomised sort, average
    over its seeds.

    Examples
    --------
    >>> from rankwise.preference import ranking_regret
    >>> ranking_regret("ba", ["ab", "ab", "ab", "ba"])
    0.5
    """
    weak = _weak(kind)
    several, by_set = _targets_by_set(targets)
    raw_orders = (
        as_list(order, "order", "a list of orders, one for each set") if several else [order]
    )
    orders = [as_order(one, "order") for one in raw_orders]
    groups = _group(by_set, orders, "order")
    compared: list[Any] = [None] * (len(orders) if weak else 1)
    if best is not None:
        compared = as_list(best, "best", "a list of orders, one for each set")
        compared = compared if several and weak else [compared]
    if len(compared) != (len(orders) if weak else 1):
        raise ValueError(f"best has {len(compared)} orders for {len(orders)} sets: give one each")
    sets = _sets(groups, orders, weight, several)
    # The items of a set are in the given order, so what comes earlier is the upper triangle.
    had = sum(s.share * float(np.triu(s.costs, 1).sum()) for s in sets)
    pools = [[s] for s in sets] if weak else [sets]
    least = 0.0
    for pool, chosen in zip(pools, compared, strict=True):
        costs = _pooled(pool)
        names = _names(pool)
        if chosen is None:
            best_ranks = _best_order(costs)
        else:
            where = ranks_of(names)
            kept = [item for item in as_order(chosen, "best") if item in where]
            if len(kept) < len(names):
                raise ValueError(
                    f"best={short(chosen)} must hold every item of the set: {short(names)}"
                )
            best_ranks = np.array([where[item] for item in kept], dtype=np.int64)
        least += float(np.triu(costs[np.ix_(best_ranks, best_ranks)], 1).sum())
    return had - least


def _best_order(costs: Floats) -> NDArray[np.int64]:
    """Return the order with the least sum of ``costs[u, v]`` over u before v."""
    solution = solve(costs.T - costs)
    if solution.lower_bound < solution.cost:
        warn_user(
            "the best order is not proven, and the regret may be larger by up to "
            f"{solution.cost - solution.lower_bound:.3g}: pass a better order, if you know one, as "
            "best"
        )
    return solution.order


def alternatives_gap(targets: Any, *, weight: Weights = "kemeny") -> AlternativesGap:
    """Return by how much the targets break the independence of irrelevant alternatives.

    The largest difference between two sets of the mean of tau*(u, v), over all pairs that both
    hold. Strong regrets obey the guarantees if it is 0 for the distributions that the targets are
    drawn from; a sample of them has a gap by chance.

    Parameters
    ----------
    targets : list of lists of orders
        For each set its sampled targets.
    weight : "kemeny", ("top", k), ("bipartite", k), ("partite", cuts), callable or list
        As in `preference_loss`. A list is as in `preference_regret`.

    Returns
    -------
    AlternativesGap
        ``value``, and the ``pair`` and the numbers of the two ``sets`` where it is (None if no two
        sets share a pair).

    Examples
    --------
    >>> from rankwise.preference import alternatives_gap
    >>> alternatives_gap([[["a", "b", "c"]], [["d", "a", "b"], ["d", "b", "a"]]])
    AlternativesGap(value=0.5, pair=('a', 'b'), sets=(0, 1))
    """
    several, by_set = _targets_by_set(targets)
    if not several:
        raise ValueError(
            f"targets={short(targets)} must be a list of orders for each of several sets"
        )
    names = [as_order(orders[0], "targets") for orders in by_set]
    sets = _sets(_group(by_set, names, "the first target"), names, weight, several)
    worst = AlternativesGap(0.0, None, None)
    for a, b in combinations(range(len(sets)), 2):
        shared = [item for item in sets[a].items if item in set(sets[b].items)]
        means = [_mean_tau(sets[s], shared) for s in (a, b)]
        gap = np.abs(means[0] - means[1])
        if gap.size and gap.max() > worst.value:
            u, v = np.unravel_index(gap.argmax(), gap.shape)
            worst = AlternativesGap(float(gap.max()), (shared[u], shared[v]), (a, b))
    return worst


def _targets_by_set(targets: Any) -> tuple[bool, list[list[Any]]]:
    """Return whether targets are orders of several sets rather than of one, and them by set."""
    orders = as_list(targets, "targets", "a list of orders, or of such lists for several sets")
    nested = False
    if orders and not isinstance(orders[0], Ranking | str):
        first = orders[0] = as_list(orders[0], "targets[0]", "an order, or a list of orders")
        nested = bool(first) and isinstance(first[0], list | tuple | np.ndarray | Ranking)
    groups = [orders]
    if nested:
        groups = [
            as_list(group, f"targets[{s}]", "a list of orders") for s, group in enumerate(orders)
        ]
    if not all(len(group) for group in groups):
        raise ValueError("targets is empty: give at least one target order for each set")
    return nested, groups


def _weak(kind: str) -> bool:
    return check_word(kind, "kind", ("weak", "strong")) == "weak"


def _group(
    groups: list[list[Any]], sets: Sequence[Sequence[Any]], name: str
) -> list[list[NDArray[np.int64]]]:
    """Return, for each set, each target as the places of the set's items."""
    if len(groups) != len(sets):
        raise ValueError(f"targets are for {len(groups)} sets, but {name} is for {len(sets)}")
    ranks: list[list[NDArray[np.int64]]] = []
    for items, orders in zip(sets, groups, strict=True):
        if len(items) < 2:
            raise ValueError(
                f"{name} has a set with fewer than two items, {short(list(items))}: there is "
                "nothing to order"
            )
        ranks.append([])
        for target in orders:
            rank_of = ranks_of(as_order(target, "targets"))
            if rank_of.keys() != set(items):
                raise ValueError(
                    f"the target {short(target)} of targets and {name} must hold the same items: "
                    f"{short(list(items))}"
                )
            ranks[-1].append(np.array([rank_of[item] for item in items], dtype=np.int64))
    return ranks


def _weights_by_set(
    weight: Weights, groups: list[list[NDArray[np.int64]]], several: bool
) -> list[list[Weight]]:
    """Return the weight of each target of each set."""
    sizes = [len(targets) for targets in groups]
    by_set: list[Any] = [weight] * len(groups)
    if isinstance(weight, list) and several:
        by_set = weight
    if len(by_set) == len(groups):
        weights = [
            given if isinstance(given, list) else [given] * n
            for given, n in zip(by_set, sizes, strict=True)
        ]
        if [len(of_targets) for of_targets in weights] == sizes:
            return weights
    raise ValueError(
        f"weight={short(weight)} is invalid: expected one weight, a list of one for each of "
        f"{len(groups)} sets, or for each target of a set"
    )


def _sets(
    groups: list[list[NDArray[np.int64]]], names: list[list[Any]], weight: Weights, several: bool
) -> list[_Set]:
    total = sum(map(len, groups))
    sets = []
    weights = _weights_by_set(weight, groups, several)
    for items, targets, of_targets in zip(names, groups, weights, strict=True):
        n = len(items)
        # a callable that many targets share is called once for each pair of positions
        shared = {id(omega): omega for omega in of_targets}
        matrices = {key: weight_matrix(omega, n) for key, omega in shared.items()}
        pairs = zip(targets, (matrices[id(omega)] for omega in of_targets), strict=True)
        tau = np.mean([(t[:, None] < t) * W[np.ix_(t, t)] for t, W in pairs], axis=0)
        sets.append(_Set(items, len(targets) / total, 2 / (n * (n - 1)) * tau.T))
    return sets


def _names(pool: list[_Set]) -> list[Any]:
    return list(dict.fromkeys(item for s in pool for item in s.items))


def _pooled(pool: list[_Set]) -> Floats:
    """Return the expected loss of u before v over some sets, for all of their items."""
    where = ranks_of(_names(pool))
    costs = np.zeros((len(where), len(where)))
    for s in pool:
        index = [where[item] for item in s.items]
        costs[np.ix_(index, index)] += s.share * s.costs
    return costs


def _mean_tau(one: _Set, items: list[Any]) -> Floats:
    where, n = ranks_of(one.items), len(one.items)
    index = [where[item] for item in items]
    return one.costs.T[np.ix_(index, index)] * (n * (n - 1) / 2)
