"""The taste kernel, person by person, with every matrix in full."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Matrix = NDArray[np.float64]


class TasteParts(NamedTuple):
    """What the taste kernel is made of.

    ``Y`` has NaN where a person has not rated; ``A``, ``B`` and ``F`` a row for each person and a
    column for each item, then for each place; ``F`` is empty before the first round, and 0 for
    those who took no part in the last.
    """

    Y: Matrix
    means: Matrix
    x: Matrix
    places: Matrix
    A: Matrix
    B: Matrix
    F: Matrix
    K: Matrix


def taste_parts(
    Y: ArrayLike, *, n_places: int, noise: float, rounds: Sequence[Sequence[int]]
) -> TasteParts:
    """Return the kernel that ratings ``Y`` (people x items, NaN where none) teach.

    ``rounds`` says who takes part in each round.
    """
    Y = np.asarray(Y, dtype=np.float64)
    known = ~np.isnan(Y)
    U, n = Y.shape
    n_u, n_i, N = known.sum(1), known.sum(0), known.sum()
    mu = Y[known].mean()
    user_bias, item_bias = np.zeros(U), np.zeros(n)
    for _ in range(10):
        for u in range(U):
            user_bias[u] = (Y[u] - mu - item_bias)[known[u]].sum() / (n_u[u] + 5)
        for i in range(n):
            item_bias[i] = (Y[:, i] - mu - user_bias)[known[:, i]].sum() / (n_i[i] + 5)
    R = np.where(known, Y - mu - user_bias[:, None] - item_bias, 0.0)
    sigma = np.sqrt((R**2).sum() / N)
    w = (n_i + 20.0) ** -0.5
    omega = (n_u / n_u.mean()) ** -0.25
    sd = np.sqrt(((R**2).sum(1) + 10 * sigma**2) / (n_u + 10)) / sigma

    pattern = known * omega[:, None] * w
    q = w[:, None] * np.linalg.svd(pattern)[2][:n_places].T
    q = q - n_i @ q / N
    x = known @ q / np.sqrt(n_u)[:, None]
    scale = 0.6 * sigma / np.sqrt((x**2).mean(0))
    x, q = x * scale, q * scale

    A = R * (omega / sd)[:, None] * w
    c = np.sqrt(N / (n_i * A**2).sum())
    A = c * np.hstack([A, omega[:, None] * x / np.sqrt(U + 20)])
    B = np.hstack([pattern * np.sqrt(2 * N / (n_i * pattern**2).sum()), np.zeros_like(x)])
    C = A.T @ A + B.T @ B
    parts = TasteParts(Y, mu + item_bias, x, q, A, B, np.zeros((0, n + n_places)), C)
    for people in rounds:
        F = np.array([_smoothed(parts, u, noise) * (u in people) for u in range(U)])
        F *= np.sqrt(N / (n_i @ (F[:, :n] ** 2).sum(0)))
        parts = parts._replace(F=F, K=F.T @ F + 0.3 * C)
    return parts


def kernel_without(parts: TasteParts, person: int) -> Matrix:
    """Return the kernel without a person's own rows."""
    A, B, F = (np.delete(M, person, axis=0) if len(M) else M for M in (parts.A, parts.B, parts.F))
    return (0.3 if len(F) else 1.0) * (A.T @ A + B.T @ B) + F.T @ F


def _smoothed(parts: TasteParts, u: int, noise: float) -> Matrix:
    """Return what a person's own ranker, with a free level, says on all items and places."""
    K = kernel_without(parts, u)
    o, t, e = rated_things(parts, parts.Y[u], parts.x[u])
    inverse = np.linalg.inv(K[np.ix_(o, o)] + noise * np.eye(len(o)))
    level = e @ inverse @ t / (e @ inverse @ e)
    return K[:, o] @ inverse @ (t - level * e)


def rated_things(
    parts: TasteParts, y: Matrix, x: Matrix
) -> tuple[NDArray[np.int64], Matrix, NDArray[np.float64]]:
    """Return the things that a person has rated, their targets, and where they are ratings."""
    items = np.flatnonzero(~np.isnan(y))
    places = len(y) + np.arange(len(x))
    t = np.concatenate([y[items] - parts.means[items], x])
    e = np.concatenate([np.ones(len(items)), np.zeros(len(x))])
    return np.concatenate([items, places]), t, e


def taste_scores(parts: TasteParts, y: ArrayLike, *, noise: float, prior: float) -> Matrix:
    """Return the scores of all items for anyone who has rated ``y`` (NaN where not)."""
    y = np.asarray(y, dtype=np.float64)
    items = np.flatnonzero(~np.isnan(y))
    o, t, e = rated_things(parts, y, parts.places[items].sum(0) / np.sqrt(len(items)))
    inverse = np.linalg.inv(parts.K[np.ix_(o, o)] + noise * np.eye(len(o)))
    level = e @ inverse @ t / (e @ inverse @ e)
    shown = level * len(items) / (len(items) + noise * prior)
    return parts.means + shown + (parts.K[:, o] @ inverse @ (t - level * e))[: len(y)]
