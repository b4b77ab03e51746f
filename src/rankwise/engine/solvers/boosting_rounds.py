"""The passes of a round of RankBoost: search the features, split the rows, step the scores.

Each pass is a compiled loop over ranges of features or of rows, which threads may share. Ranges
write to places of their own, and sums over rows are made by parts of rows that are always the same,
so the result does not depend on the threads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.engine.loops.boosting import cuts, given_pairs, histograms, weights
from rankwise.engine.loops.boosting.bins import WIDTH, Dense, Sparse
from rankwise.engine.loops.boosting.cuts import Objective
from rankwise.engine.loops.boosting.histograms import Slots
from rankwise.engine.loops.boosting.weights import State
from rankwise.engine.pool import Pool

Bins = Dense | Sparse
Floats = NDArray[np.float64]

# Rows from which both sums of a row share a word; fewer rows are summed in 61 bits.
MANY_ROWS = 1 << 16
# Bytes of histograms that may be kept, whatever the size of the bins.
KEPT = 1 << 24
# About how many steps the search for many groups takes for each row, feature and level of a tree.
TREE_STEPS = 8


class GroupRounds:
    """Rounds for all pairs of rows of different targets, in any number of groups.

    Parameters
    ----------
    state : State
        Groups, scores and factors.
    log_total : float
        The logarithm of the total weight of the pairs.
    bins : Dense or Sparse
        The features.
    objective : Objective
    pool : Pool
        Threads that share the passes.
    """

    def __init__(
        self, state: State, log_total: float, bins: Bins, objective: Objective, pool: Pool
    ) -> None:
        self.state, self.log_total, self.bins = state, log_total, bins
        self.objective, self.pool = objective, pool
        self.h = np.empty(len(state.s), dtype=np.uint8)

    def search(self) -> Floats:
        """Return (value, cut, side of the missing) of the best cut of each feature, (d, 3)."""
        state, bins, objective = self.state, self.bins, self.objective
        if objective.edge:
            slots = _one_slot(len(state.s))
            weights.fill_potentials(state, objective.magnitude, slots.values)
            return _search_edges(bins, slots, self.pool)
        scales = np.empty((2, len(state.y), 3))
        cuts.fill_scales(state, self.log_total, scales)
        levels = int(bins.n_bins.max()).bit_length()
        work = TREE_STEPS * levels * len(state.s) * len(bins.n_bins)
        return _search_blocks(
            bins, self.pool, work, cuts.search_dominance, state, scales, objective
        )

    def split(self, feature: int, cut: int, missing_above: int) -> tuple[float, float, int]:
        """Split the rows by a base ranker.

        Returns the weight of the pairs that it puts in the right order, that of those in the wrong
        one, and the number of rows where it is 1.
        """
        state, h = self.state, self.h

        def fill(first: int, last: int) -> None:
            weights.split_parts(self.bins, feature, cut, missing_above, state, h, first, last)

        def pick(first: int, last: int) -> None:
            weights.pick_rows(state, h, first, last)

        for task in (fill, pick):
            self.pool.run_ranges(task, len(state.group), work=len(h))
        plus, minus = weights.weigh_sides(state, self.objective.magnitude)
        return plus, minus, int(state.n_above.sum())

    def add_step(self, alpha: float) -> float:
        """Add alpha times the base ranker to the scores; return the logarithm of the weight."""
        self._add_to_rows(alpha)
        self.log_total = weights.update_groups(self.state, alpha, self.objective.magnitude)
        return self.log_total

    def _add_to_rows(self, alpha: float) -> None:
        def add(first: int, last: int) -> None:
            weights.add_step(self.state, alpha, first, last)

        n_picked = int(self.state.n_picked.sum())
        self.pool.run_ranges(add, len(self.state.group), work=2 * n_picked)


class HistogramRounds(GroupRounds):
    """Rounds for few groups, each with histograms of its own.

    Histograms are kept if they are small, and then only what a round changes is added. Parameters
    are those of `GroupRounds`.
    """

    def __init__(
        self, state: State, log_total: float, bins: Bins, objective: Objective, pool: Pool
    ) -> None:
        super().__init__(state, log_total, bins, objective, pool)
        self.slots = slots_of(state)
        n_blocks = -(-len(bins.n_bins) // WIDTH)
        shape = len(self.slots.kind), WIDTH, int(bins.n_bins.max()) + 1
        self.keep = isinstance(bins, Dense) and (
            8 * n_blocks * int(np.prod(shape)) <= max(KEPT, bins.codes.nbytes)
        )
        # Blocks of features that go together: each has histograms that are kept, or one to use.
        n_shares = n_blocks if self.keep else min(n_blocks, pool.n_threads)
        self.blocks = np.linspace(0, n_blocks, n_shares + 1).astype(int)
        self.hists = np.empty((n_shares, *shape), dtype=np.int64)
        self.found = np.empty((len(bins.n_bins), 3))
        histograms.fill_slots(state, self.slots, True)

    def search(self) -> Floats:
        """Return the best cuts; see `GroupRounds`."""
        d, bins, slots, found = len(self.found), self.bins, self.slots, self.found
        links, objective = self.state.links, self.objective

        def search(first: int, last: int) -> None:
            low, high = WIDTH * int(self.blocks[first]), min(WIDTH * int(self.blocks[last]), d)
            histograms.search_groups(
                bins, low, high, slots, links, objective, self.hists[first:last], found[low:high]
            )

        entries = int(slots.n_rows.sum()) * d if isinstance(bins, Dense) else len(bins.codes)
        cells = d * self.hists.shape[1] * self.hists.shape[3]
        self.pool.run_ranges(search, len(self.hists), work=entries + cells)
        return found

    def add_step(self, alpha: float) -> float:
        """Add alpha times the base ranker to the scores; see `GroupRounds`."""
        super().add_step(alpha)
        histograms.update_slots(self.state, self.slots, self.keep)
        return self.log_total

    def _add_to_rows(self, alpha: float) -> None:
        if not self.keep:
            super()._add_to_rows(alpha)
            return

        def add(first: int, last: int) -> None:
            histograms.add_step_to_slots(self.state, self.slots, alpha, first, last)

        n_picked = int(self.state.n_picked.sum())
        self.pool.run_ranges(add, len(self.state.group), work=4 * n_picked)


class PairRounds:
    """Rounds for given pairs.

    Parameters
    ----------
    pairs : PairArrays
        The pairs and their shares in the weight of all.
    s : ndarray of shape (m,)
        Scores, which are moved.
    bins, objective, pool
        As for `GroupRounds`.
    """

    def __init__(
        self,
        pairs: given_pairs.PairArrays,
        s: Floats,
        bins: Bins,
        objective: Objective,
        pool: Pool,
    ) -> None:
        self.pairs, self.s, self.bins = pairs, s, bins
        self.objective, self.pool = objective, pool
        self.h = np.empty(len(s), dtype=np.uint8)

    def search(self) -> Floats:
        """Return the best cuts; see `GroupRounds`."""
        if self.objective.edge:
            slots = _one_slot(len(self.s))
            given_pairs.fill_pair_potentials(self.pairs, slots.values)
            return _search_edges(self.bins, slots, self.pool)
        return _search_blocks(
            self.bins,
            self.pool,
            (len(self.pairs.shares) + len(self.s)) * len(self.bins.n_bins),
            given_pairs.search_pairs,
            self.pairs,
            len(self.s),
            self.objective,
        )

    def split(self, feature: int, cut: int, missing_above: int) -> tuple[float, float, int]:
        """Split the rows; see `GroupRounds`."""
        given_pairs.fill_base_ranker(self.bins, feature, cut, missing_above, self.h)
        plus, minus = given_pairs.weigh_pair_sides(self.h, self.pairs)
        return plus, minus, int(self.h.sum())

    def add_step(self, alpha: float) -> float:
        """Add alpha times the base ranker to the scores; see `GroupRounds`."""
        self.s += alpha * self.h
        return float(given_pairs.fill_shares(self.s, self.pairs))


def _search_blocks(
    bins: Bins, pool: Pool, work: float, loop: Callable[..., None], *arguments: Any
) -> Floats:
    """Return what ``loop(bins, first, last, *arguments, out)`` fills for all features."""
    d = len(bins.n_bins)
    found = np.empty((d, 3))

    def search(first: int, last: int) -> None:
        low, high = WIDTH * first, min(WIDTH * last, d)
        loop(bins, low, high, *arguments, found[low:high])

    pool.run_ranges(search, -(-d // WIDTH), work=work)
    return found


def _search_edges(bins: Bins, slots: Slots, pool: Pool) -> Floats:
    """Return the best cuts by their edges, from the potentials of the rows in one slot."""
    slots.total[0] = slots.values.sum()
    return _search_blocks(bins, pool, bins.codes.size, histograms.search_edges, slots)


def shares_a_word(
    is_lowest: NDArray[np.bool_], is_highest: NDArray[np.bool_], m: int
) -> NDArray[np.bool_]:
    """Return which groups of m rows have both of their sums in one word."""
    return ~is_lowest & ~is_highest & (m >= MANY_ROWS)


def room_of_sums(is_lowest: NDArray[np.bool_], is_highest: NDArray[np.bool_], m: int) -> Floats:
    """Return the least and the most of what the sums of groups may be, of fresh ones, (n, 2)."""
    both = shares_a_word(is_lowest, is_highest, m)
    return np.where(both[:, None], histograms.LITTLE_ROOM, histograms.ROOM)


def slots_of(state: State) -> Slots:
    """Return slots for the factors that are in use."""
    both = shares_a_word(state.is_lowest, state.is_highest, len(state.s))
    uses = np.stack([~state.is_lowest & ~both, ~state.is_highest & ~both, both], axis=1)
    group, kind = np.nonzero(uses)
    sizes = np.diff(state.starts)
    ends = np.cumsum(sizes[group])
    return Slots(
        group=group,
        kind=kind,
        unit=np.empty((len(kind), 2)),
        total=np.empty(len(kind), dtype=np.int64),
        begins=np.empty(len(kind), dtype=np.bool_),
        first=ends - sizes[group],
        of=np.append(0, np.cumsum(uses.sum(axis=1))),
        groups=np.repeat(np.arange(len(sizes)), sizes),
        parts=state.parts,
        bounds=state.bounds,
        gains=np.empty((len(state.group), 2), dtype=np.int64),
        rows=state.picked,
        n_rows=state.n_picked,
        values=np.empty(ends[-1], dtype=np.int64),
    )


def _one_slot(m: int) -> Slots:
    """Return a slot of all rows."""
    zero = np.zeros(1, dtype=np.int64)
    return Slots(
        group=zero,
        kind=zero,
        unit=np.empty((1, 2)),
        total=np.empty(1, dtype=np.int64),
        begins=np.ones(1, dtype=np.bool_),
        first=zero,
        of=np.array([0, 1]),
        groups=np.zeros(m, dtype=np.int64),
        parts=np.array([0, 1]),
        bounds=np.array([0, m]),
        gains=np.empty((1, 2), dtype=np.int64),
        rows=np.arange(m, dtype=np.uint32),
        n_rows=np.array([m]),
        values=np.empty(m, dtype=np.int64),
    )
