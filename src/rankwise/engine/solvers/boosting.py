r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

A *relation* knows which pairs there are and what they weigh now: `Graded` all pairs of rows with
:math:`y_j > y_i`, whose weights are never formed, `Listed` given ones. `boost` takes either.

A round costs, for m rows of d features, ``criterion="edge"`` O(m d). ``"loss"`` needs the weight of
the pairs in the right order apart from that of those in the wrong one: O(m d + d bins k) for k
groups of equal target and query up to `FEW`, O(m d log bins) for more, O(P d) for P given pairs.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from time import perf_counter
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops import boosting as loops
from rankwise.engine.loops.bins import WIDTH, Dense, Sparse
from rankwise.engine.pairs import Pairs

Floats = NDArray[np.float64]
Search = Callable[[int, int, Floats], None]

# Groups that have histograms of their own.
FEW = 32
# Rows from which both sums of a row share a word; fewer rows are summed in 61 bits.
MANY_ROWS = 1 << 16

_NONE = np.empty(0, dtype=np.int64)


class Round(NamedTuple):
    """A base ranker, 1 above bin ``cut`` - 1 of a feature, its step and the log loss after it."""

    feature: int
    cut: int
    missing_above: bool
    alpha: float
    log_loss: float


class Relation(Protocol):
    """What `boost` asks of the pairs; rows are in the order of the bins."""

    limit: float
    log_total: float
    s: Floats

    def search(self, bins: Dense | Sparse, criterion: str) -> Search:
        """Return a search of features first to last for the cuts that are best now."""

    def sides(self, h: NDArray[np.uint8]) -> tuple[float, float]:
        """Return the weight of the pairs that h puts in the right order, and in the wrong one."""

    def move(self, h: NDArray[np.uint8], alpha: float) -> None:
        """Add alpha h to the scores."""


class Graded:
    """All pairs of rows of one query with different targets.

    Parameters
    ----------
    pairs : Pairs
        Targets, queries and weights.
    n_pairs : float
        The number of pairs, which caps the steps.
    """

    def __init__(self, pairs: Pairs, n_pairs: float) -> None:
        layout = pairs.by_target
        self.order, self.limit, self.magnitude = layout.rows, 2.0 * n_pairs, pairs.magnitude
        m = len(layout.y)
        first = np.append(True, layout.y[1:] != layout.y[:-1])
        opening = np.zeros(m, dtype=np.bool_)
        opening[layout.starts[:-1]] = True
        self.starts = np.append(np.flatnonzero(first | opening), m)
        self.lead = opening[self.starts[:-1]]
        self.tail = np.append(self.lead[1:], True)
        scaled = layout.y / max(np.abs(layout.y).max(), 1.0)
        self.y = (scaled - scaled[_opener(opening)])[self.starts[:-1]]
        self.a, self.s = layout.a, np.zeros(m)
        self.A, self.B = np.empty(m), np.empty(m)
        n = len(self.y)
        self.shift, self.sums, self.logs = np.empty((n, 2)), np.empty((n, 2)), np.empty((n, 2))
        self.links = np.empty((n, 4))
        self.packed = m >= MANY_ROWS and not (self.lead | self.tail).all()
        self.values = np.zeros((1 if self.packed else 2, m), dtype=np.int64)
        self.moved = 0.0
        self._weigh(anew=True)

    def search(self, bins: Dense | Sparse, criterion: str) -> Search:
        """Return a search of features; see `Relation`."""
        m, n = len(self.s), len(self.y)
        weights = self.starts, self.A, self.B, self.sums
        if criterion == "edge":
            loops.potentials(*weights, self.links, self.magnitude, self.values[0])
            return _edges(bins, self.values[0])
        if n > FEW and n * int(bins.n_bins.max()) > m:
            scales = np.empty((2, n, 3))
            loops.lazy_scales(self.logs, self.lead, self.tail, self.log_total, scales)

            def dominance(first: int, last: int, out: Floats) -> None:
                loops.search_dominance(
                    bins, first, last, self.y, self.starts, self.lead, self.tail, self.A, self.B,
                    self.sums, scales, self.magnitude, self.limit, out,
                )  # fmt: skip

            return dominance
        packed, values = self.packed, self.values
        loops.shares(*weights, self.lead, self.tail, values, packed)
        skip = np.zeros((1, n), dtype=np.bool_) if packed else np.stack([self.tail, self.lead])
        groups, totals = _NONE, np.empty((len(values), n), dtype=np.int64)
        if isinstance(bins, Sparse):
            groups = np.repeat(np.arange(n), np.diff(self.starts))
            for plane, total in zip(values, totals, strict=True):
                loops.group_totals(plane, self.starts, total)

        def histograms(first: int, last: int, out: Floats) -> None:
            loops.search_groups(
                bins, first, last, values, self.starts, skip, groups, totals, self.links, packed,
                self.magnitude, self.limit, out,
            )  # fmt: skip

        return histograms

    def sides(self, h: NDArray[np.uint8]) -> tuple[float, float]:
        """Return the weights of the pairs that h puts in order, rightly and wrongly."""
        return loops.sides(
            h, self.starts, self.lead, self.tail, self.A, self.B, self.sums, self.links,
            self.magnitude,
        )  # fmt: skip

    def move(self, h: NDArray[np.uint8], alpha: float) -> None:
        """Add alpha h to the scores."""
        loops.move(h, alpha, self.starts, self.lead, self.tail, self.s, self.A, self.B, self.sums)
        self.moved += abs(alpha)
        self._weigh(anew=self.moved > loops.SPAN)

    def _weigh(self, *, anew: bool) -> None:
        if anew:
            self.moved = 0.0
            loops.refresh(self.s, self.a, self.starts, self.A, self.B, self.shift, self.sums)
        self.log_total = loops.find_links(
            self.y, self.lead, self.shift, self.sums, self.magnitude, self.links, self.logs
        )


class Listed:
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
        self.order, self.limit = np.arange(n_rows), 2.0 * len(weight)
        self.worse, self.better, self.logs = worse, better, np.log(weight)
        self.s, self.D = np.zeros(n_rows), np.empty(len(weight))
        self._weigh()

    def search(self, bins: Dense | Sparse, criterion: str) -> Search:
        """Return a search of features; see `Relation`."""
        if criterion == "edge":
            values = np.empty(len(self.s), dtype=np.int64)
            loops.pair_potentials(self.worse, self.better, self.D, values)
            return _edges(bins, values)

        def pairs(first: int, last: int, out: Floats) -> None:
            loops.search_pairs(
                bins, first, last, self.worse, self.better, self.D, len(self.s), self.limit, out
            )

        return pairs

    def sides(self, h: NDArray[np.uint8]) -> tuple[float, float]:
        """Return the weights of the pairs that h puts in order, rightly and wrongly."""
        return loops.pair_sides(h, self.worse, self.better, self.D)

    def move(self, h: NDArray[np.uint8], alpha: float) -> None:
        """Add alpha h to the scores."""
        self.s += alpha * h
        self._weigh()

    def _weigh(self) -> None:
        self.log_total = loops.pair_shares(self.s, self.worse, self.better, self.logs, self.D)


class Team:
    """Threads that share tasks; never waited for longer than it takes to do their part oneself.

    A task may run twice, when another thread has begun it and seems to have been put to sleep; it
    must give the same result each time.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown()

    def run(self, task: Callable[[int], Any], n: int) -> list[Any]:
        """Return task(0), ..., task(n - 1)."""
        if self._pool is None or n == 1:
            return [task(t) for t in range(n)]
        results: dict[int, Any] = {}
        todo = iter(range(n))

        def work() -> None:
            for t in todo:
                results[t] = task(t)

        others = [self._pool.submit(work) for _ in range(self.n_threads - 1)]
        start = perf_counter()
        work()
        patience = (perf_counter() - start) / n
        if len(results) < n:
            wait(others, timeout=2 * patience)
        for t in range(n):
            if t not in results:
                results[t] = task(t)
        return [results[t] for t in range(n)]


def boost(
    bins: Dense | Sparse, relation: Relation, n_rounds: int, criterion: str, team: Team
) -> Iterator[Round]:
    """Yield the rounds, fewer than ``n_rounds`` if no base ranker lowers the loss any more.

    Parameters
    ----------
    bins : Dense or Sparse
        The features.
    relation : Relation
        The pairs; its scores are moved.
    n_rounds : int
        Most rounds.
    criterion : {"loss", "edge"}
        Whether the base ranker with the smallest Z is taken, or that with the largest edge.
    team : Team
        Who searches the features.
    """
    d, m = len(bins.n_bins), len(relation.s)
    n_tasks = 1 if team.n_threads == 1 else min(-(-d // WIDTH), 16 * team.n_threads)
    width = WIDTH * -(-d // (WIDTH * n_tasks))
    firsts = range(0, d, width)
    h = np.empty(m, dtype=np.uint8)
    cap, at_first = np.log(relation.limit) / 2, relation.log_total
    no_gain = (1.0 if criterion == "loss" else 0.0) - loops.TIE
    for _ in range(n_rounds):
        search = relation.search(bins, criterion)

        def part(t: int, search: Search = search) -> Floats:
            first = firsts[t]
            out = np.empty((min(first + width, d) - first, 3))
            search(first, first + len(out), out)
            return out

        found = np.concatenate(team.run(part, len(firsts)))
        least = found[:, 0].min()
        if least >= no_gain:
            return
        feature = int(np.argmax(found[:, 0] <= least + loops.TIE))
        cut, above = int(found[feature, 1]), bool(found[feature, 2])
        n_above = loops.split(bins, feature, cut, above, h)
        plus, minus = relation.sides(h)
        with np.errstate(divide="ignore", invalid="ignore"):
            alpha = float(np.clip((np.log(plus) - np.log(minus)) / 2, -cap, cap))
        if not abs(alpha) > 0:
            return
        if not bins.missing[feature]:
            above = 2 * n_above > m
        relation.move(h, alpha)
        yield Round(feature, cut, above, alpha, relation.log_total - at_first)


def _edges(bins: Dense | Sparse, values: NDArray[np.int64]) -> Search:
    starts, skip = np.array([0, len(values)]), np.zeros(1, dtype=np.bool_)
    groups = np.zeros(len(values) if isinstance(bins, Sparse) else 0, dtype=np.int64)
    totals = values.sum(keepdims=True)

    def edges(first: int, last: int, out: Floats) -> None:
        loops.search_edges(bins, first, last, values, starts, skip, groups, totals, out)

    return edges


def _opener(opening: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for each row, the first row of its query."""
    return np.maximum.accumulate(np.where(opening, np.arange(len(opening)), 0))
