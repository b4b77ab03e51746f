r"""How far predictions are off: the noise, and the scale of the standard deviations.

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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from rankwise._core.threads import Pool
from rankwise.recommend.baseline import SHRINKAGE, Ints, Matrix, Ratings, Vector
from rankwise.recommend.fold_in import Evidence, fold_in
from rankwise.recommend.item_kernel import UserRows
from rankwise.recommend.known_users import OwnRows
from rankwise.recommend.solve import factor, run_users, solve, solve_user
from rankwise.recommend.taste import FEW, Taste

# The prior of a user bias is as if so many ratings had been without any.
PRIOR_RATINGS = 3.0
# One in so many ratings of a user is held out, of users with so many at least and at most, and
# about so many in all.
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


class HeldOut(NamedTuple):
    """Ratings held out from some users: user g has ``starts[g]`` to ``starts[g + 1]``."""

    users: Ints
    starts: Ints
    items: Ints
    values: Vector

    def of(self, chosen: NDArray[np.bool_]) -> "HeldOut":
        """Return those of some of the users."""
        sizes = np.diff(self.starts)
        kept = np.repeat(chosen, sizes)
        starts = np.concatenate([[0], np.cumsum(sizes[chosen])])
        return HeldOut(self.users[chosen], starts, self.items[kept], self.values[kept])


def hold_out(ratings: Ratings) -> tuple[Ratings, HeldOut]:
    """Return most of the ratings, and those that are held out from validation users.

    The users are of all sizes, but for the few with most ratings, and the ratings are of items of
    all counts. Neither depends on the ids of users and items.
    """
    order, sizes = ratings.users_by_size(), ratings.sizes
    able = order[(sizes[order] >= _FEWEST) & (sizes[order] <= _MOST)]
    total = int(np.maximum(sizes[able] // _ONE_IN, 1).sum())
    users = able[:: max(1, -(-total // _HELD))]
    position = np.empty(ratings.n_items, dtype=np.int64)
    position[ratings.items_by_count()] = np.arange(ratings.n_items)
    held = [np.zeros(0, dtype=np.int64)]
    for k, u in enumerate(users.tolist()):
        n, first = int(sizes[u]), ratings.indptr[u]
        taken = (k + _ONE_IN * np.arange(max(n // _ONE_IN, 1))) % n
        by_count = np.argsort(position[ratings.indices[first : first + n]])
        held.append(np.sort(first + by_count[taken]))
    at = np.concatenate(held)
    starts = np.cumsum([len(part) for part in held])
    kept = np.ones(len(ratings.values), dtype=bool)
    kept[at] = False
    items = ratings.indices[at].astype(np.int64)
    return ratings.only(kept)[0], HeldOut(users, starts, items, ratings.values[at])


class Errors(NamedTuple):
    """Errors of held-out ratings, and their variances in units of the prior variance.

    ``variances`` are those without the user bias, whose variance counts ``unused`` times: the
    square of the share of the bias that is shrunk away.
    """

    errors: Vector
    variances: Vector
    unused: Vector


def predict_held_out(
    K: Matrix, first_weight: float, rows: UserRows, held: HeldOut, noise: float, pool: Pool
) -> Errors:
    """Predict the held-out ratings, each by the kernel without the rows A and B of its user."""
    found = Errors(*np.empty((3, len(held.items))))
    item_means = rows.baseline.item_means

    def predict_user(g: int, memory: Any) -> None:
        asked = slice(held.starts[g], held.starts[g + 1])
        items = held.items[asked]
        index, targets, e, own = rows.problem(int(held.users[g]))
        own *= np.sqrt(first_weight)
        cross = K[np.ix_(items, index)]
        right = np.concatenate([[targets, e], cross])
        solution = solve_user(K, index, own, noise, right, memory)
        of_targets, of_ones = solution[:2]
        weight, n = e @ of_ones, e.sum()
        bias, share = e @ of_targets / weight, n / (n + PRIOR_RATINGS)
        scores = item_means[items] + share * bias + cross @ (of_targets - bias * of_ones)
        known = np.einsum("ij,ij->i", cross, solution[2:])
        open_bias = (share - cross @ of_ones) ** 2 / weight
        found.errors[asked] = held.values[asked] - scores
        found.variances[asked] = K[items, items] + noise - known + open_bias
        found.unused[asked] = (1 - share) ** 2

    run_users(predict_user, len(held.users), pool, lambda: np.empty(rows.largest**2, K.dtype))
    return found


def predict_nobody(K: Matrix, rows: UserRows, noise: float) -> Errors:
    """Predict all ratings as those of users who have rated nothing: by the means of the items.

    A rating has no part in the mean that predicts it.
    """
    ratings, counts = rows.ratings, rows.ratings.counts
    pseudo, item_means = slice(ratings.n_items, None), rows.baseline.item_means
    A, cross = K[pseudo, pseudo].copy(), K[: ratings.n_items, pseudo].copy()
    variances = np.diagonal(K)[: ratings.n_items] + noise
    if len(A):
        A.flat[:: len(A) + 1] += noise
        solution = cross.copy()
        factor(A)
        solve(A, solution)
        variances = variances - np.einsum("ij,ij->i", cross, solution)
    left_out = (counts + SHRINKAGE) / (counts + SHRINKAGE - 1)
    errors = (ratings.values - item_means[ratings.indices]) * left_out[ratings.indices]
    return Errors(errors, variances[ratings.indices], np.ones(len(errors)))


def choose_noise(
    K: Matrix,
    first_weight: float,
    rows: UserRows,
    held: HeldOut,
    noises: Sequence[float],
    pool: Pool,
) -> tuple[float, Errors]:
    """Return the noise with the smallest error of the held-out ratings, and the errors there.

    ``noises`` ascend; the search ends where the error begins to rise.
    """
    if len(held.items) == 0:
        return (noises[0] if len(noises) == 1 else _NOISE), Errors(*np.empty((3, 0)))
    noise, best = noises[0], predict_held_out(K, first_weight, rows, held, noises[0], pool)
    for larger in noises[1:]:
        found = predict_held_out(K, first_weight, rows, held, larger, pool)
        if np.square(found.errors).mean() >= np.square(best.errors).mean():
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
        User g has the ratios from ``starts[g]`` to ``starts[g + 1]``.
    """
    ratios = np.append(ratios, _NORMAL)
    ends = np.append(starts, len(ratios))
    missed = ratios > np.quantile(ratios, _LEVEL)
    excess = np.concatenate([[0.0], np.cumsum(missed - (1.0 - _LEVEL))])
    error = np.sqrt(np.square(np.diff(excess[ends])).sum()) / len(ratios)
    found = np.quantile(ratios, min(_LEVEL + _STANDARD_ERRORS * error, 1.0))
    return float(found / chi2.ppf(_LEVEL, 1))


def find_variances(known: Errors, nobody: Errors, bias_variance: float) -> tuple[float, float]:
    """Return the prior variance, and the variance of user biases in units of it.

    With these two, squared errors are on average as stated: those of ratings with all others known,
    and with none. ``bias_variance`` is a first guess.
    """
    squares, without = np.square(known.errors), np.square(nobody.errors).mean()
    stated = nobody.variances.mean()
    for _ in range(_STEPS):
        spread = float(np.mean(squares / (known.variances + bias_variance * known.unused)))
        if spread == 0.0:
            return 1.0, bias_variance
        bias_variance = max(float(without / spread - stated), 0.0)
    return spread, bias_variance


class Intervals(NamedTuple):
    """What scales standard deviations: the attributes of `Taste` with these names."""

    spread: float
    bias_variance: float
    calibration: tuple[float, ...]


def calibrate(
    K: Matrix,
    first_weight: float,
    rows: UserRows,
    held: HeldOut,
    known: Errors,
    noise: float,
    pool: Pool,
) -> Intervals:
    """Return the scale of standard deviations; ``known`` are the errors with all ratings known."""
    nobody = predict_nobody(K, rows, noise)
    if len(held.items):
        spread, bias_variance = find_variances(known, nobody, noise / PRIOR_RATINGS)
    else:
        spread, bias_variance = rows.residual_sd**2 or 1.0, noise / PRIOR_RATINGS

    def ratios(found: Errors) -> Vector:
        return found.errors**2 / (spread * (found.variances + bias_variance * found.unused))

    factors = [find_calibration(ratios(nobody), rows.ratings.indptr)]
    for n in FEW[1:]:
        able = rows.ratings.sizes[held.users] >= n
        few, asked = rows.after(held.users[able], n), held.of(able)
        asked = asked._replace(users=np.arange(len(asked.users)))
        found = predict_held_out(K, first_weight, few, asked, noise, pool)
        factors.append(find_calibration(ratios(found), asked.starts))
    return Intervals(spread, bias_variance, tuple(factors))


def calibrate_known(taste: Taste, own: OwnRows, ratings: Ratings, pool: Pool) -> float:
    """Return the squared errors of ratings left out of known users, over what is stated."""
    order = ratings.users_by_size()
    several = order[(ratings.sizes[order] > 1) & (ratings.sizes[order] <= _MOST)]
    users = several[:: -(-len(several) // _KNOWN) or 1]
    sums = np.zeros((len(users), 2))

    def leave_out(g: int, _: None) -> None:
        u = int(users[g])
        at = slice(ratings.indptr[u], ratings.indptr[u + 1])
        evidence = Evidence.of(ratings.indices[at], ratings.values[at])
        errors, variances = fold_in(own.without(taste, u), evidence).left_out()
        stated = variances * taste.calibrate(len(errors) - 1)
        sums[g] = np.sum(errors * errors / stated), len(errors)

    run_users(leave_out, len(users), pool, lambda: None)
    stated = taste.spread * sums[:, 1].sum()
    return float(sums[:, 0].sum() / stated) or 1.0 if stated > 0 else 1.0
