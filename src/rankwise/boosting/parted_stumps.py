"""Rounds of RankBoost whose rows lie in parts: the same base rankers, bit for bit.

A round asks all parts twice: for the sums of the factors above the chosen cut, and, with the step,
for what the histograms of the slots change by. What travels are some numbers for each slot, and d
histograms of 256 whole numbers for each slot; with the criterion "edge" and many groups, which asks
a third time, d histograms in all.
"""

import math

import numpy as np
from numpy.typing import NDArray

from rankwise._core.threads import Pool
from rankwise.boosting._loops import stumps as loops
from rankwise.boosting._loops.bins import WIDTH, Dense
from rankwise.boosting._loops.parted import choose_edges, step_slots, sum_slots
from rankwise.boosting._loops.stumps import ROOM, WIDE, Objective, Split, State, Wholes
from rankwise.boosting._loops.weights import BETTER, MOST, fill_links, find_shares
from rankwise.boosting.pair_weights import AllPairs
from rankwise.boosting.parted import Ask, Floats, Ints, Slots
from rankwise.boosting.stumps import FEW_GROUPS, SPAN, StumpRounds

# Bytes of histograms that a round may bring together.
MOST_BYTES = 1 << 30


class Weights:
    """The weights of all pairs, whose rows lie in parts.

    Parameters
    ----------
    groups : AllPairs
        The pairs of groups: a row for each group of equal query and target, in order, whose weight
        is any positive number.
    sizes : ndarray of shape (n_groups,)
        The number of rows of each.
    ask : callable
        ``ask(name, *arguments)`` asks every part for a method of `PartRows`, and merges answers.

    Attributes
    ----------
    slots : Slots
    log_total : float
        As for `AllPairs`.
    """

    def __init__(self, groups: AllPairs, sizes: Ints, ask: Ask) -> None:
        self.pairs, self.ask = groups, ask
        factors = groups.factors
        self.sizes = sizes[factors.group]
        self.slots = Slots(factors.group, factors.sign, len(sizes))
        self.log_total = 0.0

    def compute(self) -> None:
        """Compute all weights from the scores."""
        self.pairs.factors.stale[:] = True
        answer = self.ask("tops", self.pairs.factors.stale)
        self.refresh(answer["top"])

    def refresh(self, tops: Floats) -> None:
        """Compute the factors of stale slots again, given the logarithms of the largest ones."""
        factors = self.pairs.factors
        stale = factors.stale
        units = np.ones(len(stale))
        units[stale] = MOST / self.sizes[stale]
        sums = self.ask("refresh", tops, units)["sums"]
        found = sums_of(sums, units)
        factors.shift[stale] = tops[stale]
        factors.sums[stale] = factors.fresh[stale] = found[stale]
        self.follow()

    def follow(self) -> None:
        """Compute what follows from the sums of the slots."""
        pairs = self.pairs
        self.log_total = fill_links(
            pairs.groups, pairs.factors, pairs.magnitude, pairs.push, pairs.links
        )

    def shares(self) -> Floats:
        """Return the share in D of a factor of each slot."""
        pairs, factors = self.pairs, self.pairs.factors
        better, worse = np.empty((2, len(pairs.groups.y)))
        find_shares(pairs.links, pairs.magnitude, better, worse)
        found = np.where(factors.sign == BETTER, better[factors.group], worse[factors.group])
        return np.asarray(found / factors.sums)


def sums_of(exact: Ints, units: Floats) -> Floats:
    """Return sums (n,) from whole numbers (n, 2) in these units."""
    out = np.empty(len(units))
    sum_slots(exact, units, out)
    return out


def few_parted_groups(n_groups: int, n_rows: int, bins: Dense) -> bool:
    """Return what `few_groups` says of rows in parts."""
    return n_groups <= FEW_GROUPS or n_groups * (int(bins.n_bins.max()) + 1) <= n_rows


class PartedStumps(StumpRounds):
    """Rounds of RankBoost on all pairs, whose rows lie in parts.

    Parameters
    ----------
    weights : Weights
        The pairs.
    bins : Dense
        The number of bins of each feature, of no rows.
    criterion : {"loss", "edge"}
        As in `StumpRounds`.
    n_rows : int
        The number of rows in all parts.
    step : {"exact", "smooth-margin"}, default="exact"
        As in `StumpRounds`.
    """

    def __init__(
        self, weights: Weights, bins: Dense, criterion: str, n_rows: int, step: str = "exact"
    ) -> None:
        groups, factors = weights.pairs.groups, weights.pairs.factors
        self.weights, self.ask = weights, weights.ask
        self.pairs = self.relation = weights.pairs
        self.length, self.for_margin = 0.0, step == "smooth-margin"
        self.bins, self.criterion, self.n_rows, self.pool = bins, criterion, n_rows, Pool(None)
        self.magnitude = weights.pairs.magnitude
        self.objective = Objective(self.magnitude, criterion == "edge", weights.pairs.limit)
        self.found = np.empty((len(bins.n_bins), 3))
        n = len(factors.group)
        self.by_edges = criterion == "edge" and not few_parted_groups(len(groups.y), n_rows, bins)
        shape = -(-len(bins.n_bins) // WIDTH), n, WIDTH, int(bins.n_bins.max()) + 1
        if not self.by_edges and 8 * math.prod(shape) > MOST_BYTES:
            raise ValueError(
                f"criterion={criterion!r} takes {8 * math.prod(shape) / 1e9:.1f} GB of histograms "
                f"a round for {len(groups.y)} groups of equal query and target: use "
                "criterion='edge', fewer max_bins, or trees (max_leaf_nodes)"
            )
        self.hists = np.zeros((1, 1, 1, 1) if self.by_edges else shape, dtype=np.int64)
        self.state = State(
            groups,
            factors,
            weights.pairs.links,
            Wholes(
                unit=np.ones(n),
                total=np.zeros(n, dtype=np.int64),
                begins=np.zeros(n, dtype=np.bool_),
                added=np.empty(0, dtype=np.int64),
                exact=np.zeros((n, 2), dtype=np.int64),
            ),
            Split(
                h=np.empty(0, dtype=np.uint8),
                picked=np.empty(0, dtype=np.uint32),
                bounds=np.zeros(len(groups.y) + 1, dtype=np.int64),
                sums=np.empty((n, 2)),
                exact=np.empty((n, 2), dtype=np.int64),
            ),
            np.empty(0, dtype=np.uint32),
        )
        # Nothing is added to the histograms here: no slot has rows.
        self.nothing = self.state._replace(
            factors=factors._replace(first=np.zeros_like(factors.first))
        )
        self.travelled = 0.0
        weights.compute()
        self._begin()
        self.pairs.log_total = self.first_log = weights.log_total

    def search(self) -> None:
        """Fill the best cuts; see `Rounds`."""
        if self.by_edges:
            hist = self.ask("edges", self.weights.shares())["hist"]
            choose_edges(hist, self.bins.n_bins, self.bins.missing, self.found)
            return
        n = len(self.hists)
        loops.search_slots(self.bins, 0, n, self.state, self.objective, self.hists, self.found)

    def split(self, feature: int, cut: int, missing_above: int) -> int:
        """Split the rows of all parts; see `Rounds`."""
        answer = self.ask("split", feature, cut, missing_above)
        self.above: Ints = answer["above"]
        return int(answer["n_above"])

    def weigh(self, picks_above: bool) -> tuple[float, float]:
        """Return plus and minus; see `Rounds`."""
        wholes, split = self.state.wholes, self.state.split
        picked = self.above if picks_above else wholes.exact - self.above
        split.sums[:, 0] = sums_of(picked, wholes.unit)
        split.sums[:, 1] = sums_of(wholes.exact - picked, wholes.unit)
        plus, minus = loops.weigh_sides(
            self.state.factors, self.state.links, split.sums, picks_above, self.magnitude
        )
        return plus, minus

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add a step; see `Rounds`."""
        factors, wholes = self.state.factors, self.state.wholes
        step_slots(factors, self.state.split.sums, alpha, picks_above)
        self.travelled += self.relation.push * abs(alpha)
        if self.travelled > SPAN:
            factors.stale[:], self.travelled = True, 0.0
        stale: NDArray[np.bool_] = factors.stale.copy()
        answer = self.ask("step", alpha, picks_above, stale, not self.by_edges)
        wholes.exact[:] += answer["exact"]
        wholes.total[:] += answer["total"]
        if not self.by_edges:
            self.hists += answer["hists"]
        if stale.any():
            self.weights.refresh(answer["top"])
            self._begin()
        else:
            self.weights.follow()
        self.pairs.log_total = self.weights.log_total

    def _begin(self) -> None:
        """Bring together the whole numbers of stale slots."""
        factors, wholes = self.state.factors, self.state.wholes
        stale = factors.stale
        wholes.unit[stale] = (WIDE / ROOM - self.weights.sizes[stale]) / factors.fresh[stale]
        answer = self.ask("begin", wholes.unit, not self.by_edges)
        wholes.exact[stale] = answer["exact"][stale]
        wholes.total[stale] = answer["total"][stale]
        if not self.by_edges:
            self.hists[:, stale] = answer["hists"][:, stale]
