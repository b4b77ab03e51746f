r"""RankBoost: coordinate descent on the mean of :math:`e^{-(s_j - s_i)}` over pairs.

The pair of a row i of group g and a row j of a later group g' of the query weighs

.. math:: D_{ij} \propto w_{gg'}\, a_i e^{s_i}\, a_j e^{-s_j} ,

a product, so that sums over pairs follow from the sums of its *factors* over groups, which are kept
as logarithms (`PairWeights`): scores of any size do no harm. A push of p makes the worse factors
:math:`a e^{p s}`, and a query's sum of the better ones counts to the power of p. Then the total is
that of the p-norm push, and D its gradient; queries have at most two groups.

A round searches all features for the best cut, splits the rows by it, and steps the scores. A base
ranker ``bin >= cut`` is judged by how much weight of the pairs it puts in the right order (plus)
and in the wrong one (minus). With ``criterion="edge"`` one histogram of all rows tells the
difference, O(m d). With ``criterion="loss"`` histograms of the factors of each group tell both. A
step multiplies the factors on one side of its cut, or divides those on the other, which is the same
but for the unit: so histograms are kept from round to round where they fit, and only the changes of
the smaller side are added, O(n d) for n rows there. Everything is summed again every few rounds.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rankwise._core.threads import Pool
from rankwise.boosting._loops.histogram import (
    CUT_TIE,
    Bins,
    choose_edge_cuts,
    choose_pair_cuts,
    choose_slot_cuts,
    fill_slots,
    sum_before,
)
from rankwise.boosting.binning import Block, Blocks, Floats, Groups, Indices, State
from rankwise.boosting.grower import Tree

# Groups whose histograms are always fewer than the rows are worth.
FEW_GROUPS = 32
# Bytes of histograms that may be kept, whatever the size of the bins, and that are made at a time.
KEPT, AT_A_TIME = 1 << 24, 1 << 26
# Rounds after which all is summed again, and the growth of a sum that makes it at once.
FRESH, GROWTH = 25, 16.0
# A smooth margin that rises by less than this for each unit of a step is not worth one.
MARGIN_TIE = 1e-12

# The feature, the first bin above, and the side of missing values.
Cut = tuple[int, int, int]


class PairWeights:
    """The weights D of all pairs in the exponential loss, or in the p-norm push.

    Parameters
    ----------
    groups : Groups
    magnitude : bool, default=False
        Whether a pair also weighs by the difference of its targets.
    push : float, default=1.0
        The power of the p-norm push. Unless it is 1, a query has at most two targets.

    Attributes
    ----------
    logs : ndarray of shape (2, n_groups)
        The logarithms of the sums of the factors of each group, as worse rows and as better ones.
    lower : ndarray of shape (2, n_groups)
        The logarithms of the sums of the worse rows over the lower groups of the query of each:
        plain, and times the differences of the targets.
    log_total : float
        The logarithm of the total weight of the pairs.
    weight : ndarray of shape (n_groups,)
        The share in it of the pairs whose better row is in the group.
    """

    def __init__(self, groups: Groups, *, magnitude: bool = False, push: float = 1.0) -> None:
        self.groups, self.kind, self.push = groups, int(magnitude), float(push)
        # Targets of at most 1 in size: differences can't overflow.
        scaled = groups.y / max(float(np.abs(groups.y).max()), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.log_steps = np.log(np.diff(scaled, prepend=scaled[:1]))

    def compute(self, blocks: Blocks) -> None:
        """Compute all weights from the scores."""
        self.update(*blocks.run(log_sums, self.push, len(self.log_steps), merge=np.logaddexp))

    def update(self, logs: Floats) -> None:
        """Set the logarithms of the sums of the factors, and what follows from them."""
        self.logs = logs
        self.lower = sum_before(logs[0], self.log_steps, self.groups.is_lowest, np.empty_like(logs))
        terms = self.push * logs[1] + self.lower[self.kind]
        top = float(terms.max())
        weight = np.exp(terms - top)
        total = float(weight.sum())
        self.log_total, self.weight = top + math.log(total), weight / total

    def log_shares(self) -> Floats:
        """Return the logarithms (2, n_groups) of the shares in D that one unit of a factor has."""
        steps, opens = np.append(0.0, self.log_steps[:0:-1]), self.groups.is_highest[::-1].copy()
        from_top = (self.push * self.logs[1])[::-1].copy()
        higher = sum_before(from_top, steps, opens, np.empty_like(self.logs))
        better = self.lower[self.kind] + (self.push - 1.0) * self.logs[1]
        return np.stack([higher[self.kind, ::-1], better]) - self.log_total


def log_sums(
    block: Block, state: State, pool: Pool, push: float, n_groups: int
) -> tuple[State, tuple[Floats]]:
    """Return the logarithms (2, n_groups) of the sums of the factors of each group."""
    logs = np.array([[push], [-1.0]]) * state.scores + block.log_weight
    first, out = block.starts[:-1], np.full((2, n_groups), -np.inf)
    top = np.maximum.reduceat(logs, first, axis=1)
    sums = np.add.reduceat(np.exp(logs - np.repeat(top, block.sizes, axis=1)), first, axis=1)
    out[:, block.groups] = top + np.log(sums)
    return state, (out,)


# ---------------------------------------------------------------------- rounds


class Rounds:
    """The part that rounds on all pairs and on given pairs share.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    n_groups : int
    bins : Bins
        The number of bins of each feature.
    criterion : {"loss", "edge"}
        Whether the base ranker with the smallest Z is taken, or that with the largest edge.
    step : {"exact", "smooth-margin"}
        What a step makes best: the loss, or the smooth margin.
    n_pairs : float
    push : float, default=1.0
        The power of the p-norm push.

    Attributes
    ----------
    log_total, first_log : float
        The logarithm of the total weight of the pairs, now and before the first round.
    """

    log_total: float
    first_log: float

    def __init__(
        self,
        blocks: Blocks,
        n_groups: int,
        bins: Bins,
        criterion: str,
        step: str,
        n_pairs: float,
        push: float = 1.0,
    ) -> None:
        self.blocks, self.n_groups, self.bins, self.push = blocks, n_groups, bins, push
        self.criterion, self.for_margin = criterion, step == "smooth-margin"
        # a step is at most half the logarithm of the limit in size
        self.limit, self.cap = 2.0 * n_pairs, math.log(2.0 * n_pairs) / (1.0 + push)
        self.length, self.best = 0.0, np.empty((len(bins.n_bins), 3))

    def grow(self) -> Tree | None:
        """Take a round, and return it as a tree of two leaves; None if nothing is gained."""
        before = self.log_total
        self.search()
        # the first feature that is as good as the best
        values = self.best[:, 0]
        feature = int(np.argmax(values <= values.min() + CUT_TIE))
        value, cut, missing_above = self.best[feature].tolist()
        if value >= (0.0 if self.criterion == "edge" else 1.0) - CUT_TIE:
            return None
        cut = feature, int(cut), int(missing_above)
        counts, self.sides = self.blocks.run(split_by_cut, cut, self.n_groups)
        alpha = self.choose_step(*self.weigh())
        if not abs(alpha) > 0:
            return None
        n_above, n_rows, below, above = counts.tolist()
        picks_above = 2 * n_above <= n_rows
        self.add_step(alpha, picks_above)
        self.length += abs(alpha)
        side = missing_above if self.bins.missing[feature] else not picks_above
        return Tree(
            features=np.array([feature]),
            cuts=np.array([cut[1]]),
            missing_above=np.array([side], dtype=np.bool_),
            gains=np.array([before - self.log_total]),
            children=np.array([[~0, ~1]]),
            values=np.array([0.0, alpha]),
            counts=np.array([below, above]),
            loss=math.exp(self.log_total - self.first_log),
        )

    def search(self) -> None:
        """Fill ``best`` with (value, cut, side of the missing) of each feature's best cut."""
        raise NotImplementedError

    def weigh(self) -> tuple[float, float]:
        """Return the weight of the pairs that the split orders rightly, and wrongly."""
        raise NotImplementedError

    def choose_step(self, plus: float, minus: float) -> float:
        """Return how far to go along the base ranker."""
        if self.push != 1.0 and self.n_groups > 2:
            return self.push_step()
        # of the sum over the pairs, not the mean: the loss is under 1 once all of them are right
        log_sum = self.log_total - self.first_log + math.log(self.limit / 2)
        if self.for_margin and log_sum < 0:
            return margin_step(plus, minus, -log_sum, self.length, self.cap)
        if plus > 0 and minus > 0:
            best = (math.log(plus) - math.log(minus)) / (1.0 + self.push)
            return min(max(best, -self.cap), self.cap)
        return self.cap if plus > 0 else -self.cap if minus > 0 else 0.0

    def push_step(self) -> float:
        """Return how far to go with a push, over several queries."""
        raise NotImplementedError

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add alpha above the cut; ``picks_above`` says whether that is the smaller side."""
        raise NotImplementedError


class StumpRounds(Rounds):
    """Rounds of RankBoost on all pairs.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    groups : Groups
    n_rows : int
    bins, criterion, step
        As for `Rounds`; "auto" is "loss" if histograms of all groups cost no more than a pass
        through the rows.
    pair_weight : {"uniform", "magnitude"}, default="uniform"
    push : float, default=1.0
        The power of the p-norm push.
    """

    hist: Floats | None

    def __init__(
        self,
        blocks: Blocks,
        groups: Groups,
        bins: Bins,
        n_rows: int,
        criterion: str,
        step: str = "exact",
        pair_weight: str = "uniform",
        push: float = 1.0,
    ) -> None:
        n, stride = len(groups.y), int(bins.n_bins.max()) + 1
        few = n <= FEW_GROUPS or n * stride <= n_rows
        if criterion == "auto":
            criterion = "loss" if few and push == 1.0 and step == "exact" else "edge"
        super().__init__(blocks, n, bins, criterion, step, groups.n_pairs, push)
        self.weights = PairWeights(groups, magnitude=pair_weight == "magnitude", push=push)
        slots, kinds = np.nonzero(np.stack([~groups.is_lowest, ~groups.is_highest], axis=1))
        self.slots = Slots(1 - kinds, slots, stride)
        self.row_bytes = 8 * len(kinds) * stride
        most = max(KEPT, n_rows * len(bins.n_bins))
        # with many groups a histogram of potentials tells the edge
        self.by_potentials = criterion == "edge" and not few
        self.keeps = not self.by_potentials and self.row_bytes * len(bins.n_bins) <= most
        self.sum_again()
        self.first_log = self.log_total

    def sum_again(self) -> None:
        """Compute all weights from the scores; the next search computes factors and histograms."""
        self.weights.compute(self.blocks)
        self.log_total, self.age, self.hist = self.weights.log_total, 0, None
        # the sums of the factors of each group, in units of e^shift
        self.shift, self.sums = self.weights.logs, np.ones_like(self.weights.logs)

    def search(self) -> None:
        r"""Fill the best cuts; see `Rounds`.

        Shares lead from group to group by ``links`` (4, n_groups), see `choose_slot_cuts`:
        ``ratio`` and ``rise`` are the shares of the groups below, and of a group itself, in the
        worse rows up to it; ``blend`` is what the groups below make, as they are, of the sum of the
        worse rows times differences of targets, 1 if pairs don't weigh by these; ``weight`` is the
        share in D of the pairs whose better row is in the group.
        """
        weights, slots, bins, d = self.weights, self.slots, self.bins, len(self.best)
        if self.age == 0:
            self.blocks.run(fill_factors, self.shift, self.push)
        if self.by_potentials:
            with np.errstate(over="ignore"):
                coefficients = np.exp(weights.log_shares() + self.shift)
            (hist,) = self.blocks.run(potential_histograms, coefficients, slots.stride)
            choose_edge_cuts(hist, bins, self.best)
            return
        (plain, gaps), worse = weights.lower, weights.logs[0]
        upto, blend = np.logaddexp(plain, worse), np.ones(len(worse))
        if weights.kind:
            inner = ~weights.groups.is_lowest
            blend[inner] = np.exp((weights.log_steps + plain)[inner] - gaps[inner])
        links = np.stack([np.exp(plain - upto), np.exp(worse - upto), blend, weights.weight])
        step = d if self.keeps else max(1, AT_A_TIME // self.row_bytes)
        for first in range(0, d, step):
            last = min(first + step, d)
            hist = self.hist
            if hist is None:
                (hist,) = self.blocks.run(slot_histograms, slots, first, last)
            if self.keeps:
                self.hist = hist
            by_edge = self.criterion == "edge"
            some = (
                hist, bins, slots.kinds, slots.groups, links, by_edge, self.limit, self.best, first,
            )  # fmt: skip
            self.blocks.pool.run_ranges(
                lambda *part, some=some: choose_slot_cuts(
                    *some, np.empty((4, slots.stride)), *part
                ),
                last - first,
                work=hist.size,
            )

    def weigh(self) -> tuple[float, float]:
        """Return plus and minus; see `Rounds`."""
        weights = self.weights
        with np.errstate(divide="ignore"):
            (worse_above, worse_below), better = np.log(self.sides) + self.shift[:, None]
        # a push counts the sum of a query's better rows to its power: the rest of it is as it is
        better = better + (self.push - 1.0) * weights.logs[1] - weights.log_total
        steps = weights.log_steps, weights.groups.is_lowest
        lower = [
            sum_before(worse, *steps, np.empty_like(better))[weights.kind]
            for worse in (worse_below, worse_above)
        ]
        plus, minus = np.exp(better + np.stack(lower)).sum(axis=1)
        return float(plus), float(minus)

    def push_step(self) -> float:
        r"""Return the step of least p-norm push over several queries.

        With :math:`n_q` and :math:`p_q` the shares of the base ranker in the factors of worse and
        better rows, and :math:`v_q` those of the queries in the whole, a step :math:`\alpha`
        multiplies it by

        .. math:: \sum_q v_q (1 - n_q + n_q e^{p \alpha}) (1 - p_q + p_q e^{-\alpha})^p ,

        whose logarithm is convex.
        """
        better = np.flatnonzero(~self.weights.groups.is_lowest)
        shares, share = self.sides / self.sides.sum(axis=1)[:, None], self.weights.weight[better]
        above, below = (
            np.stack([shares[0, side, better - 1], shares[1, side, better]]) for side in (0, 1)
        )

        def slope(step: float) -> float:
            worse, better = above[0] * math.exp(self.push * step), above[1] * math.exp(-step)
            all_worse, all_better = worse + below[0], better + below[1]
            logs = np.log(all_worse) + self.push * np.log(all_better)
            weight = share * np.exp(logs - logs.max())
            return float(weight @ (worse / all_worse - better / all_better))

        if slope(-self.cap) >= 0:
            return -self.cap
        return (
            self.cap
            if slope(self.cap) <= 0
            else float(brentq(slope, -self.cap, self.cap, xtol=1e-14))
        )

    def add_step(self, alpha: float, picks_above: bool) -> None:
        """Add a step; see `Rounds`."""
        exponents = alpha * np.array([self.push, -1.0])
        change = np.exp(exponents if picks_above else -exponents)
        slots = None if self.hist is None else self.slots
        answer = self.blocks.run(add_step, alpha, (picks_above, change), slots)
        changed, rest = (0, 1) if picks_above else (1, 0)
        self.sums = self.sides[:, rest] + change[:, None] * self.sides[:, changed]
        if not picks_above:
            self.shift = self.shift + exponents[:, None]
        self.age += 1
        grown = np.maximum(self.sums.max(), 1.0 / max(self.sums.min(), 1e-300))
        if self.age >= FRESH or grown > GROWTH:
            self.sum_again()
            return
        if self.hist is not None:
            self.hist += answer[0]
        self.weights.update(self.shift + np.log(self.sums))
        self.log_total = self.weights.log_total


class GivenPairs(NamedTuple):
    """Given pairs of rows, in any relation.

    - ``worse``, ``better`` (n_pairs,): the rows of each pair;
    - ``logs`` (n_pairs,): the logarithms of their weights.
    """

    worse: Indices
    better: Indices
    logs: Floats

    def weigh(self, s: Floats) -> tuple[Floats, float]:
        """Return the shares of the pairs in the exponential loss, and its logarithm."""
        terms = self.logs + s[self.worse] - s[self.better]
        shares = np.exp(terms - terms.max())
        return shares / shares.sum(), float(terms.max() + np.log(shares.sum()))

    def sum_rows(self, values: Floats, m: int) -> Floats:
        """Return sums (2, m) of values of the pairs over rows as the worse ones, and as better."""
        return np.stack([np.bincount(self.worse, values, m), np.bincount(self.better, values, m)])


class PairRounds(Rounds):
    """Rounds of RankBoost on given pairs; O(P d) a round for P of them.

    Parameters
    ----------
    pairs : GivenPairs
    blocks : Blocks
        The rows, in one block.
    criterion, step
        As for `Rounds`; "auto" is "loss".
    """

    def __init__(self, pairs: GivenPairs, blocks: Blocks, criterion: str, step: str) -> None:
        (block,), m = blocks.blocks, len(blocks.blocks[0].weight)
        criterion = "loss" if criterion == "auto" else criterion
        super().__init__(blocks, 1, block.bins, criterion, step, len(pairs.logs))
        # the weights of given pairs are no products of factors
        blocks.states[0] = blocks.states[0]._replace(factors=np.zeros((2, m)))
        self.pairs, self.s = pairs, np.zeros(m)
        self.shares, self.log_total = pairs.weigh(self.s)
        self.first_log = self.log_total

    def search(self) -> None:
        """Fill the best cuts; see `Rounds`."""
        pairs, bins, d, m = self.pairs, self.bins, len(self.best), len(self.s)
        (block,), pool = self.blocks.blocks, self.blocks.pool
        if self.criterion == "edge":
            worse, better = pairs.sum_rows(self.shares, m)
            hist = _sum_potentials(block, pool, better - worse, int(bins.n_bins.max()) + 1)
            choose_edge_cuts(hist, bins, self.best)
            return
        choose = partial(
            choose_pair_cuts, bins, pairs.worse, pairs.better, self.shares, m, self.limit, self.best
        )
        pool.run_ranges(choose, d, work=(len(pairs.logs) + m) * d)

    def weigh(self) -> tuple[float, float]:
        """Return plus and minus; see `Rounds`."""
        above = self.blocks.states[0].above
        better, worse = above[self.pairs.better], above[self.pairs.worse]
        return float(self.shares[better > worse].sum()), float(self.shares[better < worse].sum())

    def add_step(self, alpha: float, picks_above: bool) -> None:  # noqa: ARG002
        """Add a step; see `Rounds`."""
        self.s = self.s + alpha * self.blocks.states[0].above
        self.shares, self.log_total = self.pairs.weigh(self.s)


# ---------------------------------------------------------------------- steps


def margin_step(plus: float, minus: float, log_gain: float, length: float, cap: float) -> float:
    r"""Return the step that makes the smooth margin :math:`-\log F / \sum |\alpha|` largest.

    F is the sum of the exponential loss over the pairs. The margin rises along the base ranker up
    to one point and falls from there on, for it is a concave function over a linear one.

    Parameters
    ----------
    plus, minus : float
        The shares in F of the pairs that the base ranker puts in the right order, and in the wrong.
    log_gain : float
        The logarithm of 1 / F, positive.
    length : float
        The sum of the sizes of the steps before.
    cap : float
        The largest size of a step.
    """
    right, wrong = max(plus, minus), min(plus, minus)
    rest = max(1.0 - right - wrong, 0.0)

    def rises(size: float) -> float:
        # the sign of the derivative of (log_gain - log z) / (length + size)
        up, down = right * math.exp(-size), wrong * math.exp(size)
        z = rest + up + down
        return (up - down) / z * (length + size) - (log_gain - math.log(z))

    if not rises(0.0) > MARGIN_TIE * length:
        return 0.0
    size = cap if rises(cap) >= 0 else float(brentq(rises, 0.0, cap, xtol=1e-14))
    return size if plus > minus else -size


# ---------------------------------------------------------------------- what blocks do


class Slots(NamedTuple):
    """The factors that groups have: as better rows unless lowest, as worse ones unless highest.

    - ``kinds``, ``groups`` (n_slots,): 0 for worse and 1 for better rows of a group; by groups, of
      which the better slot is first;
    - ``stride``: the bins of a feature at most, and one for missing values.
    """

    kinds: Indices
    groups: Indices
    stride: int


def fill_factors(
    block: Block, state: State, pool: Pool, logs: Floats, push: float
) -> tuple[State, tuple[()]]:
    """Compute the factors of all rows as shares of their groups, whose sums are e^logs."""
    exponents = np.array([[push], [-1.0]]) * state.scores + block.log_weight
    unit = np.repeat(logs[:, block.groups], block.sizes, axis=1)
    return state._replace(factors=np.exp(exponents - unit)), ()


def slot_histograms(
    block: Block, state: State, pool: Pool, slots: Slots, first: int, last: int
) -> tuple[State, tuple[Floats]]:
    """Return the histograms of the factors of all slots, of features first to last."""
    features = first, last
    return state, (_sum_slots(block, pool, slots, features, state.factors, block.numbers),)


def _sum_slots(
    block: Block,
    pool: Pool,
    slots: Slots,
    features: tuple[int, int],
    values: Floats,
    picked: NDArray[np.uint32],
) -> Floats:
    """Return the histograms of the values of picked rows, slot by slot."""
    first, last = features
    hist = np.zeros((last - first, len(slots.kinds), slots.stride))
    sides = (np.searchsorted(block.groups, slots.groups, side) for side in ("left", "right"))
    rows = block.starts[np.stack(list(sides), axis=1)]
    spans = np.searchsorted(picked, rows)
    if block.bins.sparse:
        some, values = values, np.zeros((2, len(block.numbers)))
        values[:, picked] = some
    fill = partial(fill_slots, block.bins, values, slots.kinds, rows, picked, spans, hist, first)
    pool.run_ranges(fill, last - first, work=len(picked) * (last - first))
    return hist


def potential_histograms(
    block: Block, state: State, pool: Pool, coefficients: Floats, stride: int
) -> tuple[State, tuple[Floats]]:
    """Return the histograms of the potentials of the rows.

    That is the share of the pairs that a row is the better one of, less that of those that it is
    the worse one of: ``coefficients`` (2, n_groups) times its factors.
    """
    share = np.repeat(coefficients[:, block.groups], block.sizes, axis=1) * state.factors
    return state, (_sum_potentials(block, pool, share[1] - share[0], stride),)


def _sum_potentials(block: Block, pool: Pool, potentials: Floats, stride: int) -> Floats:
    """Return the histograms (d, 1, stride) of potentials (m,)."""
    kinds, spans = np.zeros(1, dtype=np.int64), np.array([[0, len(potentials)]])
    d, numbers = len(block.bins.n_bins), block.numbers
    hist = np.zeros((d, 1, stride))
    some = potentials[None, :], kinds, spans, numbers, spans, hist, 0
    pool.run_ranges(partial(fill_slots, block.bins, *some), d, work=len(numbers) * d)
    return hist


def split_by_cut(
    block: Block, state: State, pool: Pool, cut: Cut, n_groups: int
) -> tuple[State, tuple[Any, ...]]:
    """Split the rows by a cut; return counts and sums of factors.

    Counts are those of the rows above and of all, and, with repetitions, below and above. ``cut``
    is the feature, the first bin above, and the side of missing values. The sums have the shape
    (2, 2, n_groups): by kind, and above or below.
    """
    bins, (f, first, missing_above), sums = block.bins, cut, np.zeros((2, 2, n_groups))
    column = bins.codes[bins.starts[f] : bins.starts[f + 1]]
    codes = bins.spread(f, len(block.numbers)) if bins.sparse else column
    above = (first <= codes) & (codes <= int(bins.n_bins[f]) - 1 + missing_above)
    chosen = above.astype(np.float64)
    for side, rows in enumerate((chosen, 1.0 - chosen)):
        some = np.add.reduceat(state.factors * rows, block.starts[:-1], axis=1)
        sums[:, side, block.groups] = some
    n_above = block.counts @ chosen
    counts = chosen.sum(), len(above), block.counts.sum() - n_above, n_above
    return state._replace(above=above), (np.array(counts, dtype=np.float64), sums)


def add_step(
    block: Block,
    state: State,
    pool: Pool,
    alpha: float,
    side: tuple[bool, Floats],
    slots: Slots | None,
) -> tuple[State, tuple[Floats, ...]]:
    """Add alpha above the cut; return how the histograms of the slots change, if they are kept.

    ``side`` says whether the rows above are those whose factors (2,) change.
    """
    above_changes, change = side
    picked = np.flatnonzero(state.above == above_changes).astype(np.uint32)
    before, factors = np.take(state.factors, picked, axis=1), state.factors.copy()
    after = before * change[:, None]
    for kind in range(2):
        factors[kind, picked] = after[kind]
    answer: tuple[Floats, ...] = ()
    if slots is not None:
        features = 0, len(block.bins.n_bins)
        answer = (_sum_slots(block, pool, slots, features, after - before, picked),)
    scores = state.scores + alpha * state.above
    return state._replace(scores=scores, factors=factors), answer
