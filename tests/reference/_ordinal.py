"""Online ordinal ranking, round by round; ranks are 1..k."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls


class Round(NamedTuple):
    """One round of an online algorithm."""

    guess: int
    w: NDArray[np.float64]
    b: NDArray[np.float64]


def prank(X: ArrayLike, ranks: ArrayLike, k: int) -> Iterator[Round]:
    """Run PRank: predict the first r with w.x - b_r < 0, move what is on the wrong side."""
    rows = np.asarray(X, dtype=np.float64)
    w, b = np.zeros(rows.shape[1]), np.zeros(k - 1)
    for x, y in zip(rows, np.asarray(ranks), strict=True):
        guess = _first_above(w @ x, b)
        if guess != y:
            tau = np.zeros(k - 1)
            for r in range(1, k):
                z = -1 if y <= r else +1
                if (w @ x - b[r - 1]) * z <= 0:
                    tau[r - 1] = z
            w = w + tau.sum() * x
            b = b - tau
        yield Round(guess, w, b)


def averaged_prank(
    X: ArrayLike, ranks: ArrayLike, k: int, *, run: Callable[..., Iterator[Round]] = prank
) -> Iterator[Round]:
    """Run PRank, but guess with the mean of the (w, b) held when predicting the rounds before.

    The yielded (w, b) is the mean over the rounds so far. ``run`` may be another of the updates.
    """
    rows = np.asarray(X, dtype=np.float64)
    held = [(np.zeros(rows.shape[1]), np.zeros(k - 1))]
    w, b = held[0]
    for x, last in zip(rows, run(rows, ranks, k), strict=True):
        guess = _first_above(w @ x, b)
        w = np.mean([direction for direction, _ in held], axis=0)
        b = np.mean([thresholds for _, thresholds in held], axis=0)
        held.append((last.w, last.b))
        yield Round(guess, w, b)


def voted_prank(
    X: ArrayLike,
    ranks: ArrayLike,
    k: int,
    max_voters: int | None = None,
    *,
    run: Callable[..., Iterator[Round]] = prank,
) -> Iterator[Round]:
    """Run PRank, but guess with all hypotheses held so far, by the rounds that each ranked rightly.

    The yielded (w, b) is the current one. With ``max_voters`` only it and the others with the
    largest counts vote, of equal counts the latest. ``run`` may be another of the updates.
    """
    rows, truth = np.asarray(X, dtype=np.float64), np.asarray(ranks)
    hypotheses = [(np.zeros(rows.shape[1]), np.zeros(k - 1))]
    counts = [0]
    for x, y, last in zip(rows, truth, run(rows, truth, k), strict=True):
        *past, current = range(len(hypotheses))
        past.sort(key=lambda i: (counts[i], i), reverse=True)
        voters = [current, *past[: None if max_voters is None else max_voters - 1]]
        said = {i: _first_above(hypotheses[i][0] @ x, hypotheses[i][1]) for i in voters}
        votes = sum(counts[i] for i in voters)
        total = sum(counts[i] * said[i] for i in voters)
        guess = floor(Fraction(total, votes) + Fraction(1, 2)) if votes else said[current]
        counts[current] += said[current] == y
        if not all(map(np.array_equal, hypotheses[current], (last.w, last.b))):
            hypotheses.append((last.w, last.b))
            counts.append(0)
        yield Round(guess, last.w, last.b)


def pa_prank(X: ArrayLike, ranks: ArrayLike, k: int) -> Iterator[Round]:
    """Run PRank with the smallest change of (w, b) such that z_r (w.x - b_r) >= 1 for every r."""
    rows = np.asarray(X, dtype=np.float64)
    d = rows.shape[1]
    v = np.zeros(d + k - 1)
    for x, y in zip(rows, np.asarray(ranks), strict=True):
        guess = _first_above(v[:d] @ x, v[d:])
        z = np.where(np.arange(1, k) < y, 1.0, -1.0)
        A = np.hstack([np.outer(z, x), -np.diag(z)])
        if (A @ v < 1).any():
            v = v + _shortest(A, 1 - A @ v)
        yield Round(guess, v[:d], v[d:])


def romma_prank(X: ArrayLike, ranks: ArrayLike, k: int) -> Iterator[Round]:
    """Run PRank with the shortest v = (w, b) on the right side of the last one and of the round.

    At a mistake with the wrong thresholds E: v'.v >= v.v and the sum over E of
    z_r (w'.x - b'_r) >= the size of E; if both can't be had, the second alone. Then the other
    thresholds make way.
    """
    rows = np.asarray(X, dtype=np.float64)
    d = rows.shape[1]
    v = np.zeros(d + k - 1)
    for x, y in zip(rows, np.asarray(ranks), strict=True):
        guess = _first_above(v[:d] @ x, v[d:])
        if guess != y:
            z = np.where(np.arange(1, k) < y, 1.0, -1.0)
            tau = np.where(z * (v[:d] @ x - v[d:]) <= 0, z, 0.0)
            u, n = np.concatenate([tau.sum() * x, -tau]), np.abs(tau).sum()
            size, length = np.linalg.norm(v) or 1.0, np.linalg.norm(u)
            found = None
            if v.any() and abs(u @ v) < (1 - 1e-12) * size * length:
                A = np.array([v / size, u / length])
                found = size * _shortest(A, np.array([1.0, n / length / size]))
            v = n * u / length**2 if found is None else found
            for r in reversed(range(d, d + y - 2)):
                v[r] = min(v[r], v[r + 1])
            for r in range(d + y, d + k - 1):
                v[r] = max(v[r], v[r - 1])
        yield Round(guess, v[:d].copy(), v[d:].copy())


PRANK_UPDATES = {"perceptron": prank, "pa": pa_prank, "romma": romma_prank}


def _shortest(A: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shortest v with A v >= h, as Lawson and Hanson do by least squares."""
    E = np.vstack([A.T, h])
    f = np.append(np.zeros(A.shape[1]), 1.0)
    residual = E @ nnls(E, f)[0] - f
    return -residual[:-1] / residual[-1]


def widrow_hoff(
    X: ArrayLike, ranks: ArrayLike, k: int, eta: float, *, normalised: bool = False
) -> Iterator[Round]:
    """Run Widrow-Hoff on the ranks; b are the fixed halves.

    With ``normalised``, eta is divided by the squared length of each row.
    """
    rows = np.asarray(X, dtype=np.float64)
    w = np.zeros(rows.shape[1])
    for x, y in zip(rows, np.asarray(ranks), strict=True):
        score = w @ x
        guess = int(np.clip(np.floor(score + 0.5), 1, k))
        w = w + eta * (y - score) * x / (x @ x if normalised else 1.0)
        yield Round(guess, w, np.arange(1.5, k))


def multiclass_perceptron(
    X: ArrayLike, ranks: ArrayLike, k: int, update: str
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Run the ultraconservative perceptron; yields the guess and the (k, d) prototypes."""
    rows = np.asarray(X, dtype=np.float64)
    W = np.zeros((k, rows.shape[1]))
    for x, y in zip(rows, np.asarray(ranks), strict=True):
        scores = W @ x
        guess = int(np.argmax(scores)) + 1
        if guess != y:
            W = W + np.outer(_blame(scores, y - 1, guess - 1, update), x)
        yield guess, W


def kernel_prank(K: ArrayLike, ranks: ArrayLike, k: int) -> Iterator[Round]:
    """Run PRank in the dual, on all kernel values of the rows; w are the rows' coefficients."""
    values = np.asarray(K, dtype=np.float64)
    alpha, b = np.zeros(len(values)), np.zeros(k - 1)
    for t, y in enumerate(np.asarray(ranks)):
        score = sum(alpha[s] * values[s, t] for s in range(t + 1))
        guess = _first_above(score, b)
        if guess != y:
            for r in range(1, k):
                z = -1 if y <= r else +1
                if (score - b[r - 1]) * z <= 0:
                    alpha[t] += z
                    b[r - 1] -= z
        yield Round(guess, alpha.copy(), b.copy())


def kernel_widrow_hoff(K: ArrayLike, ranks: ArrayLike, k: int, eta: float) -> Iterator[Round]:
    """Run Widrow-Hoff in the dual; w are the rows' coefficients."""
    values = np.asarray(K, dtype=np.float64)
    alpha = np.zeros(len(values))
    for t, y in enumerate(np.asarray(ranks)):
        score = sum(alpha[s] * values[s, t] for s in range(t))
        alpha[t] = eta * (y - score)
        yield Round(int(np.clip(np.floor(score + 0.5), 1, k)), alpha.copy(), np.arange(1.5, k))


def kernel_multiclass_perceptron(
    K: ArrayLike, ranks: ArrayLike, k: int, update: str
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Run the ultraconservative perceptron in the dual; yields guess and (k, rows) coefficients."""
    values = np.asarray(K, dtype=np.float64)
    A = np.zeros((k, len(values)))
    for t, y in enumerate(np.asarray(ranks)):
        scores = [sum(A[r, s] * values[s, t] for s in range(t)) for r in range(k)]
        guess = int(np.argmax(scores)) + 1
        if guess != y:
            A[:, t] = _blame(np.array(scores), y - 1, guess - 1, update)
        yield guess, A.copy()


class Kept(NamedTuple):
    """One round of a model that keeps a limited number of rows."""

    guess: int
    rows: list[int]
    alpha: NDArray[np.float64]
    b: NDArray[np.float64]


def budget_prank(
    K: ArrayLike, ranks: ArrayLike, k: int, budget: int, order: ArrayLike | None = None
) -> Iterator[Kept]:
    """Run PRank in the dual with at most ``budget`` rows, in ``order`` (None: as they come).

    When there is one too many, each old row is tried: the others take over its least-squares image
    (with a ridge of 1e-4), and what is lost is the squared length of the rest of its part, weighed
    by how near the row was to those learned from lately.
    """
    values = np.asarray(K, dtype=np.float64)
    ridge, fading = 1e-4, 0.1 / (budget + 1)
    kept: list[int] = []
    alpha, near, b = np.zeros(0), np.zeros(0), np.zeros(k - 1)
    for t in range(len(values)) if order is None else np.asarray(order).tolist():
        y = np.asarray(ranks)[t]
        score = float(alpha @ values[kept, t])
        guess = _first_above(score, b)
        z = np.where(np.arange(1, k) < y, 1, -1)
        tau = np.where((score - b) * z <= 0, z, 0) * (guess != y)
        b = b - tau
        if t in kept:
            alpha[kept.index(t)] += tau.sum()
        elif tau.sum() != 0:
            lengths = values[kept, kept] * values[t, t]
            first = near.mean() if len(near) else 1.0
            near = np.append(near + fading * (values[kept, t] ** 2 / lengths - near), first)
            alpha = np.append(alpha, tau.sum())
            kept = [*kept, t]
        if len(kept) > budget:
            G = values[np.ix_(kept, kept)] + ridge * np.diag(values[kept, kept])
            losses, images = [], []
            for s in range(budget):
                others = [o for o in range(budget + 1) if o != s]
                image = np.linalg.solve(G[np.ix_(others, others)], G[others, s])
                rest = G[s, s] - image @ G[others, s]
                losses.append(alpha[s] ** 2 * rest * near[s])
                images.append(image)
            gone = int(np.argmin(losses))
            alpha = np.delete(alpha, gone) + alpha[gone] * images[gone]
            near = np.delete(near, gone)
            kept = [row for s, row in enumerate(kept) if s != gone]
        yield Kept(guess, kept, alpha.copy(), b)


def oap_coin(seed: int, t: int, member: int, tau: float) -> bool:
    """Return whether an OAP member sees round t: a lane of a splitmix64 hash, below tau."""
    return _lane(seed, t, member) < max(1, round(tau * 2**15))


def oap_count(seed: int, t: int, member: int, tau: float) -> int:
    """Return how often a member sees round t if a Poisson number of mean tau says it.

    The lane, as a number from 0 to 1, is below P(more than 0), P(more than 1), ... so many times.
    """
    lane, more, p, count = _lane(seed, t, member), 1.0, exp(-tau), 0
    while True:
        more, p = more - p, p * tau / (count + 1)
        below = round(more * 2**15)
        if lane >= (max(1, below) if count == 0 else below):
            return count
        count += 1


def _lane(seed: int, t: int, member: int) -> int:
    word = (seed + 0x9E3779B97F4A7C15 * (t + 1) + 0xD1B54A32D192ED03 * (member // 4 + 1)) % 2**64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    word ^= word >> 31
    return (word >> 16 * (member % 4)) % 2**15


def oap(
    X: ArrayLike,
    ranks: ArrayLike,
    k: int,
    *,
    n_members: int,
    tau: float,
    seed: int,
    update: str = "perceptron",
    sampling: str = "bernoulli",
) -> list[list[list[Round]]]:
    """Run PRank for each member on the rounds that it sees; return these, for each round of all."""
    rows, truth = np.asarray(X, dtype=np.float64), np.asarray(ranks)
    learn = PRANK_UPDATES[update]
    times = {"bernoulli": oap_coin, "poisson": oap_count}[sampling]
    runs: list[list[list[Round]]] = []
    for member in range(n_members):
        counts = [int(times(seed, t, member, tau)) for t in range(len(rows))]
        seen = np.repeat(np.arange(len(rows)), counts)
        rounds = iter(list(learn(rows[seen], truth[seen], k)))
        runs.append([[next(rounds) for _ in range(count)] for count in counts])
    return runs


def least_threshold_loss(
    scores: ArrayLike, ranks: ArrayLike, k: int, *, loss: str, weight: ArrayLike
) -> float:
    """Return the least loss of any thresholds on a line of scores, tried one after the other.

    ``loss`` is "absolute", "zero-one" or "squared", of the distance in ranks.
    """
    s, truth, a = np.asarray(scores), np.asarray(ranks), np.asarray(weight)
    distances = np.arange(k)
    costs = {"absolute": distances, "zero-one": distances > 0, "squared": distances**2}[loss]
    positions = [*sorted(set(s.tolist())), np.inf]
    return min(
        sum(
            a_i * costs[abs(_first_above(score, np.array(thresholds)) - y)]
            for score, y, a_i in zip(s, truth, a, strict=True)
        )
        for thresholds in combinations_with_replacement(positions, k - 1)
    )


def _blame(scores: NDArray[np.float64], y: int, guess: int, update: str) -> NDArray[np.float64]:
    """Return the steps of the classes: 1 for the true one, shares of -1 for its rivals."""
    k = len(scores)
    tau = np.zeros(k)
    tau[y] = 1
    rivals = [r for r in range(k) if r != y and scores[r] >= scores[y]]
    excess = {r: scores[r] - scores[y] for r in rivals}
    for r in rivals:
        if update == "max":
            tau[r] = -1.0 if r == guess else 0.0
        elif update == "proportional" and sum(excess.values()) > 0:
            tau[r] = -excess[r] / sum(excess.values())
        else:
            tau[r] = -1 / len(rivals)
    return tau


def _first_above(score: float, thresholds: NDArray[np.float64]) -> int:
    """Return the first r with score - b_r < 0, else k."""
    for r, b in enumerate(thresholds, start=1):
        if score - b < 0:
            return r
    return len(thresholds) + 1
