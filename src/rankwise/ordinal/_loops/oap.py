"""Many PRank members over one stream. Reference implementation: `tests.reference.oap`.

Member m sees round t when lane m % 4 of a 64-bit hash of (seed, t, m // 4), 15 bits wide, is below
tau: the same members for any chunking and any number of threads. Members are run in blocks that fit
the cache; the scores of four members are taken together, since they share the loads of the row.
"""

import numpy as np
from numba import uint64

from rankwise._core._loops.rows import axpy, dot, dot4, end_update, rank_of
from rankwise._core.compilation import compiled
from rankwise.ordinal._loops.prank import is_satisfied, take_step

# What a lane is compared with, for tau = 1, and the bit above each lane.
ONE = 2**15
GUARDS = 0x8000_8000_8000_8000

# For each set of four members, as four bits: who is in it, and how many.
WHO = np.array([[q for q in range(4) if s >> q & 1] + [0] * (4 - s.bit_count()) for s in range(16)])
HOW_MANY = np.array([s.bit_count() for s in range(16)])


@compiled
def draw(seed, t, group):
    """Return the splitmix64 hash of round t and of a group of four members, a lane for each."""
    z = seed + uint64(0x9E3779B97F4A7C15) * (uint64(t) + uint64(1))
    z += uint64(0xD1B54A32D192ED03) * (uint64(group) + uint64(1))
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@compiled
def chosen(seed, t, group, taus):
    """Return which of the four members of a group see round t, as four bits.

    The lanes are compared with tau all at once: with the bit above each lane set, a subtraction
    leaves it set unless the lane is below. ``taus`` is tau in each of the lanes.
    """
    z = draw(seed, t, group) | uint64(GUARDS)
    below = (~(z - taus) & uint64(GUARDS)) >> uint64(15)
    return (below * uint64(0x0001_0002_0004_0008)) >> uint64(48) & uint64(15)


@compiled
def oap(
    rows, ranks, order, counts, sums, votes, seed, start, first, tails, W, B, correct, W_sum, b_sum
):
    """Run members over a stream, updating in place.

    Parameters
    ----------
    rows, ranks, order
        As in the passes of PRank.
    counts : (3,) int64
        Rounds, mistakes and rank loss, summed over the members, of the rounds that they were shown.
    sums : (m, k), or empty
        Filled with the members' sums of scores and of thresholds; empty: not needed.
    votes : (m, 3) int64, or empty
        Filled with the sums over the members of rank, of rank times rounds ranked rightly, and of
        these rounds; empty: not needed.
    seed : uint64
        The seed of the hash.
    start : int
        The rounds before the stream.
    first : int
        The number of the first member, a multiple of 4.
    tails : (1,) int64
        The share of rounds that a member sees, in units of 1/ONE.
    W, B, correct : (n, d), (n, k-1) and (n,) int64
        The members' directions and thresholds, and the rounds that each was shown and ranked
        rightly.
    W_sum, b_sum : (1, d) and (k-1,)
        The sums of the directions and of the thresholds.

    Returns
    -------
    int
        -1, or a row whose score is not finite.
    """
    n_members, cuts = B.shape
    taus = uint64(tails[0]) * uint64(0x0001_0001_0001_0001)
    seen = np.empty(n_members + 4, dtype=np.int64)
    wrong = np.empty(n_members, dtype=np.int64)
    scores = np.empty(n_members + 4)
    progressive = sums.shape[0] > 0
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        rank = ranks[i]
        if progressive:
            sums[n, 0] = dot(rows, i, W_sum[0])
            for r in range(cuts):
                sums[n, r + 1] = b_sum[r]
        if votes.shape[0] > 0:
            count_votes(rows, i, W, B, correct, votes[n])
        shown = 0
        for g in range(0, n_members, 4):
            who = chosen(seed, start + n, (first + g) // 4, taus)
            if g + 4 > n_members:
                who &= uint64((1 << (n_members - g)) - 1)
            for q in range(4):
                seen[shown + q] = g + WHO[who, q]
            shown += HOW_MANY[who]
        # Without a member that sees the row, the first one still looks whether it is finite.
        for p in range(shown, max(shown + 3, 4)):
            seen[p] = 0
        for p in range(0, max(shown, 1), 4):
            scores[p], scores[p + 1], scores[p + 2], scores[p + 3] = dot4(
                rows, i, W, seen[p], seen[p + 1], seen[p + 2], seen[p + 3]
            )
            if not np.isfinite(scores[p] + scores[p + 1] + scores[p + 2] + scores[p + 3]):
                return i
        failed = 0
        below, above = max(rank - 1, 0), min(rank, cuts - 1)
        for p in range(shown):
            m, score = seen[p], scores[p]
            # Written without branches: whether a member errs can't be foreseen.
            right = ((rank == 0) | (score >= B[m, below])) & (
                (rank == cuts) | (score < B[m, above])
            )
            correct[m] += right
            wrong[failed] = p
            failed += not right
        step_sum = 0.0
        for q in range(failed):
            m, score = seen[wrong[q]], scores[wrong[q]]
            guess = 0
            total = 0.0
            for r in range(cuts):
                guess += score >= B[m, r]
                side = 1.0 if rank > r else -1.0
                step = side if (score - B[m, r]) * side <= 0.0 else 0.0
                total += step
                B[m, r] -= step
                b_sum[r] -= step
            axpy(total, rows, i, W[m])
            step_sum += total
            counts[2] += abs(guess - rank)
        counts[1] += failed
        if progressive:
            axpy(step_sum, rows, i, W_sum[0])
        if failed > 0:
            end_update(rows, W, W_sum)
    counts[0] += ranks.shape[0]
    return -1


@compiled
def oap_steps(
    rows,
    ranks,
    order,
    counts,
    sums,
    votes,
    seed,
    start,
    first,
    tails,
    W,
    B,
    correct,
    update,
    scale_free,
    none,
    memory,
):
    """Run members with any update, which may see a round more than once, updating in place.

    Parameters
    ----------
    rows, ranks, order, counts, votes, seed, start, first, W, B, correct
        As in `oap`.
    sums : (m, k), or empty
        As there; members of a scale-free update are scaled to length 1.
    tails : (n,) int64
        The probabilities that a member sees a round more than 0, 1, ... times, in units of 1/ONE.
    update, scale_free : int, bool
        The code of the update, and whether the length of a member means nothing.
    none : (0,)
        In place of what means of the members would need.
    memory : (n, size)
        What the update of each member keeps between rounds.

    Returns
    -------
    int
        -1, or a row whose score is not finite.
    """
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        rank = ranks[i]
        # Whether or not a member sees the row, the first one looks whether it is finite.
        if not np.isfinite(dot(rows, i, W[0])):
            return i
        if sums.shape[0] > 0:
            _add_members(rows, i, W, B, scale_free, sums[n])
        if votes.shape[0] > 0:
            count_votes(rows, i, W, B, correct, votes[n])
        changed = False
        for m in range(B.shape[0]):
            if m % 4 == 0:
                word = draw(seed, start + n, (first + m) // 4)
            lane = (word >> uint64(16 * (m % 4))) & uint64(0x7FFF)
            for p in range(tails.shape[0]):
                if lane >= uint64(tails[p]):
                    break
                score = dot(rows, i, W[m])
                if not np.isfinite(score):
                    return i
                guess = rank_of(score, B[m])
                correct[m] += guess == rank
                counts[1] += guess != rank
                counts[2] += abs(guess - rank)
                if not is_satisfied(update, rows, i, score, rank, guess, B[m], memory[m]):
                    take_step(update, rows, i, score, rank, W[m], B[m], none, none, 0, memory[m])
                    changed = True
        if changed:
            end_update(rows, W, W[:0])
    counts[0] += ranks.shape[0]
    return -1


@compiled(inner=True)
def _add_members(rows, i, W, B, scale_free, total):
    """Add the members' scores and thresholds to ``total``, (k,)."""
    for m in range(W.shape[0]):
        share = 1.0
        if scale_free:
            square = 0.0
            for j in range(W.shape[1]):
                square += W[m, j] * W[m, j]
            for r in range(B.shape[1]):
                square += B[m, r] * B[m, r]
            share = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        total[0] += share * dot(rows, i, W[m])
        for r in range(B.shape[1]):
            total[r + 1] += share * B[m, r]


@compiled(inner=True)
def count_votes(rows, i, W, B, correct, vote):
    """Add to ``vote``, (3,), the sums over the members that `oap` names."""
    for m in range(W.shape[0]):
        rank = rank_of(dot(rows, i, W[m]), B[m])
        vote[0] += rank
        vote[1] += rank * correct[m]
        vote[2] += correct[m]
