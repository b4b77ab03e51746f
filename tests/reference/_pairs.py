"""Losses over all pairs as m x m matrices, and what is learned from them."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar


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
    step: str = "exact",
    ties: list[NDArray[np.bool_]] | None = None,
    tol: float = 1e-10,
) -> Iterator[BoostingRound]:
    """Run RankBoost on the pairs themselves: ``weights[i, j]`` is that of j being better than i.

    Base rankers are ``x > cut`` for each cut between two values of a feature, with missing values
    on either side, and being there at all. ``n_pairs`` caps the step; by default it is counted.
    ``step="smooth-margin"`` looks for the largest -log(n_pairs loss) / sum |alpha| once that is
    positive.
    Of base rankers that are as good but for ``tol``, round t takes ``ties[t]`` if that is one.
    """
    rows, D = np.asarray(X, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    P = np.count_nonzero(D) if n_pairs is None else n_pairs
    cap, rankers = np.log(2 * P) / 2, _base_rankers(rows)
    D = D / D.sum()
    loss, length = 1.0, 0.0
    for t in range(n_rounds):
        chosen_by, steps, zs = [], [], []
        for _, h in rankers:
            plus, minus = D[np.ix_(~h, h)].sum(), D[np.ix_(h, ~h)].sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                alpha = 0.0 if plus == minus else np.clip(np.log(plus / minus) / 2, -cap, cap)
            z = 1 - plus - minus + plus * np.exp(-alpha) + minus * np.exp(alpha)
            chosen_by.append(z if criterion == "loss" else -abs(plus - minus))
            steps.append(alpha)
            zs.append(z)
        best = _chosen(chosen_by, rankers, None if ties is None else ties[t], tol)
        (feature, h), alpha, z = rankers[best], steps[best], zs[best]
        above = 1.0 * h[None, :] - 1.0 * h[:, None]
        if step == "smooth-margin" and P * loss < 1:
            now = D, P * loss, length

            def margin(alpha: float, above: Any = above, now: Any = now) -> float:
                D, F, length = now
                total = F * (D * np.exp(-alpha * above)).sum()
                return float(-np.log(total) / (length + abs(alpha)))

            alpha = max((_lowest(lambda a: -margin(a), *ends) for ends in ((-cap, 0), (0, cap))),
                        key=margin)  # fmt: skip
            z = (D * np.exp(-alpha * above)).sum()
        loss, length = loss * z, length + abs(alpha)
        yield BoostingRound(feature, h, alpha, z, loss)
        D = D * np.exp(-alpha * above)
        D = D / D.sum()


def pnorm_push(
    X: ArrayLike,
    y: ArrayLike,
    n_rounds: int,
    *,
    push: float,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ties: list[NDArray[np.bool_]] | None = None,
    tol: float = 1e-10,
) -> Iterator[BoostingRound]:
    """Run the p-norm push on the pairs themselves, with base rankers as in `rankboost`.

    It is the sum over the negatives of the sum over the positives of their query of exp(s_i - s_j),
    to the power of ``push``. Each round takes the base ranker with the steepest logarithm of it,
    and the step by which it is least.
    """
    rows = np.asarray(X, dtype=np.float64)
    pairs = pair_weights(y, one_sided=True, qid=qid) > 0
    a = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, float)
    s, rankers = np.zeros(len(rows)), _base_rankers(rows)
    cap = np.log(2 * pairs.sum()) / (1 + push)

    def log_loss(s: NDArray[np.float64]) -> float:
        inner = (pairs * a[None, :] * np.exp(s[:, None] - s[None, :])).sum(axis=1)
        return float(np.log(a @ inner**push))

    first = before = log_loss(s)
    for t in range(n_rounds):
        terms = pairs * a[None, :] * np.exp(s[:, None] - s[None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            outer = np.where(pairs.any(axis=1), a * terms.sum(axis=1) ** (push - 1), 0.0)
        D = outer[:, None] * terms
        D = D / D.sum()
        edges = [-abs(D[np.ix_(~h, h)].sum() - D[np.ix_(h, ~h)].sum()) for _, h in rankers]
        feature, h = rankers[_chosen(edges, rankers, None if ties is None else ties[t], tol)]
        alpha = _lowest(lambda alpha, s=s, h=h: log_loss(s + alpha * h), -cap, cap)
        s = s + alpha * h
        after = log_loss(s)
        yield BoostingRound(feature, h, alpha, np.exp(after - before), np.exp(after - first))
        before = after


def _base_rankers(rows: NDArray[np.float64]) -> list[tuple[int, NDArray[np.bool_]]]:
    """Return the features and values of all base rankers."""
    rankers = []
    for feature, x in enumerate(rows.T):
        values = np.unique(x[~np.isnan(x)])
        for low in values[:-1]:
            rankers += [(feature, x > low), (feature, ~(x <= low))]
        rankers.append((feature, ~np.isnan(x)))
    return rankers


def _chosen(values: list[float], rankers: list[Any], tie: Any, tol: float) -> int:
    """Return the number of the base ranker with the least value, or of a tied one."""
    best = int(np.argmin(values))
    for other, (_, h) in enumerate(rankers):
        if tie is not None and np.array_equal(h, tie) and values[other] <= min(values) + tol:
            best = other
    return best


def _lowest(function: Any, low: float, high: float) -> float:
    """Return where a function of one number is least, which falls and then rises."""
    found = minimize_scalar(function, bounds=(low, high), options={"xatol": 1e-11})
    ends = [low, float(found.x), high]
    return min(ends, key=function)


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
