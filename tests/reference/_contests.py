"""Models of contests, written down row by row."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]


def contest_probabilities(ties: str, advantage: Any, tie: float | None) -> tuple[Any, ...]:
    """Return P(first), P(second) and P(tie) of contests, as the models are written.

    ``tie`` is the parameter nu of Davidson or theta of Rao and Kupper, None without ties.
    """
    u = np.exp(advantage)
    if ties == "rao-kupper" and tie is not None:
        first, second = u / (u + tie), 1 / (1 + tie * u)
        return first, second, 1 - first - second
    nu = tie if ties == "davidson" and tie is not None else 0.0
    total = u + 1 + nu * np.sqrt(u)
    return u / total, 1 / total, nu * np.sqrt(u) / total


def contest_log_posterior(
    params: Floats, rows: list[tuple[int, int, Any, float, Floats]], n: int, ties: str, prior: Any
) -> float:
    """Return the log likelihood of rows (first, second, outcome, weight, z) less the prior's share.

    An outcome is "first", "second", "tie" or a probability. The parameters are n strengths, the
    effects of z, and the logarithm of the parameter of ties if a row is a tie and ``ties`` is not
    "half".
    """
    tied = ties != "half" and any(row[2] == "tie" for row in rows)
    first, second, outcomes, weight, z = zip(*rows, strict=True)
    effects = params[n : len(params) - tied]
    advantage = params[list(first)] - params[list(second)] + np.array(z) @ effects
    p = contest_probabilities(ties, advantage, np.exp(params[-1]) if tied else None)
    total = 0.0
    for share, q in zip(_shares(outcomes, ties).T, p, strict=True):
        some = share > 0
        total += float((np.array(weight) * share)[some] @ np.log(q[some]))
    return total - (0.0 if prior is None else float(np.sum(params[:n] ** 2)) / (2 * prior**2))


def _shares(outcomes: tuple[Any, ...], ties: str) -> Floats:
    """Return how much of a win, a loss and a tie each outcome is."""
    tie = (0.5, 0.5, 0) if ties == "half" else (0, 0, 1)
    words = {"first": (1, 0, 0), "second": (0, 1, 0), "tie": tie}
    return np.array([words[o] if isinstance(o, str) else (o, 1 - o, 0) for o in outcomes], float)


def best_strengths(
    rows: list[tuple[int, int, Any, float, Floats]], n: int, ties: str, prior: Any
) -> Floats:
    """Return where the posterior is highest, by a general optimiser; strengths add to 0."""
    tied = ties != "half" and any(row[2] == "tie" for row in rows)
    start = np.zeros(n + len(rows[0][4]) + tied)
    if tied:
        start[-1] = 0.5

    def cost(params: Floats) -> float:
        if ties == "rao-kupper" and tied and params[-1] <= 0:
            return 1e10
        return -contest_log_posterior(params, rows, n, ties, prior)

    for _ in range(2):
        start = minimize(cost, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000}).x
    start[:n] -= start[:n].mean()
    return np.asarray(start)


def log_ranking_probability(groups: list[list[int]], strengths: Floats) -> float:
    """Return the log probability of one order under Plackett and Luce, choice by choice.

    ``groups`` are the tied items of each place, best first. A tie of t items has Efron's form: the
    r-th of its choices has r / t of the tied items' weight left out. The last group is no choice.
    """
    total = 0.0
    for place, tied in enumerate(groups[:-1]):
        weights = np.exp(strengths)
        rest = sum(weights[i] for group in groups[place:] for i in group)
        own = sum(weights[i] for i in tied)
        for r, i in enumerate(tied):
            total += float(strengths[i] - np.log(rest - r / len(tied) * own))
    return total
