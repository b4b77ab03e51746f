r"""What boosting learns from: all pairs of rows with :math:`y_j > y_i`, or a list of pairs.

`AllPairs` never forms its pairs, see `rankwise.boosting._loops.weights`; `GivenPairs` is a
list. `rankwise.boosting.stumps` and `rankwise.boosting.trees` take rounds on them, each
of which ends with a `Tree`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise._core.pairs import Pairs
from rankwise.boosting._loops.bins import Dense, Sparse
from rankwise.boosting._loops.given_pairs import PairArrays, fill_pair_shares, weigh_pairs
from rankwise.boosting._loops.weights import (
    BETTER,
    WORSE,
    Factors,
    Groups,
    Links,
    compute_factors,
    fill_links,
    fill_shares,
)

Bins = Dense | Sparse
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Whole numbers up to this are tried as proportions of weights.
MOST_COPIES = 1000


class Tree(NamedTuple):
    """What a round adds to the score: a tree of n nodes and n + 1 leaves.

    - ``features``, ``cuts``, ``missing_above`` (n,): a row is above node k if its bin of the
      feature is ``cuts[k]`` or more, or if it is missing and ``missing_above[k]``;
    - ``gains`` (n,): how much a node lowers the objective;
    - ``children`` (n, 2): the next node below and above, or ~leaf; node 0 is the first;
    - ``values`` (n + 1,): what each leaf adds;
    - ``loss``: the training loss after it.
    """

    features: Indices
    cuts: Indices
    missing_above: NDArray[np.bool_]
    gains: Floats
    children: Indices
    values: Floats
    loss: float


class AllPairs:
    """All pairs of rows of one query with different targets.

    Parameters
    ----------
    pairs : Pairs
        Targets, queries and weights.
    n_pairs : float
        The number of pairs, which caps the steps.
    push : float, default=1.0
        The power of the p-norm push. Unless it is 1, a query has at most two targets.

    Attributes
    ----------
    order : ndarray of shape (m,)
        The rows sorted by query and target; all else is in this order.
    s : ndarray of shape (m,)
        Scores.
    limit : float
        Twice the number of pairs.
    log_total : float
        The logarithm of the total exponential weight of the pairs, as `compute_weights` left it.
    starts : ndarray of shape (n_queries + 1,)
        Where each query begins.
    y : ndarray of shape (n_groups,)
        The targets of the groups.
    groups, factors, links
        See `rankwise.boosting._loops.weights`.
    """

    def __init__(self, pairs: Pairs, n_pairs: float, push: float = 1.0) -> None:
        layout = pairs.by_target
        self.push = float(push)
        self.order, self.starts = layout.rows, layout.starts
        self.limit, self.magnitude = 2.0 * n_pairs, pairs.magnitude
        m = len(layout.y)
        opens = np.append(True, layout.y[1:] != layout.y[:-1])
        opens[layout.starts[:-1]] = True
        starts = np.append(np.flatnonzero(opens), m)
        is_lowest = np.isin(starts[:-1], layout.starts)
        is_highest = np.append(is_lowest[1:], True)
        # Targets from the lowest of the query on, of at most 2 in size: gaps can't overflow.
        scaled = layout.y / max(np.abs(layout.y).max(), 1.0)
        sizes = np.diff(layout.starts)
        y = scaled - np.repeat(scaled[layout.starts[:-1][sizes > 0]], sizes[sizes > 0])
        self.groups = Groups(starts, is_lowest, is_highest, y[starts[:-1]], layout.a)
        self.s, self.y = np.zeros(m), layout.y[starts[:-1]]
        # Of each group the better slot, then the worse one.
        group, kind = np.nonzero(np.stack([~is_lowest, ~is_highest], axis=1))
        ends = np.cumsum(np.diff(starts)[group])
        n = len(group)
        self.factors = Factors(
            group=group,
            sign=np.where(kind == 0, BETTER, self.push * WORSE),
            first=ends - np.diff(starts)[group],
            values=np.empty(ends[-1] if n else 0),
            shift=np.empty(n),
            sums=np.empty(n),
            fresh=np.empty(n),
            stale=np.empty(n, dtype=np.bool_),
        )
        self.links = Links(*np.empty((4, len(is_lowest))))
        self.compute_weights()

    def compute_weights(self) -> None:
        """Compute all weights from the scores."""
        self.factors.stale[:] = True
        self.follow()

    def follow(self) -> None:
        """Compute stale factors from the scores, and what follows from all of them."""
        compute_factors(self.groups, self.s, self.factors)
        self.log_total = fill_links(
            self.groups, self.factors, self.magnitude, self.push, self.links
        )

    def shares(self) -> tuple[Floats, Floats]:
        """Return the shares in the weight of a row's pairs as the better one, and as the worse."""
        up, down = np.empty((2, len(self.s)))
        fill_shares(self.groups, self.factors, self.links, self.magnitude, up, down)
        return up, down


class GivenPairs:
    """Given pairs of rows, in any relation.

    Parameters
    ----------
    worse, better : ndarrays of shape (n_pairs,)
        The rows of each pair.
    weight : ndarray of shape (n_pairs,)
        Positive weights.
    n_rows : int
        The number of rows.

    Attributes
    ----------
    order, s, limit, log_total, starts
        As for `AllPairs`; all rows are one query.
    pairs : PairArrays
    """

    def __init__(self, worse: Indices, better: Indices, weight: Floats, n_rows: int) -> None:
        self.order, self.limit = np.arange(n_rows), 2.0 * len(weight)
        self.starts = np.array([0, n_rows])
        self.pairs = PairArrays(worse, better, np.log(weight), np.empty(len(weight)))
        self.s = np.zeros(n_rows)
        self.compute_weights()

    def compute_weights(self) -> None:
        """Compute all weights from the scores."""
        self.log_total = weigh_pairs(self.s, self.pairs)

    def shares(self) -> tuple[Floats, Floats]:
        """Return the shares in the weight of a row's pairs as the better one, and as the worse."""
        up, down = np.empty((2, len(self.s)))
        fill_pair_shares(self.pairs, up, down)
        return up, down


def proportions(weight: Floats) -> tuple[Floats, Indices]:
    """Return the smallest whole numbers in the proportions of positive weights, twice.

    Whole numbers above `MOST_COPIES`, or of more values, are not found. Without any, the weights
    are brought to a mean of 1, and the second answer is 1 for all: how many rows a row stands for.
    """
    with np.errstate(over="ignore"):
        values, of_row = np.unique(weight / weight.min(), return_inverse=True)
    for times in range(1, MOST_COPIES + 1) if len(values) <= MOST_COPIES else ():
        copies = np.rint(times * values)
        if copies[-1] > MOST_COPIES:
            break
        if np.allclose(copies, times * values, rtol=1e-9, atol=0):
            return copies[of_row], copies.astype(np.int64)[of_row]
    return weight / weight.mean(), np.ones(len(weight), dtype=np.int64)
