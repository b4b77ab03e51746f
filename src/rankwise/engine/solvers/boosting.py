r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

A *relation* knows which pairs there are and what they weigh now: `Graded` all pairs of rows with
:math:`y_j > y_i`, whose weights are never formed, `Listed` given ones. `boost` takes either.

For d features and k groups of equal target and query, up to `FEW`, a round costs O(n d + d bins k),
with n rows on the smaller side of the last cut. For more groups of m rows, ``criterion="edge"``
costs O(m d). ``"loss"`` needs the weight of the pairs in the right order apart from that of those
in the wrong one: O(m d log bins), and O(P d) for P given pairs.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from time import perf_counter, thread_time
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops import boosting as loops
from rankwise.engine.loops import cuts, histograms
from rankwise.engine.loops.bins import WIDTH, Dense, Sparse
from rankwise.engine.pairs import Pairs

Floats = NDArray[np.float64]
Kept = NDArray[np.int64] | None
Search = Callable[[int, int], tuple[Floats, Kept]]

# Groups that have histograms of their own.
FEW = 32
# Rows from which both sums of a row share a word; fewer rows are summed in 61 bits.
MANY_ROWS = 1 << 16
# Bytes of histograms that may be kept, whatever the size of the bins.
KEPT = 1 << 24
# Runs that a team of no use sits out at most.
LONGEST = 63


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
    kept: Kept

    def search(self, bins: Dense | Sparse, criterion: str) -> Search:
        """Return a search of features first to last for the cuts that are best now.

        It also returns what is to be ``kept`` of them for next time, if anything.
        """

    def sides(self, h: NDArray[np.uint8]) -> tuple[float, float]:
        """Return the weight of the pairs that h puts in the right order, and in the wrong one."""

    def move(self, alpha: float) -> None:
        """Add alpha h to the scores, with the h that `sides` was last asked about."""


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
        starts = np.append(np.flatnonzero(first | opening), m)
        lead = opening[starts[:-1]]
        scaled = layout.y / max(np.abs(layout.y).max(), 1.0)
        n, self.s = len(lead), np.zeros(m)
        self.state = state = loops.State(
            starts=starts,
            lead=lead,
            tail=np.append(lead[1:], True),
            y=(scaled - scaled[_opener(opening)])[starts[:-1]],
            a=layout.a,
            s=self.s,
            base=np.zeros(n),
            A=np.empty(m),
            B=np.empty(m),
            shift=np.empty((n, 2)),
            sums=np.empty((n, 2)),
            fresh=np.empty((n, 2)),
            anew=np.empty(n, dtype=np.bool_),
            room=np.empty((n, 2)),
            logs=np.empty((n, 2)),
            links=np.empty((n, 4)),
            picked=np.empty(m, dtype=np.uint32),
            n_picked=np.empty(n, dtype=np.int64),
            side=np.empty(n, dtype=np.int64),
            parts=np.empty((n, 2, 2)),
        )
        both = ~lead & ~state.tail & (m >= MANY_ROWS)
        state.room[:] = np.where(both[:, None], histograms.LITTLE_ROOM, histograms.ROOM)
        self.slots: histograms.Slots | None = None
        self.kept: Kept = None
        self.keep = False
        self._weigh(anew=True)

    def search(self, bins: Dense | Sparse, criterion: str) -> Search:
        """Return a search of features; see `Relation`."""
        state, m, n, edge = self.state, len(self.s), len(self.state.y), criterion == "edge"
        stride = int(bins.n_bins.max()) + 1
        if n <= FEW or n * stride <= m:
            return self._histograms(bins, edge, stride)
        if edge:
            slots = self.slots = self.slots or _one_slot(m)
            loops.potentials(state, self.magnitude, slots.values)
            return _edges(bins, slots)
        scales = np.empty((2, n, 3))
        cuts.lazy_scales(state, self.log_total, scales)

        def search(first: int, last: int) -> tuple[Floats, Kept]:
            out = np.empty((last - first, 3))
            cuts.search_dominance(bins, first, last, state, scales, self.magnitude, self.limit, out)
            return out, None

        return search

    def _histograms(self, bins: Dense | Sparse, edge: bool, stride: int) -> Search:
        state, kept = self.state, self.kept
        if self.slots is None:
            self.slots = _slots(state)
            if isinstance(bins, Dense):
                size = bins.codes.shape[0] * len(self.slots.kind) * WIDTH * stride * 8
                self.keep = size <= max(KEPT, bins.codes.nbytes)
        slots, keep = self.slots, self.keep
        histograms.fill_slots(state, slots, not keep)
        anew = state.anew if keep else np.ones_like(state.anew)

        def search(first: int, last: int) -> tuple[Floats, Kept]:
            out = np.empty((last - first, 3))
            blocks = slice(first // WIDTH, -(-last // WIDTH))
            if kept is None:
                n = blocks.stop - blocks.start if keep else 1
                hists = np.empty((n, len(slots.kind), WIDTH, stride), dtype=np.int64)
            else:
                # A part may be searched twice.
                hists = kept if len(out) == len(bins.n_bins) else kept[blocks].copy()
            histograms.search_groups(
                bins, first, last, slots, anew, state.links, self.magnitude, edge, self.limit,
                hists, out,
            )  # fmt: skip
            return out, hists if keep else None

        return search

    def sides(self, h: NDArray[np.uint8]) -> tuple[float, float]:
        """Return the weights of the pairs that h puts in order, rightly and wrongly."""
        return loops.sides(self.state, h, self.magnitude)

    def move(self, alpha: float) -> None:
        """Add alpha h to the scores."""
        self.state.anew[:] = False
        if self.keep:
            histograms.change_slots(self.state, self.slots, alpha)
        loops.move(self.state, alpha)
        self.moved += abs(alpha)
        self._weigh(anew=self.moved > loops.SPAN)

    def _weigh(self, *, anew: bool) -> None:
        if anew:
            self.state.anew[:], self.moved = True, 0.0
        loops.refresh(self.state)
        self.log_total = loops.find_links(self.state, self.magnitude)


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
        self.kept: Kept = None
        self._weigh()

    def search(self, bins: Dense | Sparse, criterion: str) -> Search:
        """Return a search of features; see `Relation`."""
        if criterion == "edge":
            slots = _one_slot(len(self.s))
            loops.pair_potentials(self.worse, self.better, self.D, slots.values)
            return _edges(bins, slots)

        def pairs(first: int, last: int) -> tuple[Floats, Kept]:
            out = np.empty((last - first, 3))
            cuts.search_pairs(
                bins, first, last, self.worse, self.better, self.D, len(self.s), self.limit, out
            )
            return out, None

        return pairs

    def sides(self, h: NDArray[np.uint8]) -> tuple[float, float]:
        """Return the weights of the pairs that h puts in order, rightly and wrongly."""
        self.h = h
        return loops.pair_sides(h, self.worse, self.better, self.D)

    def move(self, alpha: float) -> None:
        """Add alpha h to the scores."""
        self.s += alpha * self.h
        self._weigh()

    def _weigh(self) -> None:
        self.log_total = loops.pair_shares(self.s, self.worse, self.better, self.logs, self.D)


class Team:
    """Threads that share tasks; never waited for longer than it takes to do their part oneself.

    A task may run twice, when another thread has begun it and seems to have been put to sleep; it
    must give the same result each time. After a run in which the others were no help, because
    their cores are busy, `parts` advises against asking them for a while, longer each time.
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None
        self._rest = self._pause = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=False)

    def parts(self, n: int) -> int:
        """Return into how many of n parts to divide what comes next: all, or one."""
        self._rest -= 1
        return 1 if self._pool is None or self._rest >= 0 else n

    def run(self, task: Callable[[int], Any], n: int) -> list[Any]:
        """Return task(0), ..., task(n - 1)."""
        if self._pool is None or n == 1:
            return [task(t) for t in range(n)]
        results: dict[int, Any] = {}
        todo = iter(range(n))

        def work() -> tuple[int, float, float]:
            start, used, mine = perf_counter(), thread_time(), 0
            for t in todo:
                results[t] = task(t)
                mine += 1
            return mine, perf_counter() - start, thread_time() - used

        others = [self._pool.submit(work) for _ in range(self.n_threads - 1)]
        mine, took, used = work()
        if len(results) < n:
            wait(others, timeout=1.25 * took / max(mine, 1))
        runs = [(mine, took, used), *(other.result() for other in others if other.done())]
        awake = all(took < 3 * used for mine, took, used in runs if mine)
        self._pause = 0 if mine < n == len(results) and awake else min(4 * self._pause + 3, LONGEST)
        self._rest = self._pause
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
    n_blocks = -(-d // WIDTH)
    # Few calls of many blocks, but enough of them to make up for threads that lag behind.
    n_parts = min(max(n_blocks // 2, team.n_threads), 16 * team.n_threads)
    h = np.empty(m, dtype=np.uint8)
    cap, at_first = np.log(relation.limit) / 2, relation.log_total
    no_gain = (1.0 if criterion == "loss" else 0.0) - cuts.TIE
    for _ in range(n_rounds):
        search = relation.search(bins, criterion)
        width = WIDTH * -(-n_blocks // team.parts(min(n_blocks, n_parts)))

        def part(t: int, search: Search = search, width: int = width) -> tuple[Floats, Kept]:
            return search(t * width, min((t + 1) * width, d))

        tables, hists = zip(*team.run(part, -(-d // width)), strict=True)
        found = np.concatenate(tables)
        whole = len(hists) == 1 or hists[0] is None
        relation.kept = hists[0] if whole else np.concatenate(hists)
        least = found[:, 0].min()
        if least >= no_gain:
            return
        feature = int(np.argmax(found[:, 0] <= least + cuts.TIE))
        cut, above = int(found[feature, 1]), bool(found[feature, 2])
        n_above = loops.split(bins, feature, cut, above, h)
        plus, minus = relation.sides(h)
        with np.errstate(divide="ignore", invalid="ignore"):
            alpha = float(np.clip((np.log(plus) - np.log(minus)) / 2, -cap, cap))
        if not abs(alpha) > 0:
            return
        if not bins.missing[feature]:
            above = 2 * n_above > m
        relation.move(alpha)
        yield Round(feature, cut, above, alpha, relation.log_total - at_first)


def _edges(bins: Dense | Sparse, slots: histograms.Slots) -> Search:
    slots.total[0] = slots.values.sum()

    def edges(first: int, last: int) -> tuple[Floats, Kept]:
        out = np.empty((last - first, 3))
        histograms.search_edges(bins, first, last, slots, out)
        return out, None

    return edges


def _slots(state: loops.State) -> histograms.Slots:
    """Return slots for the factors that are in use."""
    worse, better = ~state.tail, ~state.lead
    both = worse & better & (len(state.s) >= MANY_ROWS)
    uses = np.stack([worse & ~both, better & ~both, both], axis=1)
    group, kind = np.nonzero(uses)
    sizes = np.diff(state.starts)
    ends = np.cumsum(sizes[group])
    return histograms.Slots(
        group=group,
        kind=kind,
        unit=np.empty((len(kind), 2)),
        total=np.empty(len(kind), dtype=np.int64),
        of=np.append(0, np.cumsum(uses.sum(axis=1))),
        groups=np.repeat(np.arange(len(sizes)), sizes),
        rows=state.picked,
        start=state.starts[group],
        n_rows=np.empty(len(kind), dtype=np.int64),
        values=np.empty(ends[-1], dtype=np.int64),
        first=ends - sizes[group],
    )


def _one_slot(m: int) -> histograms.Slots:
    """Return a slot of all rows."""
    zero = np.zeros(1, dtype=np.int64)
    return histograms.Slots(
        group=zero,
        kind=zero,
        unit=np.empty((1, 2)),
        total=np.empty(1, dtype=np.int64),
        of=np.array([0, 1]),
        groups=np.zeros(m, dtype=np.int64),
        rows=np.arange(m, dtype=np.uint32),
        start=zero,
        n_rows=np.array([m]),
        values=np.empty(m, dtype=np.int64),
        first=zero,
    )


def _opener(opening: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for each row, the first row of its query."""
    return np.maximum.accumulate(np.where(opening, np.arange(len(opening)), 0))
