"""Members with any step that may see a round more than once. Twin: ``oracles.oap``.

`rankwise.ordinal._loops.oap` is the quicker loop of perceptron steps and coins.
"""

from typing import Any

import numpy as np
from numba import uint64

from rankwise._core._loops.rows import dot, end_update, rank_of
from rankwise._core._loops.shapes import check_shape
from rankwise._core.compilation import compiled
from rankwise.ordinal._loops.large_margin import ROMMA, is_satisfied, take_step
from rankwise.ordinal._loops.oap import Coins, Members, check_members, count_votes, draw
from rankwise.ordinal._loops.prank import Iterate


def oap_steps(
    stream: Any, coins: Coins, tails: Any, update: int, members: Members, sums: Any, votes: Any
) -> int:
    """Run members over a stream, updating in place.

    Parameters
    ----------
    stream, coins, members, votes
        As in `rankwise.ordinal._loops.oap.oap`.
    tails : (n,) int64
        The probabilities that a member sees a round more than 0, 1, ... times, in units of 1/ONE.
    update : int
        The steps: PERCEPTRON, PA or ROMMA of `rankwise.ordinal._loops.large_margin`.
    sums : (m, k), or empty
        As there; the members of ROMMA, which have no common length, are scaled to length 1.

    Returns
    -------
    int
        -1, or a row whose score is not finite.
    """
    check_members(stream, members, sums, votes)
    check_shape("tails", tails, None, kind=np.int64)
    with np.errstate(over="ignore"):  # in plain Python, too, the hash wraps around
        return _oap_steps(stream, coins, tails, update, members, sums, votes)


@compiled
def _oap_steps(stream, coins, tails, update, members, sums, votes):
    rows, ranks, order, counts, _ = stream
    W, B, correct = members
    n_members = B.shape[0]
    none, mistakes, loss = np.empty(0), 0, 0
    for n in range(ranks.shape[0]):
        i = order[n] if order.shape[0] > 0 else n
        rank = ranks[i]
        # Whether or not a member sees the row, the first one looks whether it is finite.
        if not np.isfinite(dot(rows, i, W[0])):
            return i
        if sums.shape[0] > 0:
            _add_members(rows, i, members, update, sums[n])
        if votes.shape[0] > 0:
            count_votes(rows, i, members, votes[n])
        changed = False
        for m in range(n_members):
            if m % 4 == 0:
                word = draw(coins.seed, coins.start + n, (coins.first + m) // 4)
            lane = (word >> uint64(16 * (m % 4))) & uint64(0x7FFF)
            for p in range(tails.shape[0]):
                if lane >= uint64(tails[p]):
                    break
                score = dot(rows, i, W[m])
                if not np.isfinite(score):
                    return i
                guess = rank_of(score, B[m])
                correct[m] += guess == rank
                mistakes += guess != rank
                loss += abs(guess - rank)
                if not is_satisfied(update, score, rank, guess, B[m]):
                    iterate = Iterate(W[m], B[m], none, none, W, W)
                    take_step(update, rows, i, score, rank, iterate, 0)
                    changed = True
        if changed:
            end_update(rows, W, W[:0])
    counts[0] += ranks.shape[0]
    counts[1] += mistakes
    counts[2] += loss
    return -1


@compiled
def _add_members(rows, i, members, update, total):
    """Fill ``total``, (k,), with the members' sums of scores and of thresholds."""
    W, B, _ = members
    for r in range(total.shape[0]):
        total[r] = 0.0
    for m in range(W.shape[0]):
        share = 1.0
        if update == ROMMA:
            square = 0.0
            for j in range(W.shape[1]):
                square += W[m, j] * W[m, j]
            for r in range(B.shape[1]):
                square += B[m, r] * B[m, r]
            share = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        total[0] += share * dot(rows, i, W[m])
        for r in range(B.shape[1]):
            total[r + 1] += share * B[m, r]
