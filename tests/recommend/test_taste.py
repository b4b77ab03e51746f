"""The taste kernel against its literal form, person by person."""

from itertools import chain

import numpy as np
import pytest
from scipy import sparse

from rankwise._core.threads import Pool
from rankwise.recommend.baseline import fit_baseline
from rankwise.recommend.intervals import (
    find_variances,
    predict_held_out,
    predict_nobody,
)
from rankwise.recommend.item_kernel import (
    HERE,
    first_kernel,
    learn_kernel,
    make_rows,
    score_users,
    thirds,
)
from rankwise.recommend.taste import DenseKernel, FactorKernel
from tests.reference import rated_things, taste_parts


def draw_table(n_users=60, n_items=40, seed=0, density=0.4):
    """Ratings from 1 to 5 of three tastes; NaN where there is none."""
    g = np.random.default_rng(seed)
    tastes = g.normal(size=(n_users, 3)) @ g.normal(size=(3, n_items))
    Y = 3 + 0.5 * g.normal(size=(n_users, 1)) + 0.5 * g.normal(size=n_items) + 0.6 * tastes
    known = g.random(Y.shape) < density * (0.3 + 1.4 * g.random((n_users, 1)))
    known[np.arange(n_users), g.integers(0, n_items, n_users)] = True
    return np.where(known, np.clip(np.rint(Y), 1, 5), np.nan)


def as_csr(Y):
    u, i = np.nonzero(~np.isnan(Y))
    return sparse.coo_array((Y[u, i], (u, i)), shape=Y.shape).tocsr()


def run_rounds(Y, n_pseudo, noise, *, learned=True, n_jobs=1, precision=np.float64):
    """Rows of all users, and the kernel: the first one or that after all rounds."""
    R = as_csr(Y)
    with Pool(n_jobs) as pool:
        rows = make_rows(R, *fit_baseline(R), n_pseudo)
        K = first_kernel(rows, pool).astype(precision)
        if learned:
            K = learn_kernel(rows, K, noise, HERE, pool, lambda _: None)
    return rows, K


def literal_rounds(Y, learned):
    """Who takes part: parts of the users one after the other, and then everyone."""
    parts = [list(part) for part in thirds(as_csr(Y))]
    return [*parts, list(chain(*parts))] if learned else []


def signs_of(rows, literal):
    """Singular vectors are known up to a sign."""
    return np.sign((rows.pseudo_ratings * literal.x).sum(axis=0))


@pytest.mark.parametrize("learned", [False, True])
def test_single_precision_has_six_digits(learned):
    Y = draw_table()
    double, single = (
        run_rounds(Y, 6, 0.5, learned=learned, n_jobs=2, precision=p)[1]
        for p in (np.float64, np.float32)
    )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=3e-6 * np.abs(double).max())


@pytest.mark.parametrize("n_pseudo", [0, 1, 6])
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_kernel_is_that_of_a_loop_over_users(n_pseudo, learned, noise):
    Y = draw_table()
    rounds = literal_rounds(Y, learned)
    literal = taste_parts(Y, n_places=n_pseudo, noise=noise, rounds=rounds)
    rows, K = run_rounds(Y, n_pseudo, noise, learned=learned)
    signs = np.concatenate([np.ones(Y.shape[1]), signs_of(rows, literal)])
    np.testing.assert_allclose(K * signs * signs[:, None], literal.K, atol=1e-8)
    np.testing.assert_allclose(rows.item_means, literal.means, atol=1e-10)
    np.testing.assert_allclose(rows.coordinates * signs[Y.shape[1] :], literal.places, atol=1e-8)


@pytest.mark.parametrize("n_rounds", [1, 2])
def test_scores_of_users_who_were_in_the_round_before(n_rounds):
    """All users take part in each round, so that all have a row of F to be taken out."""
    Y, noise = draw_table(25, 15), 1.5
    literal = taste_parts(Y, n_places=3, noise=noise, rounds=n_rounds * [range(len(Y))])
    rows, C = run_rounds(Y, 3, noise, learned=False)
    K, weights, F = C, (1.0, 0.0), None
    with Pool(2) as pool:
        for _ in range(n_rounds):
            F = score_users(K, weights, F, rows, noise, pool)
            counts = np.bincount(rows.ratings.indices, minlength=Y.shape[1])
            K = HERE.multiply_scores([F], pool)
            weights = 0.3, counts.sum() / (counts @ np.diag(K)[: len(counts)])
            K = weights[0] * C + weights[1] * K
    signs = np.concatenate([np.ones(Y.shape[1]), signs_of(rows, literal)])
    np.testing.assert_allclose(np.sqrt(weights[1]) * F * signs, literal.F, atol=1e-8)
    np.testing.assert_allclose(K * signs * signs[:, None], literal.K, atol=1e-8)


@pytest.mark.parametrize("learned", [False, True])
def test_held_out_ratings_are_predicted_without_their_user(learned):
    Y, noise, prior = draw_table(25, 15), 1.5, 2.0
    literal = taste_parts(Y, n_places=3, noise=noise, rounds=literal_rounds(Y, learned))
    rows, K = run_rounds(Y, 3, noise, learned=learned)
    g = np.random.default_rng(0)
    items = [np.flatnonzero(np.isnan(y))[: g.integers(0, 3)] for y in Y]
    starts = np.concatenate([[0], np.cumsum([len(own) for own in items])])
    held = sparse.csr_array(
        (g.normal(size=starts[-1]), np.concatenate(items), starts), shape=Y.shape
    )
    first_weight = 0.3 if learned else 1.0
    with Pool(2) as pool:
        found = predict_held_out(K, first_weight, rows, held, noise, pool)
    errors, variances, unused = [], [], []
    for u in range(len(Y)):
        o, t, e = rated_things(literal, Y[u], literal.x[u])
        own = first_weight**0.5 * np.array([literal.A[u], literal.B[u]])
        without = literal.K - own.T @ own
        inverse = np.linalg.inv(without[np.ix_(o, o)] + noise * np.eye(len(o)))
        bias = e @ inverse @ t / (e @ inverse @ e)
        share = e.sum() / (e.sum() + noise * prior)
        for i, y in zip(items[u], held.data[len(errors) :], strict=False):
            k = without[o, i]
            errors.append(y - literal.means[i] - share * bias - k @ inverse @ (t - bias * e))
            of_bias = (share - e @ inverse @ k) ** 2 / (e @ inverse @ e)
            variances.append(without[i, i] - k @ inverse @ k + of_bias + noise)
            unused.append((1 - share) ** 2)
    for part, expected in zip(found, (errors, variances, unused), strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-8)


def test_nobody_is_predicted_by_the_means_of_others():
    Y, noise = draw_table(25, 15), 1.5
    rows, K = run_rounds(Y, 3, noise)
    (errors, variances, _), n = predict_nobody(K, rows, noise), Y.shape[1]
    pseudo = np.linalg.inv(K[n:, n:] + noise * np.eye(3))
    user, item = np.nonzero(~np.isnan(Y))
    expected = np.diag(K)[:n] + noise - np.diag(K[:n, n:] @ pseudo @ K[n:, :n])
    np.testing.assert_allclose(variances, expected[item], atol=1e-8)
    mean, (user_bias, item_means) = Y[user, item].mean(), fit_baseline(as_csr(Y))
    np.testing.assert_array_equal(rows.item_means, item_means)
    for k in range(0, len(user), 7):
        others = (~np.isnan(Y[:, item[k]])) & (np.arange(len(Y)) != user[k])
        rest = Y[others, item[k]] - mean - user_bias[others]
        fitted = mean + rest.sum() / (len(rest) + 5)
        without = Y[user[k], item[k]] - fitted
        # The user's own bias stays in the mean of the item, as it is small there.
        share = user_bias[user[k]] / (len(rest) + 5)
        np.testing.assert_allclose(errors[k], without + share, atol=1e-8)


def test_few_ratings_are_those_of_a_user_who_gave_no_more():
    rows, _ = run_rounds(draw_table(25, 15), 3, 1.0, learned=False)
    users = np.flatnonzero(np.diff(rows.ratings.indptr) >= 4)
    few = rows.only(users).after(4)
    matrix = rows.ratings.toarray()
    for k, u in enumerate(users):
        at = slice(few.ratings.indptr[k], few.ratings.indptr[k + 1])
        items = few.ratings.indices[at]
        assert len(np.unique(items)) == 4
        assert (np.diff(items) > 0).all()
        np.testing.assert_array_equal(few.ratings.data[at], matrix[u, items])
        expected = rows.coordinates[items].sum(axis=0) / 2
        np.testing.assert_allclose(few.pseudo_ratings[k], expected)


def test_prior_variance_and_variance_of_user_biases():
    """Both kinds of squared errors are on average as stated."""
    g = np.random.default_rng(0)
    variances, before = g.uniform(1, 2, 5_000), g.uniform(3, 4, 5_000)
    unused = g.choice([0.0, 0.1, 0.4], 5_000)
    known = np.sqrt(0.7 * (variances + 2.5 * unused)), variances, unused
    nobody = np.sqrt(0.7 * (before + 2.5)), before, np.ones(5_000)
    np.testing.assert_allclose(find_variances(known, nobody, 1.0), (0.7, 2.5), rtol=1e-6)
    exact = np.zeros(5_000), variances, unused
    assert find_variances(exact, nobody, 1.0) == (1.0, 1.0)
    rounding = np.array([6e-17]), np.array([1e6]), np.array([0.25])
    nobody = np.array([0.0, -0.5, 0.0, 0.5]), np.full(4, 1e6), np.ones(4)
    assert find_variances(rounding, nobody, 1.0) == (1.0, 1.0)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_same_bits_for_any_number_of_threads(n_jobs):
    Y = draw_table(150, 90)
    alone, shared = (run_rounds(Y, 6, 1.0, n_jobs=jobs)[1] for jobs in (1, n_jobs))
    np.testing.assert_array_equal(alone, shared)


def test_kernels_agree():
    g = np.random.default_rng(0)
    V, extra = g.normal(size=(12, 3)), g.random(12)
    matrix = V @ V.T + np.diag(extra)
    dense, factors = DenseKernel(matrix), FactorKernel(V, extra)
    some, others = np.array([3, 7, 0]), np.array([7, 5])
    for kernel in (dense, factors):
        np.testing.assert_allclose(kernel.diagonal, np.diag(matrix))
        np.testing.assert_allclose(kernel.between(some, some), matrix[np.ix_(some, some)])
        np.testing.assert_allclose(kernel.between(some, others), matrix[np.ix_(some, others)])
        weights = g.normal(size=40)
        many = g.integers(0, 12, 40)
        np.testing.assert_allclose(kernel.combine(many, weights), weights @ matrix[many])
