"""The algorithms as the papers write them, slow and literal: what the fast code is tested against.

Ranks are 1..k here, as in the papers. An oracle of an online algorithm yields, round by round, the
guess made before the update and copies of what the algorithm holds after it. Those of pairs fill
m x m matrices, those of lists go through all orders of tied rows.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product
from math import floor, log2
from typing import Any, NamedTuple

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


def _shortest(A: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shortest v with A v >= h, as Lawson and Hanson do by least squares."""
    E = np.vstack([A.T, h])
    f = np.append(np.zeros(A.shape[1]), 1.0)
    residual = E @ nnls(E, f)[0] - f
    return -residual[:-1] / residual[-1]


def widrow_hoff(X: ArrayLike, ranks: ArrayLike, k: int, eta: float) -> Iterator[Round]:
    """Run Widrow-Hoff on the ranks; b are the fixed halves."""
    rows = np.asarray(X, dtype=np.float64)
    w = np.zeros(rows.shape[1])
    for x, y in zip(rows, np.asarray(ranks), strict=True):
        score = w @ x
        guess = int(np.clip(np.floor(score + 0.5), 1, k))
        w = w + eta * (y - score) * x
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
    word = (seed + 0x9E3779B97F4A7C15 * (t + 1) + 0xD1B54A32D192ED03 * (member // 4 + 1)) % 2**64
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    word ^= word >> 31
    lane = (word >> 16 * (member % 4)) % 2**15
    return lane < max(1, round(tau * 2**15))


def oap(
    X: ArrayLike, ranks: ArrayLike, k: int, *, n_members: int, tau: float, seed: int
) -> list[list[Round | None]]:
    """Run PRank for each member on the rounds that it sees; None stands for a round it doesn't."""
    rows, truth = np.asarray(X, dtype=np.float64), np.asarray(ranks)
    runs: list[list[Round | None]] = []
    for member in range(n_members):
        seen = [t for t in range(len(rows)) if oap_coin(seed, t, member, tau)]
        rounds = dict(zip(seen, prank(rows[seen], truth[seen], k), strict=True))
        runs.append([rounds.get(t) for t in range(len(rows))])
    return runs


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


def pair_weights(
    y: ArrayLike,
    *,
    one_sided: bool,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pair_weight: str = "uniform",
) -> NDArray[np.float64]:
    """Return the weight of each ordered pair (i, j), 0 for one that doesn't count."""
    targets = np.asarray(y, dtype=np.float64)
    a = np.ones(len(targets)) if sample_weight is None else np.asarray(sample_weight, float)
    query = np.zeros(len(targets)) if qid is None else np.asarray(qid)
    higher = targets[None, :] - targets[:, None]
    weights = np.outer(a, a) * (query[:, None] == query[None, :])
    if one_sided:
        weights = weights * (higher > 0) * (higher if pair_weight == "magnitude" else 1)
    return weights


def pair_costs(
    kind: str, y: ArrayLike, s: ArrayLike, *, epsilon: float = 0.0, ties: str = "wrong"
) -> NDArray[np.float64]:
    """Return the cost of each ordered pair (i, j); one-sided kinds mean y_j > y_i."""
    targets, scores = np.asarray(y, dtype=np.float64), np.asarray(s, dtype=np.float64)
    wanted, got = (v[None, :] - v[:, None] for v in (targets, scores))
    if kind == "magnitude":
        return np.abs(got - wanted)
    if kind == "epsilon_insensitive":
        return np.maximum(0, np.abs(got - wanted) - epsilon)
    if kind == "hinge":
        return np.maximum(0, 1 - got)
    if kind == "magnitude_hinge":
        return np.maximum(0, wanted - got)
    if kind == "hinge_rank":
        return np.where(got < 0, -got, 0)
    if kind == "hinge_magnitude":
        return np.where(got < 0, np.abs(got - wanted), 0)
    if kind == "exponential":
        return np.exp(-got)
    tied = {"wrong": 1.0, "half": 0.5, "right": 0.0}[ties]
    return np.where(got == 0, tied, got < 0)


def pair_loss(weights: NDArray[np.float64], costs: NDArray[np.float64], power: int = 1) -> float:
    """Return the weighted mean of cost^power."""
    return float((weights * costs**power).sum() / weights.sum())


def pair_hessian(weights: NDArray[np.float64], costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the generalised Hessian by s of the weighted mean of squared costs."""
    active = weights * (costs > 0) / weights.sum()
    both = active + active.T
    return 2 * (np.diag(both.sum(axis=1)) - both)


def delong(y: ArrayLike, *scores: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the AUCs of several scores and DeLong's covariance of them, over all n+ n- pairs.

    The higher target is the positive class. A class of one row adds nothing to the covariance.
    """
    targets = np.asarray(y, dtype=np.float64)
    high, low = targets == targets.max(), targets == targets.min()
    kernels = []
    for s in scores:
        values = np.asarray(s, dtype=np.float64)
        gaps = values[high][:, None] - values[low][None, :]
        kernels.append((gaps > 0) + 0.5 * (gaps == 0))
    aucs = np.array([kernel.mean() for kernel in kernels])
    covariance = np.zeros((len(scores), len(scores)))
    for axis in (1, 0):
        placed = [kernel.mean(axis=axis) for kernel in kernels]
        n = len(placed[0])
        if n > 1:
            for i, j in product(range(len(scores)), repeat=2):
                off = sum((placed[i] - aucs[i]) * (placed[j] - aucs[j]))
                covariance[i, j] += off / (n - 1) / n
    return aucs, covariance


def list_measure(
    measure: Callable[..., float], y: ArrayLike, s: ArrayLike, *, k: int | None = None
) -> float:
    """Return the mean of a measure of one list over all orders of its tied rows.

    Parameters
    ----------
    measure : callable
        `ndcg`, `average_precision` or `reciprocal_rank` of targets in ranked order.
    y, s : array-like of shape (n,)
        Targets and scores.
    k : int, optional
        Where the list is cut.
    """
    targets, scores = np.asarray(y, dtype=np.float64), np.asarray(s, dtype=np.float64)
    blocks = [list(permutations(targets[scores == level])) for level in np.unique(scores)[::-1]]
    lists = [np.concatenate(blocks) for blocks in product(*blocks)]
    return float(np.mean([measure(ranked, len(ranked) if k is None else k) for ranked in lists]))


def ndcg(ranked: NDArray[np.float64], k: int) -> float:
    """Return the NDCG of targets in ranked order, with gain 2^y - 1."""

    def dcg(values: NDArray[np.float64]) -> float:
        return sum((2**y - 1) / log2(place + 2) for place, y in enumerate(values[:k]))

    return dcg(ranked) / dcg(np.sort(ranked)[::-1])


def average_precision(ranked: NDArray[np.float64], k: int) -> float:
    """Return the precision at the places of relevant rows (y > 0) up to k, over all relevant."""
    relevant = ranked > 0
    found = [relevant[: n + 1].mean() for n in range(min(k, len(ranked))) if relevant[n]]
    return float(sum(found) / relevant.sum())


def reciprocal_rank(ranked: NDArray[np.float64], k: int) -> float:
    """Return 1 over the place of the first relevant row (y > 0), 0 if it comes after k."""
    place = int(np.argmax(ranked > 0)) + 1
    return 1 / place if place <= k else 0.0


def _first_above(score: float, thresholds: NDArray[np.float64]) -> int:
    """Return the first r with score - b_r < 0, else k."""
    for r, b in enumerate(thresholds, start=1):
        if score - b < 0:
            return r
    return len(thresholds) + 1


def quicksort(
    items: list[int],
    before: Callable[[int, int], bool],
    priority: ArrayLike,
    *,
    k: int | None = None,
) -> list[int]:
    """Sort by the textbook, pivot by pivot; past the first k, as things fall."""
    if len(items) < 2 or (k is not None and k <= 0):
        return items
    values = np.asarray(priority)
    pivot = max(items, key=lambda item: values[item])
    rest = [item for item in items if item != pivot]
    lower = [item for item in rest if before(item, pivot)]
    upper = [item for item in rest if item not in lower]
    left = None if k is None else k - len(lower) - 1
    return [
        *quicksort(lower, before, values, k=k),
        pivot,
        *quicksort(upper, before, values, k=left),
    ]


def mprank(
    X: ArrayLike, y: ArrayLike, C: float, *, qid: ArrayLike | None = None, weight: Any = None
) -> tuple[NDArray[np.float64], float]:
    """Minimise ||w||^2 + C (weighted mean over the pairs) as least squares with a row a pair.

    Returns w and the objective.
    """
    rows, ratings = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    m = len(ratings)
    query = np.zeros(m) if qid is None else np.asarray(qid)
    a = np.ones(m) if weight is None else np.asarray(weight, dtype=np.float64)
    pairs = [(i, j) for i in range(m) for j in range(m) if query[i] == query[j]]
    total = sum(a[i] * a[j] for i, j in pairs)
    equations = [np.sqrt(C * a[i] * a[j] / total) * (rows[j] - rows[i]) for i, j in pairs]
    wanted = [np.sqrt(C * a[i] * a[j] / total) * (ratings[j] - ratings[i]) for i, j in pairs]
    A = np.vstack([*equations, np.eye(rows.shape[1])])
    b = np.concatenate([wanted, np.zeros(rows.shape[1])])
    w = np.linalg.lstsq(A, b, rcond=None)[0]
    return w, float(((A @ w - b) ** 2).sum())


def leave_pair_out(
    X: ArrayLike, y: ArrayLike, C: float, *, qid: ArrayLike | None = None, weight: Any = None
) -> NDArray[np.float64]:
    """Refit ridge with an intercept a query without each pair, keeping penalty and row weights.

    Entry [i, j] is the predicted difference of j and i without both, nan across queries.
    """
    rows, ratings = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    m, d = rows.shape
    query = np.zeros(m) if qid is None else np.asarray(qid)
    a = np.ones(m) if weight is None else np.asarray(weight, dtype=np.float64)
    names = np.unique(query)
    totals = np.array([a[query == q].sum() for q in query])
    squares = sum(a[query == q].sum() ** 2 for q in names)
    cost = 2 * C * a * totals / squares
    differences = np.full((m, m), np.nan)
    for i in range(m):
        differences[i, i] = 0.0
        for j in range(i):
            if query[i] != query[j]:
                continue
            kept = [k for k in range(m) if k not in (i, j)]
            intercepts = (query[kept, None] == names).astype(np.float64)
            A = np.sqrt(cost[kept])[:, None] * np.hstack([rows[kept], intercepts])
            penalty = np.hstack([np.eye(d), np.zeros((d, len(names)))])
            b = np.concatenate([np.sqrt(cost[kept]) * ratings[kept], np.zeros(d)])
            w = np.linalg.lstsq(np.vstack([A, penalty]), b, rcond=None)[0][:d]
            differences[i, j] = (rows[j] - rows[i]) @ w
            differences[j, i] = -differences[i, j]
    return differences


class BoostingRound(NamedTuple):
    """One round of RankBoost: the base ranker, its step, Z, and the loss after it."""

    feature: int
    h: NDArray[np.bool_]
    alpha: float
    z: float
    loss: float


def rankboost(
    X: ArrayLike,
    weights: ArrayLike,
    n_rounds: int,
    *,
    criterion: str = "loss",
    n_pairs: int | None = None,
    ties: list[NDArray[np.bool_]] | None = None,
    tol: float = 1e-10,
) -> Iterator[BoostingRound]:
    """Run RankBoost on the pairs themselves: ``weights[i, j]`` is that of j being better than i.

    Base rankers are ``x > cut`` for each cut between two values of a feature, with missing values
    on either side, and being there at all. ``n_pairs`` caps the step; by default it is counted.
    Of base rankers that are as good but for ``tol``, round t takes ``ties[t]`` if that is one.
    """
    rows, D = np.asarray(X, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    cap = np.log(2 * (np.count_nonzero(D) if n_pairs is None else n_pairs)) / 2
    rankers = []
    for feature, x in enumerate(rows.T):
        values = np.unique(x[~np.isnan(x)])
        for low in values[:-1]:
            rankers += [(feature, x > low), (feature, ~(x <= low))]
        rankers.append((feature, ~np.isnan(x)))
    D = D / D.sum()
    loss = 1.0
    for t in range(n_rounds):
        chosen_by, steps, zs = [], [], []
        for _, h in rankers:
            plus, minus = D[np.ix_(~h, h)].sum(), D[np.ix_(h, ~h)].sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                step = 0.0 if plus == minus else np.clip(np.log(plus / minus) / 2, -cap, cap)
            z = 1 - plus - minus + plus * np.exp(-step) + minus * np.exp(step)
            chosen_by.append(z if criterion == "loss" else -abs(plus - minus))
            steps.append(step)
            zs.append(z)
        best = int(np.argmin(chosen_by))
        for other, (_, h) in enumerate(rankers):
            tied = ties is not None and np.array_equal(h, ties[t])
            if tied and chosen_by[other] <= min(chosen_by) + tol:
                best = other
        feature, h = rankers[best]
        loss *= zs[best]
        yield BoostingRound(feature, h, steps[best], zs[best], loss)
        D = D * np.exp(-steps[best] * (1.0 * h[None, :] - 1.0 * h[:, None]))
        D = D / D.sum()


def adaboost(
    X: ArrayLike, y: ArrayLike, n_rounds: int, *, constant: bool = True
) -> NDArray[np.float64]:
    """Return the scores after rounds of AdaBoost on ``x > cut`` as +-1, and on the constant 1.

    Labels are those above the lowest target against the lowest. Each round takes the base
    classifier with the largest edge and its best step.
    """
    rows, targets = np.asarray(X, dtype=np.float64), np.asarray(y)
    sign = np.where(targets > targets.min(), 1.0, -1.0)
    base = [np.where(x > low, 1.0, -1.0) for x in rows.T for low in np.unique(x)[:-1]]
    H = np.array(base + [np.ones(len(rows))] * constant)
    scores = np.zeros(len(rows))
    for _ in range(n_rounds):
        D = np.exp(-sign * scores)
        edges = H @ (D * sign) / D.sum()
        best = int(np.argmax(np.abs(edges)))
        scores += 0.5 * np.log((1 + edges[best]) / (1 - edges[best])) * H[best]
    return scores


def votes_for(rankings: Any, u: Any, v: Any) -> list[bool]:
    """Return, for each ranking that has both in different places, whether u is before v."""
    answers = []
    for ranking in rankings:
        places = [set(place) if isinstance(place, tuple) else {place} for place in ranking]
        first = [p for p, place in enumerate(places) if u in place]
        second = [p for p, place in enumerate(places) if v in place]
        if first and second and first != second:
            answers.append(first < second)
    return answers


def discordant_pairs(a: Any, b: Any, candidates: Any) -> int:
    """Count the pairs that a and b put in opposite orders, one by one."""
    pairs = [(u, v) for i, u in enumerate(candidates) for v in list(candidates)[i + 1 :]]
    return sum({*votes_for([a], u, v), *votes_for([b], u, v)} == {True, False} for u, v in pairs)


def kemeny_orders(rankings: Any, weights: Any, candidates: Any) -> tuple[float, list[Any]]:
    """Return the smallest sum of weighted Kendall distances, and all orders that have it."""
    against = {
        (u, v): sum(
            weight
            for ranking, weight in zip(rankings, weights, strict=True)
            if votes_for([ranking], u, v) == [False]
        )
        for u, v in permutations(candidates, 2)
    }
    costs = {
        order: sum(against[u, v] for i, u in enumerate(order) for v in order[i + 1 :])
        for order in permutations(candidates)
    }
    best = min(costs.values())
    return best, [list(order) for order, cost in costs.items() if cost <= best + 1e-9]


def stretched_ranks(ranking: Any, n: int) -> dict[Any, float]:
    """Return ranks from 1, of a tie the mean, stretched from the length of the ranking to n."""
    flat = [
        (c, place) for place in ranking for c in (place if isinstance(place, tuple) else [place])
    ]
    ranks = {c: [k for k, (_, other) in enumerate(flat, 1) if other is place] for c, place in flat}
    return {c: (float(np.mean(k)) - 0.5) * n / len(flat) + 0.5 for c, k in ranks.items()}


def footrule_cost(order: Any, rankings: Any, weights: Any) -> float:
    """Return the weighted sum of the distances between places and ranks."""
    total = 0.0
    for ranking, weight in zip(rankings, weights, strict=True):
        ranks = stretched_ranks(ranking, len(order))
        total += weight * sum(abs(p - ranks[c]) for p, c in enumerate(order, 1) if c in ranks)
    return total
