"""One person against the Gaussian model written out: every row, every variable, plain inverses."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from rankwise.magnitude import MPRank
from rankwise.recommend.fold_in import Evidence, best_questions, fold_in, preferences
from rankwise.recommend.taste import DenseKernel, FactorKernel, Taste

N = 14


def make_taste(n_places=3, prior=1.5, seed=0, factor=False):
    random = np.random.default_rng(seed)
    n = N + n_places
    F = random.normal(size=(n, 4)) / 2
    extra = random.uniform(0.05, 0.2, n)
    kernel = FactorKernel(F, extra) if factor else DenseKernel(F @ F.T + np.diag(extra))
    return Taste(
        means=random.uniform(2.5, 4.0, N),
        kernel=kernel,
        places=random.normal(size=(N, n_places)) / 3,
        noise=0.7,
        prior=prior,
        low=1.0,
        high=5.0,
        sigma=0.9,
        spread=0.8,
    )


def make_evidence(n, pairs=(), seed=0):
    random = np.random.default_rng(seed)
    return Evidence.of(random.permutation(N)[:n], random.integers(1, 6, n), np.array(pairs))


def literal_preference(taste, K, i, j):
    """Target and noise by integrals: the row that gives the moments of the truncated normal."""
    p = taste.spread * (K[i, i] + K[j, j] - 2 * K[i, j])
    mu = taste.means[i] - taste.means[j]
    grid = np.linspace(mu - 12 * np.sqrt(p), mu + 12 * np.sqrt(p), 200_001)
    density = norm.pdf(grid, mu, np.sqrt(p)) * norm.cdf(
        grid / np.sqrt(2 * taste.spread * taste.noise)
    )
    density /= density.sum()
    mean = density @ grid
    variance = density @ (grid - mean) ** 2
    row = 1 / (1 / variance - 1 / p)
    return row * (mean / variance - mu / p) - mu, row / taste.spread


def literal(taste, evidence):
    """Scores under a free level of which a share is shown, the rest such that compared items keep
    their means; covariance over tau^2 with the prior; variances of the errors of the scores, whose
    level has another variance.
    """
    K = taste.kernel.between(*2 * [np.arange(N + taste.places.shape[1])])
    size = len(K) + 1  # the level is the last variable
    rows, targets, noises = [], [], []

    def add(entries, target, noise):
        row = np.zeros(size)
        for place, value in entries.items():
            row[place] += value
        rows.append(row)
        targets.append(target)
        noises.append(noise)

    for j, y in zip(evidence.items, evidence.ratings, strict=True):
        add({j: 1, -1: 1}, y - taste.means[j], taste.noise)
    for i, j in evidence.pairs:
        add({i: 1, j: -1}, *literal_preference(taste, K, i, j))
    n = len(evidence.items)
    for k in range(taste.places.shape[1]):
        x = sum(taste.places[j, k] for j in evidence.items) / np.sqrt(max(n, 1))
        add({N + k: 1}, x, taste.noise)
    D = np.array(rows).reshape(-1, size)

    def posterior(prior):
        precision = np.zeros((size, size))
        precision[:-1, :-1] = np.linalg.inv(K)
        precision[-1, -1] = prior if n else prior or 1.0
        covariance = np.linalg.inv(precision + D.T @ (D / np.array(noises)[:, None]))
        return covariance @ D.T @ (np.array(targets) / noises), covariance

    mean = posterior(0.0)[0]
    share = n / (n + taste.noise * taste.prior) if n else 0.0
    level = share * mean[-1]
    if len(evidence.pairs):
        level -= (1 - share) * mean[evidence.pairs].sum() / (n + evidence.pairs.size)
    scores = np.hstack([np.eye(N), np.zeros((N, taste.places.shape[1])), np.ones((N, 1))])
    variances = literal_variances(taste, D, np.array(noises), n)
    return taste.means + mean[:N] + level, scores @ posterior(taste.prior)[1] @ scores.T, variances


def literal_variances(taste, D, noises, n):
    """The variance of a score less the truth, from the weights of all rows, one item at a time."""
    K = taste.kernel.between(*2 * [np.arange(N + taste.places.shape[1])])
    level = taste.bias_variance
    if level is None:
        level = 1 / taste.prior if taste.prior else (0.0 if n else np.inf)
    G = D[:, :-1]  # how rows depend on the taste; the last column is the level
    A, e = G @ K @ G.T + np.diag(noises), D[:, -1]
    inverse = np.linalg.inv(A) if len(A) else A
    share = n / (n + taste.noise * taste.prior) if n else 0.0
    found = []
    for i in range(N):
        weights = inverse @ G @ K[:, i]
        if n:
            by_level = inverse @ e / (e @ inverse @ e)
            weights = weights + (share - e @ weights) * by_level
        on_taste = weights @ G - np.eye(len(K))[i]
        missed = 1 - weights @ e
        own = missed**2 * level if abs(missed) > 1e-9 else 0.0
        found.append(on_taste @ K @ on_taste + weights**2 @ noises + own + taste.noise)
    return np.array(found)


CASES = [
    (make_taste(q, prior, factor=factor), make_evidence(n, pairs))
    for q, prior, factor, n, pairs in product(
        [0, 3], [1.5, 0.0], [False, True], [0, 1, 2, 8, N], [(), [(1, 5)], [(1, 5), (5, 9), (0, 1)]]
    )
]


@pytest.mark.parametrize(("taste", "evidence"), CASES)
def test_literal_model(taste, evidence):
    fold = fold_in(taste, evidence)
    scores, covariance, variances = literal(taste, evidence)
    items = np.arange(N)
    np.testing.assert_allclose(fold.scores(), scores, atol=1e-8)
    some = np.array([3, 0, 3])
    np.testing.assert_allclose(fold.scores(some), scores[some], atol=1e-8)
    if taste.prior or len(evidence.items):
        np.testing.assert_allclose(fold.covariances(items, items), covariance, atol=1e-8)
    np.testing.assert_allclose(fold.variances(items), variances, atol=1e-8)
    assert np.isinf(variances).all() == (taste.prior == 0 and len(evidence.items) == 0)
    weights = fold.weights(items)
    np.testing.assert_allclose(taste.means + weights @ fold.target, fold.scores(), atol=1e-12)
    n = len(evidence.items)
    share = n / (n + taste.noise * taste.prior) if n else 0.0
    np.testing.assert_allclose(weights[:, :n].sum(axis=1), share, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 3, N])
@pytest.mark.parametrize("pairs", [(), [(1, 5), (5, 9)]])
def test_variance_of_levels(n, pairs):
    taste, evidence = replace(make_taste(), bias_variance=4.0), make_evidence(n, pairs)
    found = fold_in(taste, evidence).variances(np.arange(N))
    np.testing.assert_allclose(found, literal(taste, evidence)[2], atol=1e-8)
    assert (found > fold_in(make_taste(), evidence).variances(np.arange(N))).all()


@pytest.mark.parametrize("n", [2, 5, N])
def test_mprank(n):
    """Without places and prior, a person is MPRank on the kernel."""
    taste, evidence = make_taste(0, 0.0), make_evidence(n)
    o, K = evidence.items, taste.kernel.matrix
    model = MPRank(C=n / (2 * taste.noise), kernel="precomputed")
    model.fit(K[np.ix_(o, o)], evidence.ratings - taste.means[o])
    expected = taste.means + model.predict(K[:, o])
    np.testing.assert_allclose(fold_in(taste, evidence).scores(), expected, atol=1e-10)


@pytest.mark.parametrize(
    ("q", "prior", "n", "pairs"),
    list(product([0, 3], [1.5, 0.0], [2, 3, 9], [(), [(1, 5), (3, 2)]])),
)
def test_left_out_is_forgotten(q, prior, n, pairs):
    taste, evidence = make_taste(q, prior), make_evidence(n, pairs)
    taste = replace(taste, bias_variance=2.0)
    errors, variances = fold_in(taste, evidence).left_out()
    for i, item in enumerate(evidence.items):
        rest = replace(
            evidence, items=np.delete(evidence.items, i), ratings=np.delete(evidence.ratings, i)
        )
        fold = fold_in(taste, rest)
        np.testing.assert_allclose(
            errors[i], evidence.ratings[i] - fold.scores()[item], rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(variances[i], fold.variances(np.array([item]))[0])


def test_left_out_of_one_rating():
    taste, evidence = make_taste(), make_evidence(1)
    errors, variances = fold_in(taste, evidence).left_out()
    empty = fold_in(taste, make_evidence(0))
    np.testing.assert_allclose(errors, evidence.ratings - empty.scores()[evidence.items])
    np.testing.assert_allclose(variances, empty.variances(evidence.items))


def test_error_ratio_of_ordinary_and_other_people():
    """The ratio is near 1 for people of the model, and near its factor for noisier ones."""
    taste = make_taste(0)
    random = np.random.default_rng(3)
    K = taste.kernel.matrix + 1 / taste.prior
    L = np.linalg.cholesky(taste.spread * (K + taste.noise * np.eye(N)))
    ratios = {1.0: [], 3.0: []}
    for factor, found in ratios.items():
        for _ in range(400):
            ratings = taste.means + factor * L @ random.normal(size=N)
            found.append(fold_in(taste, Evidence.of(np.arange(N), ratings)).error_ratio())
    assert abs(np.mean(ratios[1.0]) - 1) < 0.05
    assert abs(np.mean(ratios[3.0]) - (9 * N + 10) / (N + 10)) < 0.3
    assert fold_in(taste, make_evidence(0)).error_ratio() == 1
    assert fold_in(replace(taste, prior=0.0), make_evidence(1)).error_ratio() == 1


def test_preferences_known_values():
    target, noise = preferences(np.array([0.0]), np.array([1.0]), 0.5, 4.0)
    np.testing.assert_allclose(target, np.sqrt(8) * np.sqrt(np.pi / 2))
    np.testing.assert_allclose(noise, 2 * np.pi / 2 - 1)
    differences = np.array([-100.0, -4.0, 0.0, 4.0, 100.0])
    target, noise = preferences(differences, np.ones(5), 0.5, 1.0)
    assert np.isfinite(target).all()
    assert np.isfinite(noise).all()
    assert (np.diff(target) <= 0).all()
    assert (np.diff(noise) >= 0).all()
    assert noise.min() > 0


def test_a_preference_moves_the_two_items():
    taste = make_taste(0)
    before = fold_in(taste, make_evidence(3)).scores()
    i, j = np.argsort(before)[[0, -1]]
    after = fold_in(taste, make_evidence(3, [(i, j)])).scores()
    moved = after - before
    assert moved[i] - moved[j] > 0.3
    guessed = fold_in(taste, make_evidence(3, [(j, i)])).scores() - before
    assert 0 < guessed[j] - guessed[i] < 0.5 * (moved[i] - moved[j])


def test_preferences_alone_leave_the_mean_of_the_compared_items():
    taste, evidence = make_taste(), make_evidence(0, [(1, 5), (5, 9), (0, 1)])
    fold, compared = fold_in(taste, evidence), evidence.pairs.ravel()
    np.testing.assert_allclose(fold.scores(compared).mean(), taste.means[compared].mean())


def test_kernel_not_semi_definite():
    taste = replace(make_taste(0), kernel=DenseKernel(-np.eye(N)))
    with pytest.raises(ValueError, match="not positive semi-definite"):
        fold_in(taste, make_evidence(2))


def literal_gain(taste, evidence, i, pool, known):
    """The weighted variance of the centred scores before less after a rating of item i."""

    def spread(covariance):
        share = known / known.sum()
        centre = np.eye(len(pool)) - share
        return share @ np.diagonal(centre @ covariance[np.ix_(pool, pool)] @ centre.T)

    before = literal(taste, evidence)[1]
    more = replace(
        evidence, items=np.append(evidence.items, i), ratings=np.append(evidence.ratings, 3.0)
    )
    return known[list(pool).index(i)] * (spread(before) - spread(literal(taste, more)[1]))


@pytest.mark.parametrize(("n", "pairs"), [(0, ()), (2, ()), (4, [(1, 5)])])
def test_questions(n, pairs):
    taste, evidence = make_taste(), make_evidence(n, pairs)
    random = np.random.default_rng(1)
    pool = np.setdiff1d(np.arange(N), evidence.items)
    known = random.uniform(0.1, 1.0, len(pool))
    found = best_questions(fold_in(taste, evidence), pool, known, len(pool))
    assert sorted(found) == sorted(pool)
    asked = []
    for item in found:  # each with those before it answered, but still among the judged
        gains = [
            -1.0 if i in asked else literal_gain(taste, evidence, i, pool, known) for i in pool
        ]
        assert item == pool[np.argmax(gains)]
        asked.append(item)
        evidence = replace(
            evidence,
            items=np.append(evidence.items, item),
            ratings=np.append(evidence.ratings, 3.0),
        )


def test_questions_at_the_edges():
    fold = fold_in(make_taste(), make_evidence(2))
    assert len(best_questions(fold, np.arange(0), np.zeros(0), 2)) == 0
    assert sorted(best_questions(fold, np.arange(3), np.zeros(3), 9)) == [0, 1, 2]
    free = fold_in(make_taste(prior=0.0), make_evidence(0))
    assert len(best_questions(free, np.arange(N), np.ones(N), 2)) == 2
