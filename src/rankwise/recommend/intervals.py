r"""Calibration of the predictions: the noise, and the scale of the standard deviations.

Some ratings are held out before anything is learned. They choose the noise, and say what the
variances that the kernel states are multiplied by:

- the *prior variance* :math:`\tau^2` and the *variance of user biases* are those for which squared
  errors are on average as stated, both with all other ratings known, and with none;
- a *calibration factor* for 0, 1, 3 and 10 ratings makes intervals of 95 % cover 95 % of the
  ratings of a new user and two standard errors more. The ratings of one user are covered or missed
  together, so users are the independent units. Without ratings a prediction needs no solution, so
  the ratings of all users are looked at;
- a factor for known users: their errors, with one rating left out, are smaller than those of new
  users, since the scores of others in the kernel remember their ratings.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2

from rankwise._core.threads import Pool
from rankwise.recommend.baseline import (
    SHRINKAGE,
    Ints,
    Matrix,
    Ratings,
    Vector,
    order_by_count,
    some_entries,
)
from rankwise.recommend.item_kernel import (
    FIRST_WEIGHT,
    ROUNDING,
    UserRows,
    solve_in_place,
    solve_user,
)
from rankwise.recommend.taste import FEW, Taste

# The prior of a user bias is as if _PRIOR_RATINGS more ratings had been without any.
PRIOR_RATINGS = 3.0
# A tenth of the ratings is held out from users with 3 to 1,000 ratings, and about 5,000 in all.
_ONE_IN, _FEWEST, _MOST, _HELD = 10, 3, 1_000, 5_000
# If no rating can be held out.
_NOISE = 1.0
# Steps of the iteration for the two variances, which is a contraction.
_STEPS = 50
# The level of the intervals that are calibrated, and the standard errors that are added to it.
_LEVEL, _STANDARD_ERRORS = 0.95, 2.0
# Ten squared errors of a normal distribution, added to those of users with few ratings.
_NORMAL = chi2.ppf((np.arange(10) + 0.5) / 10, 1)
# Known users whose own ratings are left out one at a time.
_KNOWN = 100

# Errors of ratings; their variances in units of the prior variance, without the user bias; and how
# often the variance of the user bias counts: the square of the share that is shrunk away.
Errors = tuple[Vector, Vector, Vector]


def hold_out(R: Ratings) -> tuple[Ratings, Ints, Ratings]:
    """Return most of the ratings, the validation users, and the ratings held out from these.

    The users are of all sizes, but for the few with most ratings, and the ratings are of items of
    all counts. Neither depends on the ids of users and items.
    """
    order, sizes = order_by_count(R), np.diff(R.indptr)
    able = order[(sizes[order] >= _FEWEST) & (sizes[order] <= _MOST)]
    total = int(np.maximum(sizes[able] // _ONE_IN, 1).sum())
    users = able[:: max(1, -(-total // _HELD))]
    rank = np.empty(R.shape[1], dtype=np.int64)
    rank[order_by_count(R.T.tocsr())] = np.arange(R.shape[1])
    held = np.zeros(R.nnz, dtype=bool)
    for k, u in enumerate(users.tolist()):
        n, first = int(sizes[u]), R.indptr[u]
        by_count = np.argsort(rank[R.indices[first : first + n]])
        held[first + by_count[(k + _ONE_IN * np.arange(max(n // _ONE_IN, 1))) % n]] = True
    return some_entries(R, ~held), users, some_entries(R, held)[users]


def predict_held_out(
    K: Matrix, first_weight: float, rows: UserRows, held: Ratings, noise: float, pool: Pool
) -> Errors:
    """Predict ratings held out from users, by the kernel without the rows A and B of each user."""
    errors, variances, unused = np.empty((3, held.nnz))

    def predict_user(u: int) -> None:
        asked = slice(held.indptr[u], held.indptr[u + 1])
        items = held.indices[asked]
        index, right, own = rows.problem(u)
        own *= np.sqrt(first_weight)
        cross = K[np.ix_(items, index)]
        solutions = solve_user(K, index, own, noise, np.concatenate([right, cross]))
        (of_targets, of_ones), is_rating = solutions[:2], right[1]
        weight, n = is_rating @ of_ones, is_rating.sum()
        bias, share = is_rating @ of_targets / weight, n / (n + PRIOR_RATINGS)
        scores = rows.item_means[items] + share * bias + cross @ (of_targets - bias * of_ones)
        known = np.einsum("ij,ij->i", cross, solutions[2:])
        errors[asked] = held.data[asked] - scores
        variances[asked] = K[items, items] + noise - known
        variances[asked] += (share - cross @ of_ones) ** 2 / weight
        unused[asked] = (1 - share) ** 2

    pool.run(predict_user, held.shape[0], work=np.inf)
    return errors, variances, unused


def predict_nobody(K: Matrix, rows: UserRows, noise: float) -> Errors:
    """Predict all ratings as those of users without any: by the means of the items.

    A rating is left out of the mean that predicts it.
    """
    R, n_items = rows.ratings, rows.ratings.shape[1]
    A, cross = K[n_items:, n_items:].copy(), K[:n_items, n_items:].copy()
    A.flat[:: len(A) + 1] += noise
    solution = cross.copy()
    solve_in_place(A, solution)
    variances = np.diagonal(K)[:n_items] + noise - np.einsum("ij,ij->i", cross, solution)
    counts = np.bincount(R.indices, minlength=n_items)
    left_out = (counts + SHRINKAGE) / (counts + SHRINKAGE - 1)
    errors = (R.data - rows.item_means[R.indices]) * left_out[R.indices]
    return errors, variances[R.indices], np.ones(len(errors))


def choose_noise(
    K: Matrix,
    first_weight: float,
    rows: UserRows,
    held: Ratings,
    noises: Sequence[float],
    pool: Pool,
) -> tuple[float, Errors]:
    """Return the noise with the smallest error of the held-out ratings, and the errors there.

    ``noises`` ascend; the search ends where the error begins to rise.
    """
    if held.nnz == 0 and len(noises) > 1:
        noises = (_NOISE,)
    noise, best = noises[0], predict_held_out(K, first_weight, rows, held, noises[0], pool)
    for larger in noises[1:]:
        found = predict_held_out(K, first_weight, rows, held, larger, pool)
        if np.square(found[0]).mean() >= np.square(best[0]).mean():
            break
        noise, best = larger, found
    return noise, best


def find_calibration(ratios: Vector, starts: Ints) -> float:
    """Return the factor of the variances for which intervals of 95 % cover new users' ratings.

    Parameters
    ----------
    ratios : ndarray of shape (n,)
        Squared errors over variances. Ten of a normal distribution are added, as of one user.
    starts : ndarray of shape (n_users + 1,)
        User u has the ratios from ``starts[u]`` to ``starts[u + 1]``.
    """
    ratios = np.append(ratios, _NORMAL)
    ends = np.append(starts, len(ratios))
    missed = ratios > np.quantile(ratios, _LEVEL)
    excess = np.concatenate([[0.0], np.cumsum(missed - (1.0 - _LEVEL))])
    error = np.sqrt(np.square(np.diff(excess[ends])).sum()) / len(ratios)
    quantile = np.quantile(ratios, min(_LEVEL + _STANDARD_ERRORS * error, 1.0))
    return float(quantile / chi2.ppf(_LEVEL, 1))


def find_variances(known: Errors, nobody: Errors, bias_variance: float) -> tuple[float, float]:
    """Return the prior variance, and the variance of user biases in units of it.

    With these two, squared errors are on average as stated: those of ratings with all others known,
    and with none. ``bias_variance`` is a first guess.
    """
    errors, variances, unused = known
    squares, without = np.square(errors), np.square(nobody[0]).mean()
    if squares.mean() <= ROUNDING**2 * without:
        return 1.0, bias_variance
    for _ in range(_STEPS):
        prior_variance = float(np.mean(squares / (variances + bias_variance * unused)))
        bias_variance = max(float(without / prior_variance - nobody[1].mean()), 0.0)
    return prior_variance, bias_variance


def calibrate(
    K: Matrix,
    first_weight: float,
    rows: UserRows,
    held: tuple[Ints, Ratings],
    known: Errors,
    noise: float,
    pool: Pool,
) -> tuple[float, float, tuple[float, ...]]:
    """Return the prior variance, the variance of user biases and the calibration of `Taste`.

    ``held`` are the validation users and their ratings held out; ``known`` are the errors of these
    with all other ratings known.
    """
    (users, ratings), nobody = held, predict_nobody(K, rows, noise)
    prior_variance, bias_variance = rows.residual_sd**2 or 1.0, noise / PRIOR_RATINGS
    if ratings.nnz:
        prior_variance, bias_variance = find_variances(known, nobody, bias_variance)
    factors = []
    for n in FEW:
        found, starts = nobody, rows.ratings.indptr
        if n:
            able = np.diff(rows.ratings.indptr)[users] >= n
            few, asked = rows.only(users[able]).after(n), ratings[able]
            found, starts = predict_held_out(K, first_weight, few, asked, noise, pool), asked.indptr
        errors, variances, unused = found
        ratios = errors**2 / (prior_variance * (variances + bias_variance * unused))
        factors.append(find_calibration(ratios, starts))
    return prior_variance, bias_variance, tuple(factors)


def calibrate_known(taste: Taste, K: Matrix, rows: UserRows, pool: Pool) -> float:
    """Return the squared errors of ratings left out of known users, over what is stated.

    With :math:`G = A^{-1} - u u' / w`, of a free bias, the error at a rating if it had not been
    given is :math:`(G t)_i / G_{ii}`, and its variance :math:`1 / G_{ii}`.
    """
    order, sizes = order_by_count(rows.ratings), np.diff(rows.ratings.indptr)
    several = order[(sizes[order] > 1) & (sizes[order] <= _MOST)]
    users = several[:: -(-len(several) // _KNOWN) or 1].tolist()

    def leave_out(k: int) -> tuple[float, int]:
        index, right, own = rows.problem(users[k])
        own *= np.sqrt(FIRST_WEIGHT)
        G = solve_user(K, index, own, taste.noise, np.eye(len(index)))
        of_ones, n = G @ right[1], int(right[1].sum())
        G -= np.outer(of_ones, of_ones / (right[1] @ of_ones))
        ratios = (G @ right[0])[:n] ** 2 / np.diagonal(G)[:n]
        return float(ratios.sum()) / taste.calibrate(n - 1), n

    sums = pool.run(leave_out, len(users), work=np.inf)
    squares, n = np.sum(sums, axis=0).tolist() if sums else (0.0, 0)
    return squares / (taste.spread * n) or 1.0 if n else 1.0
