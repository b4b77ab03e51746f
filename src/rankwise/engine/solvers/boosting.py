r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

A round is a search of all features for the best cut, a split of the rows by it, and a step of the
scores. `boost` takes rounds; what they are depends on the pairs. `AllPairs` are those of rows with
:math:`y_j > y_i`, whose weights are never formed; `GivenPairs` are a list.

For d features and k groups of equal target and query, up to `FEW_GROUPS`, a round costs
O(n d + d bins k), with n rows on the smaller side of the last cut. For more groups of m rows,
``criterion="edge"`` costs O(m d). ``"loss"`` needs the weight of the pairs in the right order apart
from that of those in the wrong one: O(m d log bins), and O(P d) for P given pairs.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops.boosting import weights
from rankwise.engine.loops.boosting.bins import WIDTH, Dense, Sparse
from rankwise.engine.loops.boosting.cuts import TIE, Objective
from rankwise.engine.loops.boosting.given_pairs import PairArrays, fill_shares
from rankwise.engine.loops.shapes import check_shape
from rankwise.engine.pairs import Pairs
from rankwise.engine.pool import Pool
from rankwise.engine.solvers import boosting_rounds
from rankwise.engine.solvers.boosting_rounds import GroupRounds, HistogramRounds, PairRounds

Bins = Dense | Sparse
Floats = NDArray[np.float64]

# Groups that have histograms of their own.
FEW_GROUPS = 32
# Rows of a part of a group, unless that would make more than so many of them.
PART, MOST_PARTS = 1 << 11, 64


class Round(NamedTuple):
    """A base ranker, 1 above bin ``cut`` - 1 of a feature, its step and the log loss after it."""

    feature: int
    cut: int
    missing_above: bool
    alpha: float
    log_loss: float


class Relation(Protocol):
    """What `boost` asks of the pairs; rows are in the order of the bins."""

    s: Floats
    limit: float
    log_total: float

    def rounds(self, bins: Bins, criterion: str, pool: Pool) -> GroupRounds | PairRounds:
        """Return what searches the features, splits the rows and takes the steps."""


class AllPairs:
    """All pairs of rows of one query with different targets.

    Parameters
    ----------
    pairs : Pairs
        Targets, queries and weights.
    n_pairs : float
        The number of pairs, which caps the steps.

    Attributes
    ----------
    order : ndarray of shape (m,)
        The rows sorted by query and target; all else is in this order.
    s : ndarray of shape (m,)
        Scores.
    limit : float
        Twice the number of pairs.
    log_total : float
        The logarithm of the total weight of the pairs, as `compute_weights` left it.
    state : State
        Groups and factors.
    """

    def __init__(self, pairs: Pairs, n_pairs: float) -> None:
        layout = pairs.by_target
        self.order, self.limit, self.magnitude = layout.rows, 2.0 * n_pairs, pairs.magnitude
        m = len(layout.y)
        opens_target = np.append(True, layout.y[1:] != layout.y[:-1])
        opens_query = np.zeros(m, dtype=np.bool_)
        opens_query[layout.starts[:-1]] = True
        starts = np.append(np.flatnonzero(opens_target | opens_query), m)
        is_lowest = opens_query[starts[:-1]]
        is_highest = np.append(is_lowest[1:], True)
        scaled = layout.y / max(np.abs(layout.y).max(), 1.0)
        n, self.s = len(is_lowest), np.zeros(m)
        parts, bounds = _parts(starts)
        n_parts = int(parts[-1])
        self.state = weights.State(
            starts=starts,
            is_lowest=is_lowest,
            is_highest=is_highest,
            y=(scaled - scaled[_first_row_of_query(opens_query)])[starts[:-1]],
            a=layout.a,
            s=self.s,
            base=np.zeros(n),
            A=np.zeros(m),
            B=np.zeros(m),
            shift=np.empty((n, 2)),
            sums=np.empty((n, 2)),
            logs=np.empty((n, 2)),
            fresh_sums=np.empty((n, 2)),
            is_stale=np.empty(n, dtype=np.bool_),
            room=boosting_rounds.room_of_sums(is_lowest, is_highest, m),
            travelled=np.zeros(1),
            links=np.empty((n, 4)),
            parts=parts,
            group=np.repeat(np.arange(n), np.diff(parts)),
            bounds=bounds,
            part_sums=np.empty((n_parts, 2)),
            n_above=np.empty(n_parts, dtype=np.int64),
            picks_above=np.empty(n, dtype=np.uint8),
            picked=np.empty(m, dtype=np.uint32),
            n_picked=np.empty(n_parts, dtype=np.int64),
            split_sums=np.empty((n_parts, 2, 2)),
        )
        self.compute_weights()

    def compute_weights(self) -> None:
        """Compute everything that follows from the scores."""
        self.state.is_stale[:], self.state.travelled[:] = True, 0.0
        weights.compute_factors(self.state)
        self.log_total = weights.fill_links(self.state, self.magnitude)

    def rounds(self, bins: Bins, criterion: str, pool: Pool) -> GroupRounds:
        """Return the rounds; see `Relation`."""
        n, stride = len(self.state.y), int(bins.n_bins.max()) + 1
        few = n <= FEW_GROUPS or n * stride <= len(self.s)
        objective = Objective(self.magnitude, criterion == "edge", self.limit)
        make = HistogramRounds if few else GroupRounds
        return make(self.state, self.log_total, bins, objective, pool)


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
    """

    def __init__(
        self, worse: NDArray[np.int64], better: NDArray[np.int64], weight: Floats, n_rows: int
    ) -> None:
        for name, rows in (("worse", worse), ("better", better)):
            check_shape(name, rows, len(weight), kind=np.int64, advice="each pair has one")
            if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
                raise ValueError(f"{name} names row {rows.max()} of {n_rows}, counted from 0")
        self.order, self.limit = np.arange(n_rows), 2.0 * len(weight)
        self.pairs = PairArrays(worse, better, np.log(weight), np.empty(len(weight)))
        self.s = np.zeros(n_rows)
        self.log_total = fill_shares(self.s, self.pairs)

    def rounds(self, bins: Bins, criterion: str, pool: Pool) -> PairRounds:
        """Return the rounds; see `Relation`."""
        objective = Objective(False, criterion == "edge", self.limit)
        return PairRounds(self.pairs, self.s, bins, objective, pool)


def boost(
    bins: Bins, relation: Relation, n_rounds: int, criterion: str, pool: Pool
) -> Iterator[Round]:
    """Yield the rounds, fewer than ``n_rounds`` if no base ranker lowers the loss any more.

    Parameters
    ----------
    bins : Dense or Sparse
        The features.
    relation : AllPairs or GivenPairs
        The pairs; its scores are moved.
    n_rounds : int
        Most rounds.
    criterion : {"loss", "edge"}
        Whether the base ranker with the smallest Z is taken, or that with the largest edge.
    pool : Pool
        Threads that share the passes of a round.
    """
    m = len(relation.s)
    _check_bins(bins, m)
    rounds = relation.rounds(bins, criterion, pool)
    no_gain = (1.0 if criterion == "loss" else 0.0) - TIE
    for _ in range(n_rounds):
        found = rounds.search()
        least = found[:, 0].min()
        # the first feature that is as good as the best
        feature = int(np.argmax(found[:, 0] <= least + TIE))
        if found[feature, 0] >= no_gain:
            return
        cut, missing_above = int(found[feature, 1]), int(found[feature, 2])
        plus, minus, n_above = rounds.split(feature, cut, missing_above)
        alpha = best_step(plus, minus, relation.limit)
        if not abs(alpha) > 0:
            return
        log_total = rounds.add_step(alpha)
        above = missing_above if bins.missing[feature] else 2 * n_above > m
        yield Round(feature, cut, bool(above), alpha, log_total - relation.log_total)


def best_step(plus: float, minus: float, limit: float) -> float:
    """Return the step of least loss, whose size is at most half the logarithm of the limit."""
    cap = 0.5 * math.log(limit)
    if plus > 0 and minus > 0:
        return min(max(0.5 * (math.log(plus) - math.log(minus)), -cap), cap)
    if plus > 0:
        return cap
    return -cap if minus > 0 else 0.0


def _check_bins(bins: Bins, m: int) -> None:
    """Refuse bins of other than m rows."""
    d = len(bins.n_bins)
    check_shape("missing", bins.missing, d, kind=np.bool_, advice="each feature has one")
    if isinstance(bins, Dense):
        shape = -(-d // WIDTH), m, WIDTH
        check_shape("codes", bins.codes, *shape, kind=bins.codes.dtype, advice="of these rows")
        return
    check_shape("indptr", bins.indptr, d + 1, kind=np.int64, advice="of these features")
    check_shape("rows", bins.rows, len(bins.codes), kind=np.int64, advice="each code has one")
    if bins.rows.max(initial=-1) >= m:
        raise ValueError(f"the bins are of row {bins.rows.max()}, but there are {m} rows")


def _parts(starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first part of each group, and the first row of each part.

    They depend on the rows alone, so that sums by part are the same for any number of threads.
    """
    rows = max(PART, -(-int(starts[-1]) // MOST_PARTS))
    sizes = np.diff(starts)
    counts = -(-sizes // rows)
    parts = np.append(0, np.cumsum(counts))
    number = np.arange(parts[-1]) - np.repeat(parts[:-1], counts)
    bounds = np.repeat(starts[:-1], counts) + number * np.repeat(sizes, counts) // np.repeat(
        counts, counts
    )
    return parts, np.append(bounds, starts[-1])


def _first_row_of_query(opens_query: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for each row, the first row of its query."""
    return np.maximum.accumulate(np.where(opens_query, np.arange(len(opens_query)), 0))
