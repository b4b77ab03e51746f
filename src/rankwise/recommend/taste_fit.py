"""Learns the taste of a table: baseline, kernel between items, noise and intervals.

1. Some ratings are held out.
2. From the rest: baseline, first kernel, the noise for which it predicts the held-out ratings best,
   and with twice this noise the rounds.
3. The held-out ratings choose the noise for predictions, and calibrate the intervals.
4. Unless they are less than a hundredth of all ratings, the kernel is learned again with them.

Decisions about each ingredient are in ``docs/decisions.md``, measured by
``python -m benchmarks taste_ablation``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from rankwise._core.threads import Pool
from rankwise.recommend.baseline import Baseline, Ints, Matrix, Ratings, fit_baseline
from rankwise.recommend.factors import factor_kernel
from rankwise.recommend.intervals import (
    PRIOR_RATINGS,
    Intervals,
    calibrate,
    calibrate_known,
    choose_noise,
    hold_out,
)
from rankwise.recommend.item_kernel import (
    FIRST_WEIGHT,
    HERE,
    Say,
    UserRows,
    Work,
    learn_kernel,
    make_rows,
)
from rankwise.recommend.known_users import OwnRows
from rankwise.recommend.taste import DenseKernel, Kernel, Taste

NOISES = (0.5, 1.0, 2.0, 4.0, 8.0)
# Noise of the rounds, in units of that by which the first kernel predicts best.
_OF_ROUNDS = 2.0
# The noise of the rounds is chosen by the ratings of one in so many of the validation users.
_SOME = 3
# From so many items on, learning is in single precision. A noise outside of these needs more.
_SINGLE, _LEAST_NOISE, _MOST_NOISE = 2_000, 0.1, 100.0
# If more than this share of the ratings is held out, the kernel is learned again with them.
_SHARE = 0.01
# Rows of a kernel that are copied at a time.
_ROWS = 256


class Options(NamedTuple):
    """How a taste is learned: ``rank`` 0 is the exact form; ``head`` items have an exact kernel."""

    rank: int
    head: int
    features: Matrix | None
    noise: float | None
    pool: Pool
    say: Say
    work: Work = HERE


def learn_taste(ratings: Ratings, options: Options) -> tuple[Taste, OwnRows | None]:
    """Return the taste of a table and, of the exact form, what users have added to its kernel."""
    items, pool = ratings.items_by_count()[: options.head], options.pool
    if options.rank:
        everything = fit_baseline(ratings, options.features)
        part, users = ratings.only_items(items)
        of_part = everything._replace(
            user_bias=everything.user_bias[users], item_bias=everything.item_bias[items]
        )
        rows, K, noise, intervals = learn_items(part, lambda _: of_part, options)
        with threadpool_limits(1, "blas"):
            kernel: Kernel = factor_kernel(
                K.astype(np.float64, copy=False),
                rows,
                items,
                ratings,
                everything,
                noise,
                options.rank,
                pool,
                options.say,
            )
        means, coordinates = everything.item_means, np.zeros((ratings.n_items, rows.n - len(items)))
        coordinates[items] = rows.coordinates
        return make_taste(rows, kernel, means, coordinates, noise, intervals), None
    # Similarities of items that are rated much are read much: they lie side by side, and at the
    # end, since those of an item with the items after it are read.
    items = items[::-1]
    part, _ = ratings.only_items(items)
    features = None if options.features is None else options.features[items]
    rows, K, noise, intervals = learn_items(part, partial(fit_baseline, features=features), options)
    place = np.arange(rows.n)
    place[items] = np.arange(len(items))
    kernel = DenseKernel(in_order(K, place, pool))
    own, place = OwnRows.of(rows, items), place[: len(items)]
    taste = make_taste(
        rows, kernel, rows.baseline.item_means[place], rows.coordinates[place], noise, intervals
    )
    with threadpool_limits(1, "blas"):
        return taste, replace(own, echo=calibrate_known(taste, own, ratings, pool))


def learn_items(
    ratings: Ratings, baseline_of: Callable[[Ratings], Baseline], options: Options
) -> tuple[UserRows, Matrix, float, Intervals]:
    """Return the rows and the kernel of all users, the noise, and the scale of the intervals."""
    given, pool, say, work = options.noise, options.pool, options.say, options.work
    noises = NOISES if given is None else (given,)
    usual = given is None or _LEAST_NOISE <= given <= _MOST_NOISE
    precision = np.float32 if usual and ratings.n_items >= _SINGLE else np.float64

    def start(some: Ratings) -> tuple[UserRows, Matrix]:
        say(f"products of {some.n_items} items over {some.n_users} users")
        rows = make_rows(some, baseline_of(some))
        return rows, work.first_kernel(rows, pool, precision)

    with threadpool_limits(1, "blas"):
        rest, held = hold_out(ratings)
        rows, C = start(rest)
        some = held.of(np.arange(len(held.users)) % _SOME == 0)
        of_rounds = given or _OF_ROUNDS * choose_noise(C, 1.0, rows, some, noises, pool)[0]
        K = learn_kernel(rows, C, of_rounds, work, pool, say)
        noise, errors = choose_noise(K, FIRST_WEIGHT, rows, held, noises, pool)
        intervals = calibrate(K, FIRST_WEIGHT, rows, held, errors, noise, pool)
        if len(held.items) > _SHARE * len(ratings.values):
            del C, K
            say(f"again with the {len(held.items)} ratings held out, noise {noise:g}")
            rows, C = start(ratings)
            K = learn_kernel(rows, C, of_rounds, work, pool, say)
    return rows, K, noise, intervals


def make_taste(
    rows: UserRows,
    kernel: Kernel,
    means: Any,
    coordinates: Matrix,
    noise: float,
    intervals: Intervals,
) -> Taste:
    """Gather what was learned."""
    y = rows.ratings.values
    return Taste(
        means,
        kernel,
        coordinates,
        noise,
        PRIOR_RATINGS / noise,
        float(y.min()),
        float(y.max()),
        rows.residual_sd,
        **intervals._asdict(),
    )


def in_order(K: Matrix, index: Ints, pool: Pool) -> Matrix:
    """Return a kernel of some items, in this order."""
    out = np.empty((len(index), len(index)), K.dtype)

    def some_rows(t: int) -> None:
        at = slice(t * _ROWS, (t + 1) * _ROWS)
        out[at] = np.take(K[index[at]], index, axis=1)

    pool.run(some_rows, -(-len(index) // _ROWS), work=float(out.size))
    return out
