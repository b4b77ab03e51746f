"""The taste kernel against its literal form, person by person."""

from itertools import chain

import numpy as np
import pytest
from scipy import sparse

from rankwise._core.threads import Pool
from rankwise.recommend.taste import DenseKernel, FactorKernel
from rankwise.recommend.taste_fit import find_spread
from rankwise.recommend.taste_parts import (
    Ratings,
    few_ratings,
    find_levels,
    find_parts,
    multiply_items,
)
from rankwise.recommend.taste_rounds import (
    Group,
    HeldOut,
    Stage,
    next_stage,
    predict_held,
)
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


def parts_of(n, n_rounds):
    """Who takes part: everyone, or parts of the people one after the other and then everyone."""
    if n_rounds < 4:
        return n_rounds * [[range(n)]]
    thirds = [range(k, n, 3) for k in range(3)]
    return [[thirds[0]], [thirds[1]], [thirds[2]], thirds]


def run_rounds(Y, n_places, noise, n_rounds, n_jobs=1, precision=np.float64):
    ratings = Ratings.of(as_csr(Y))
    with Pool(n_jobs) as pool:
        parts = find_parts(ratings, find_levels(ratings), n_places)
        C = multiply_items(parts, pool).astype(precision)
        group = Group.of(parts, np.arange(ratings.n_users))
        rows = np.full(ratings.n_users, -1)
        stage = Stage(C, 1.0, 0.0, rows, np.zeros((0, len(C)), precision))
        for taking_part in parts_of(ratings.n_users, n_rounds):
            groups = [Group.of(parts, np.array(people)) for people in taking_part]
            stage = next_stage(C, stage, parts, groups, noise, pool)
    return parts, group, stage


def signs_of(parts, literal):
    """Singular vectors are known up to a sign."""
    return np.sign((parts.x * literal.x).sum(axis=0))


@pytest.mark.parametrize("n_rounds", [0, 1, 2, 4])
def test_single_precision_has_six_digits(n_rounds):
    Y = draw_table()
    double, single = (run_rounds(Y, 6, 0.5, n_rounds, 2, p)[2] for p in (np.float64, np.float32))
    assert single.K.dtype == single.F.dtype == np.float32
    np.testing.assert_allclose(single.K, double.K, atol=3e-6 * np.abs(double.K).max())


@pytest.mark.parametrize("n_places", [0, 1, 6])
@pytest.mark.parametrize("n_rounds", [0, 1, 2, 4])
@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_kernel_is_that_of_a_loop_over_people(n_places, n_rounds, noise):
    Y = draw_table()
    rounds = [[*chain(*people)] for people in parts_of(len(Y), n_rounds)]
    literal = taste_parts(Y, n_places=n_places, noise=noise, rounds=rounds)
    parts, _, stage = run_rounds(Y, n_places, noise, n_rounds)
    signs = np.concatenate([np.ones(Y.shape[1]), signs_of(parts, literal)])
    np.testing.assert_allclose(stage.K * signs * signs[:, None], literal.K, atol=1e-8)
    np.testing.assert_allclose(parts.means, literal.means, atol=1e-10)
    np.testing.assert_allclose(parts.places * signs[Y.shape[1] :], literal.places, atol=1e-8)


@pytest.mark.parametrize("n_rounds", [0, 1])
def test_held_out_ratings_are_predicted_without_their_person(n_rounds):
    Y, noise, prior = draw_table(25, 15), 1.5, 2.0
    literal = taste_parts(Y, n_places=3, noise=noise, rounds=n_rounds * [range(len(Y))])
    parts, group, stage = run_rounds(Y, 3, noise, n_rounds)
    g = np.random.default_rng(0)
    items = [np.flatnonzero(np.isnan(y))[: g.integers(0, 3)] for y in Y]
    held = HeldOut(
        np.concatenate([[0], np.cumsum([len(own) for own in items])]),
        np.concatenate(items),
        g.normal(size=sum(map(len, items))),
    )
    noises, priors = np.array([9.0, noise]), np.array([1.0, prior])
    with Pool(2) as pool:
        found = predict_held(stage, parts, group, held, noises, priors, pool)
    errors, variances, hidden, before = [], [], [], []
    for u in range(len(Y)):
        o, t, e = rated_things(literal, Y[u], literal.x[u])
        own = (0.3 if n_rounds else 1.0) ** 0.5 * np.array([literal.A[u], literal.B[u]])
        K = literal.K - own.T @ own
        inverse = np.linalg.inv(K[np.ix_(o, o)] + noise * np.eye(len(o)))
        level = e @ inverse @ t / (e @ inverse @ e)
        shown = e.sum() / (e.sum() + noise * prior)
        at = np.flatnonzero(e == 0)
        of_places = np.linalg.inv(K[np.ix_(o[at], o[at])] + noise * np.eye(len(at)))
        for i, y in zip(items[u], held.y[len(errors) :], strict=False):
            k = K[o, i]
            errors.append(y - literal.means[i] - shown * level - k @ inverse @ (t - level * e))
            of_level = (shown - e @ inverse @ k) ** 2 / (e @ inverse @ e)
            variances.append(K[i, i] - k @ inverse @ k + of_level + noise)
            hidden.append((1 - shown) ** 2)
            before.append(K[i, i] - k[at] @ of_places @ k[at] + noise)
    for part, expected in zip(found, (errors, variances, hidden, before), strict=True):
        np.testing.assert_allclose(part[1], expected, atol=1e-8)


def test_few_ratings_are_those_of_a_person_who_gave_no_more():
    parts, _, _ = run_rounds(draw_table(25, 15), 3, 1.0, 0)
    people = np.flatnonzero(parts.ratings.sizes >= 4)
    few = few_ratings(parts, people, 4)
    matrix = parts.ratings.with_values(parts.ratings.values).toarray()
    for k, u in enumerate(people):
        at = slice(few.ratings.indptr[k], few.ratings.indptr[k + 1])
        items = few.ratings.indices[at]
        assert len(np.unique(items)) == 4
        assert (np.diff(items) > 0).all()
        np.testing.assert_array_equal(few.ratings.values[at], matrix[u, items])
        np.testing.assert_allclose(few.x[k], parts.places[items].sum(axis=0) / 2)


def test_spread_and_variance_of_levels_are_found():
    """Both kinds of squared errors are on average as stated."""
    g = np.random.default_rng(0)
    variances, before = g.uniform(1, 2, 5_000), g.uniform(3, 4, 5_000)
    hidden = g.choice([0.0, 0.1, 0.4], 5_000)
    squares = 0.7 * (variances + 2.5 * hidden)
    at_first = 0.7 * (before + 2.5)
    found = find_spread(squares, at_first, variances, hidden, before, 1.0)
    np.testing.assert_allclose(found, (0.7, 2.5), rtol=1e-6)
    assert find_spread(0 * squares, at_first, variances, hidden, before, 1.0) == (1.0, 1.0)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_same_bits_for_any_number_of_threads(n_jobs):
    Y = draw_table(150, 90)
    alone, shared = (run_rounds(Y, 6, 1.0, 4, jobs)[2] for jobs in (1, n_jobs))
    np.testing.assert_array_equal(alone.K, shared.K)
    np.testing.assert_array_equal(alone.F, shared.F)


def test_kernels_agree():
    g = np.random.default_rng(0)
    V, extra = g.normal(size=(12, 3)), g.random(12)
    matrix = V @ V.T + np.diag(extra)
    dense, factors = DenseKernel(matrix), FactorKernel(V, extra)
    some, others = np.array([3, 7, 0]), np.array([7, 5])
    for kernel in (dense, factors):
        np.testing.assert_allclose(kernel.diagonal, np.diag(matrix))
        np.testing.assert_allclose(kernel.rows(some), matrix[some])
        np.testing.assert_allclose(kernel.near(some).block(), matrix[np.ix_(some, some)])
        np.testing.assert_allclose(kernel.between(some, others), matrix[np.ix_(some, others)])
        np.testing.assert_allclose(kernel.near(some).between(others), matrix[np.ix_(some, others)])
        np.testing.assert_allclose(kernel.near(some).combine(g_ := np.ones(3)), g_ @ matrix[some])
