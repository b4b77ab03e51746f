r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

A *relation* knows which pairs there are and what they weigh now: `Graded` all pairs of rows with
:math:`y_j > y_i`, whose weights are never formed, `Listed` given ones. `boost` takes either.

For d features and k groups of equal target and query, up to `FEW`, a round costs O(n d + d bins k),
with n rows on the smaller side of the last cut. For more groups of m rows, ``criterion="edge"``
costs O(m d). ``"loss"`` needs the weight of the pairs in the right order apart from that of those
in the wrong one: O(m d log bins), and O(P d) for P given pairs.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops import boosting as loops
from rankwise.engine.loops import cuts, histograms, rounds
from rankwise.engine.loops.bins import WIDTH, Dense, Sparse
from rankwise.engine.loops.shapes import check_shape
from rankwise.engine.pairs import Pairs
from rankwise.engine.team import Team

Bins = Dense | Sparse
Floats = NDArray[np.float64]
Search = Callable[[int, int], Floats]

# Groups that have histograms of their own.
FEW = 32
# Rows from which both sums of a row share a word; fewer rows are summed in 61 bits.
MANY_ROWS = 1 << 16
# Bytes of histograms that may be kept, whatever the size of the bins.
KEPT = 1 << 24
# Rows of a part of a group, unless that would make more than so many of them.
PART, MOST_PARTS = 1 << 11, 64


class Round(NamedTuple):
    """A base ranker, 1 above bin ``cut`` - 1 of a feature, its step and the log loss after it."""

    feature: int
    cut: int
    missing_above: bool
    alpha: float
    log_loss: float


class Choice(NamedTuple):
    """What a round chose: a base ranker, the rows that it is 1 for, and its step."""

    feature: int
    cut: int
    missing_above: bool
    alpha: float
    n_above: int


class Relation(Protocol):
    """What `boost` asks of the pairs; rows are in the order of the bins."""

    limit: float
    log_total: float
    s: Floats

    def rounds(self, bins: Bins, criterion: str, team: Team) -> Iterator[Choice]:
        """Take rounds as long as a base ranker lowers the loss."""


class Searched(Protocol):
    """A relation whose rounds are a search of all features, one by one."""

    limit: float
    s: Floats

    def search(self, bins: Bins, criterion: str) -> Search:
        """Return a search of features first to last for the cuts that are best now."""

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
        parts, bounds = _parts(starts)
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
            moved=np.zeros(1),
            parts=parts,
            group=np.repeat(np.arange(n), np.diff(parts)),
            bounds=bounds,
            part_sums=np.empty((parts[-1], 2)),
            n_above=np.empty(parts[-1], dtype=np.int64),
            side=np.empty(n, dtype=np.uint8),
            picked=np.empty(m, dtype=np.uint32),
            n_picked=np.empty(parts[-1], dtype=np.int64),
            split=np.empty((parts[-1], 2, 2)),
        )
        both = ~lead & ~state.tail & (m >= MANY_ROWS)
        state.room[:] = np.where(both[:, None], histograms.LITTLE_ROOM, histograms.ROOM)
        self.weigh()

    def weigh(self) -> None:
        """Compute everything that follows from the scores."""
        self.state.anew[:], self.state.moved[:] = True, 0.0
        loops.refresh(self.state)
        self.log_total = loops.find_links(self.state, self.magnitude)

    def rounds(self, bins: Bins, criterion: str, team: Team) -> Iterator[Choice]:
        """Take rounds; see `Relation`."""
        n, stride = len(self.state.y), int(bins.n_bins.max()) + 1
        if n > FEW and n * stride > len(self.s):
            yield from _searched(self, bins, criterion, team)
            return
        slots = _slots(self.state)
        n_blocks = -(-len(bins.n_bins) // WIDTH)
        shape = len(slots.kind), WIDTH, stride
        keep = isinstance(bins, Dense) and (
            8 * n_blocks * int(np.prod(shape)) <= max(KEPT, bins.codes.nbytes)
        )
        histograms.fill_slots(self.state, slots, True)
        job = (
            bins,
            self.state,
            slots,
            np.empty((n_blocks if keep else team.n_threads, *shape), dtype=np.int64),
            np.zeros((team.n_threads, *histograms.scratch_shape(len(slots.kind), stride))),
            np.empty((len(bins.n_bins), 3)),
            np.empty(len(self.s), dtype=np.uint8),
            self.magnitude,
            criterion == "edge",
            keep,
            self.limit,
        )
        with team.helping(rounds.take_rounds, job) as lead:
            while True:
                *found, log_total = lead()
                if found[0] < 0:
                    return
                self.log_total = log_total
                yield Choice(*found)

    def search(self, bins: Bins, criterion: str) -> Search:
        """Return a search of features; see `Searched`."""
        state = self.state
        if criterion == "edge":
            slots = _one_slot(len(self.s))
            loops.potentials(state, self.magnitude, slots.values)
            return _edges(bins, slots)
        scales = np.empty((2, len(state.y), 3))
        cuts.lazy_scales(state, self.log_total, scales)

        def search(first: int, last: int) -> Floats:
            out = np.empty((last - first, 3))
            cuts.search_dominance(bins, first, last, state, scales, self.magnitude, self.limit, out)
            return out

        return search

    def sides(self, h: NDArray[np.uint8]) -> tuple[float, float]:
        """Return the weights of the pairs that h puts in order, rightly and wrongly."""
        loops.count(self.state, h, 0, len(self.state.group))
        loops.pick(self.state, h, 0, len(self.state.group))
        return loops.weigh_sides(self.state, self.magnitude)

    def move(self, alpha: float) -> None:
        """Add alpha h to the scores."""
        loops.move(self.state, alpha, 0, len(self.state.group))
        self.log_total = loops.settle(self.state, alpha, self.magnitude)


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
        for name, rows in (("worse", worse), ("better", better)):
            check_shape(name, rows, len(weight), kind=np.int64, advice="each pair has one")
            if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
                raise ValueError(f"{name} names row {rows.max()} of {n_rows}, counted from 0")
        self.order, self.limit = np.arange(n_rows), 2.0 * len(weight)
        self.worse, self.better, self.logs = worse, better, np.log(weight)
        self.s, self.D = np.zeros(n_rows), np.empty(len(weight))
        self._weigh()

    def rounds(self, bins: Bins, criterion: str, team: Team) -> Iterator[Choice]:
        """Take rounds; see `Relation`."""
        return _searched(self, bins, criterion, team)

    def search(self, bins: Bins, criterion: str) -> Search:
        """Return a search of features; see `Searched`."""
        if criterion == "edge":
            slots = _one_slot(len(self.s))
            loops.pair_potentials(self.worse, self.better, self.D, slots.values)
            return _edges(bins, slots)

        def pairs(first: int, last: int) -> Floats:
            out = np.empty((last - first, 3))
            cuts.search_pairs(
                bins, first, last, self.worse, self.better, self.D, len(self.s), self.limit, out
            )
            return out

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


def boost(
    bins: Bins, relation: Relation, n_rounds: int, criterion: str, team: Team
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
        Who does the work.
    """
    _check_bins(bins, len(relation.s))
    at_first = relation.log_total
    for found in islice(relation.rounds(bins, criterion, team), n_rounds):
        above = found.missing_above
        if not bins.missing[found.feature]:
            above = 2 * found.n_above > len(relation.s)
        log_loss = relation.log_total - at_first
        yield Round(found.feature, found.cut, bool(above), found.alpha, log_loss)


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


def _searched(relation: Searched, bins: Bins, criterion: str, team: Team) -> Iterator[Choice]:
    d = len(bins.n_bins)
    n_blocks = -(-d // WIDTH)
    # Few calls of many blocks, but enough of them to make up for threads that lag behind.
    n_parts = min(max(n_blocks // 2, team.n_threads), 16 * team.n_threads)
    h = np.empty(len(relation.s), dtype=np.uint8)
    no_gain = (1.0 if criterion == "loss" else 0.0) - cuts.TIE
    while True:
        search = relation.search(bins, criterion)
        width = WIDTH * -(-n_blocks // team.parts(min(n_blocks, n_parts)))

        def part(t: int, search: Search = search, width: int = width) -> Floats:
            return search(t * width, min((t + 1) * width, d))

        found = np.concatenate(team.run(part, -(-d // width)))
        feature, cut, above = rounds.best(found)
        if found[feature, 0] >= no_gain:
            return
        n_above = loops.split(bins, feature, cut, above, h)
        alpha = loops.best_step(relation.sides(h), relation.limit)
        if not abs(alpha) > 0:
            return
        relation.move(alpha)
        yield Choice(feature, cut, above, alpha, n_above)


def _edges(bins: Bins, slots: histograms.Slots) -> Search:
    slots.total[0] = slots.values.sum()

    def edges(first: int, last: int) -> Floats:
        out = np.empty((last - first, 3))
        histograms.search_edges(bins, first, last, slots, out)
        return out

    return edges


def _parts(starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first part of each group, and the first row of each part."""
    rows = max(PART, -(-int(starts[-1]) // MOST_PARTS))
    sizes = np.diff(starts)
    counts = -(-sizes // rows)
    parts = np.append(0, np.cumsum(counts))
    number = np.arange(parts[-1]) - np.repeat(parts[:-1], counts)
    bounds = np.repeat(starts[:-1], counts) + number * np.repeat(sizes, counts) // np.repeat(
        counts, counts
    )
    return parts, np.append(bounds, starts[-1])


def _slots(state: loops.State) -> histograms.Slots:
    """Return slots for the factors that are in use."""
    worse, better = ~state.tail, ~state.lead
    both = worse & better & (len(state.s) >= MANY_ROWS)
    uses = np.stack([better & ~both, worse & ~both, both], axis=1)
    group, kind = np.nonzero(uses)
    sizes = np.diff(state.starts)
    ends = np.cumsum(sizes[group])
    return histograms.Slots(
        group=group,
        kind=kind,
        unit=np.empty((len(kind), 2)),
        total=np.empty(len(kind), dtype=np.int64),
        gains=np.empty((len(state.group), 2), dtype=np.int64),
        begins=np.empty(len(kind), dtype=np.bool_),
        of=np.append(0, np.cumsum(uses.sum(axis=1))),
        groups=np.repeat(np.arange(len(sizes)), sizes),
        parts=state.parts,
        bounds=state.bounds,
        rows=state.picked,
        n_rows=state.n_picked,
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
        gains=np.empty((1, 2), dtype=np.int64),
        begins=np.ones(1, dtype=np.bool_),
        of=np.array([0, 1]),
        groups=np.zeros(m, dtype=np.int64),
        parts=np.array([0, 1]),
        bounds=np.array([0, m]),
        rows=np.arange(m, dtype=np.uint32),
        n_rows=np.array([m]),
        values=np.empty(m, dtype=np.int64),
        first=zero,
    )


def _opener(opening: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return, for each row, the first row of its query."""
    return np.maximum.accumulate(np.where(opening, np.arange(len(opening)), 0))
