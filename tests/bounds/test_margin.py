import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankwise.bounds import (
    Bound,
    auc_deviation,
    disjoint_pairs,
    empirical_rademacher,
    margin_bound,
    margin_loss,
    margin_share,
)
from rankwise.metrics import auc_interval, auc_score
from rankwise.testing.strategies import scored_rows

KERNELS = [
    {"kind": "linear"},
    {"kind": "kernel", "kernel": "rbf", "gamma": 0.5},
    {"kind": "kernel", "kernel": "poly", "degree": 2},
    {"kind": "kernel", "kernel": lambda a, b: a @ b.T},
]


def signs(m, n_draws, seed=0):
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(n_draws, m))


def largest_fit(X, sigma, *, radius, kind, **options):
    """Return the supremum over the class for given signs, by its definition."""
    m = len(X)
    if kind == "stumps":
        best = [abs(sigma.sum()) / 2]
        for column in X.T:
            best += [abs(sigma @ ((column > cut) - 0.5)) for cut in np.unique(column)]
        return radius * max(best) / m
    name = options.pop("kernel", "linear")
    if name == "rbf":
        gram = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    elif name == "poly":
        gram = (X @ X.T / X.shape[1] + 1) ** 2
    else:
        gram = X @ X.T
    return radius * math.sqrt(max(0.0, sigma @ gram @ sigma)) / m


@pytest.mark.parametrize(
    "options",
    [*KERNELS, {"kind": "stumps"}],
    ids=["linear", "rbf", "poly", "callable", "stumps"],
)
def test_complexity_is_above_its_definition_and_near(options):
    X = np.random.default_rng(1).normal(size=(40, 3)).round(1)
    bound = empirical_rademacher(X, radius=2.0, **options)
    fits = [largest_fit(X, sigma, radius=2.0, **options) for sigma in signs(40, 2_000)]
    slack = 1.35 if options["kind"] != "stumps" else 2.5
    assert np.mean(fits) < bound.value < slack * np.mean(fits)
    assert bound.pieces["m"] == 40
    assert not bound.vacuous
    assert_allclose(empirical_rademacher(X, radius=6.0, **options).value, 3 * bound.value)


@given(seed=st.integers(0, 1_000), m=st.integers(1, 6), d=st.integers(1, 3))
def test_complexity_over_all_signs(seed, m, d):
    X = np.random.default_rng(seed).integers(-2, 3, (m, d)).astype(float)
    every = np.array(np.meshgrid(*[[-1.0, 1.0]] * m)).reshape(m, -1).T
    for options in ({"kind": "linear"}, {"kind": "stumps"}):
        exact = np.mean([largest_fit(X, sigma, radius=1.0, **options) for sigma in every])
        assert exact <= empirical_rademacher(X, **options).value + 1e-12


def test_stumps_are_counted_once_a_cut():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 3.0], [2.0, 3.0]])
    bound = empirical_rademacher(X, kind="stumps", radius=3.0)
    assert bound.pieces["n_stumps"] == 5
    assert_allclose(bound.value, 3 * math.sqrt(math.log(10) / 8))


@given(rows=scored_rows(), seed=st.integers(0, 50))
def test_pairs_are_disjoint_and_in_order(rows, seed):
    pairs = disjoint_pairs(rows.y, qid=rows.qid, random_state=seed)
    assert len(set(pairs.ravel().tolist())) == pairs.size
    worse, better = pairs.T
    assert (rows.y[worse] < rows.y[better]).all()
    if rows.qid is not None:
        assert (rows.qid[worse] == rows.qid[better]).all()
    assert np.array_equal(pairs, disjoint_pairs(rows.y, qid=rows.qid, random_state=seed))


def test_pairs_use_every_row_they_can():
    assert len(disjoint_pairs(np.arange(101), random_state=0)) == 50
    qid = np.repeat([3, 1, 2], [3, 4, 1])
    assert len(disjoint_pairs(np.arange(8), qid=qid, random_state=0)) == 3
    chosen = [disjoint_pairs(np.arange(4), random_state=s).tolist() for s in range(60)]
    assert {frozenset(map(tuple, pairs)) for pairs in chosen} == {
        frozenset({(0, 1), (2, 3)}), frozenset({(0, 2), (1, 3)}), frozenset({(0, 3), (1, 2)})
    }  # fmt: skip


def test_margin_bound_is_the_formula():
    margins = np.array([-1.0, 0.0, 0.25, 0.5, 2.0])
    bound = margin_bound(margins, complexity=(0.1, Bound(0.2, 1, {})), rho=0.5, delta=0.1)
    assert_allclose(bound.pieces["margin_loss"], (1 + 1 + 0.5) / 5)
    assert_allclose(bound.pieces["complexity"], 2 / 0.5 * 0.3)
    assert_allclose(bound.pieces["deviation"], 3 * math.sqrt(math.log(20) / 10))
    assert_allclose(bound.value, sum(list(bound.pieces.values())[:3]))
    assert bound.pieces["misranked"] == 0.4
    assert bound.vacuous


def test_margin_loss_and_share():
    margins = np.array([-1.0, 0.0, 0.25, 0.5, 2.0])
    assert_allclose(margin_loss(margins, rho=0.5), (1 + 1 + 0.5) / 5)
    assert_allclose(margin_share(margins, rho=0.5), 4 / 5)
    for rho in (0.1, 0.25, 3.0):
        misranked = np.mean(margins <= 0)
        assert misranked <= margin_loss(margins, rho=rho) <= margin_share(margins, rho=rho)


def test_several_margins_are_paid_for():
    margins = np.random.default_rng(0).normal(1, 1, 5_000)
    single = [margin_bound(margins, complexity=(0.01, 0.01), rho=r) for r in (0.1, 0.5, 2.0)]
    several = margin_bound(margins, complexity=(0.01, 0.01), rho=[0.1, 0.5, 2.0])
    assert several.pieces["rho"] == min(single, key=float).pieces["rho"]
    assert several.value > min(map(float, single))
    assert_allclose(several.pieces["deviation"], 3 * math.sqrt(math.log(120) / 10_000))
    assert several.value < max(map(float, single))


def test_margin_bound_holds():
    """Fit on the pairs, then look at fresh ones; the bound is loose, so it never fails here."""
    random = np.random.default_rng(0)
    held = []
    for _ in range(20):
        X = random.uniform(-1, 1, size=(4_000, 3))
        y = X @ [1.0, 1.0, 0.0] + random.normal(scale=0.3, size=4_000)
        pairs = disjoint_pairs(y[:3_000], random_state=0)
        gaps = X[pairs[:, 1]] - X[pairs[:, 0]]
        w = gaps.mean(axis=0) / np.linalg.norm(gaps.mean(axis=0))
        complexity = tuple(empirical_rademacher(X[rows]) for rows in pairs.T)
        bound = margin_bound(gaps @ w, complexity=complexity, rho=0.5)
        held.append(1 - auc_score(y[3_000:] > 0, X[3_000:] @ w) <= bound.value)
        assert not bound.vacuous
    assert all(held)


@pytest.mark.parametrize(("n_pos", "n_neg"), [(5, 80), (60, 60)])
def test_auc_deviation(n_pos, n_neg):
    bound = auc_deviation(n_pos, n_neg, delta=0.05)
    assert_allclose(bound.value, math.sqrt((n_pos + n_neg) * math.log(40) / (2 * n_pos * n_neg)))
    random = np.random.default_rng(0)
    y = np.repeat([1, 0], [n_pos, n_neg])
    # Scores whose AUC varies as much as any can: positives are above all others or below.
    off = [auc_score(y, np.where(y, random.choice([-1, 1], len(y)), 0)) - 0.5 for _ in range(400)]
    assert np.mean(np.abs(off) > bound.value) <= 0.05
    low, high = auc_interval(y, random.normal(size=len(y)))
    assert high - low < 2 * bound.value


def test_auc_deviation_of_few_rows_is_vacuous():
    assert auc_deviation(1, 10**6).vacuous
    assert not auc_deviation(100, 100).vacuous


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: empirical_rademacher([[1.0]], kind="tree"), "kind='tree'"),
        (lambda: empirical_rademacher([[1.0]], radius=0), "radius=0"),
        (
            lambda: empirical_rademacher([[1.0]], kind="kernel", kernel="sine"),
            "'kernel' .* Got 'sine'",
        ),
        (
            lambda: empirical_rademacher([[-1.0]], kind="kernel", kernel="precomputed"),
            "negative",
        ),
        (lambda: empirical_rademacher([[np.nan]]), "NaN"),
        (lambda: margin_bound([], complexity=(0, 0), rho=1), "margins"),
        (lambda: margin_bound([1.0], complexity=(0, 0), rho=0), "rho=0"),
        (lambda: margin_bound([1.0], complexity=(0, 0), rho=[]), "rho="),
        (lambda: margin_bound([1.0], complexity=0.1, rho=1), "two numbers"),
        (lambda: margin_bound([1.0], complexity=(-1, 0), rho=1), "negative"),
        (lambda: margin_bound([1.0], complexity=(0, 0), rho=1, delta=1), "delta=1"),
        (lambda: margin_loss([], rho=1), "margins"),
        (lambda: margin_loss([1.0], rho=[1, 2]), "one positive number"),
        (lambda: margin_share([1.0], rho=-1), "rho=-1 must be a positive number$"),
        (
            lambda: margin_bound([1.0], complexity=[Bound(0.1, 1, {})] * 2, rho=1, expected=True),
            "expected ones of stumps are numbers",
        ),
        (lambda: auc_deviation(0, 3), "n_pos=0"),
        (lambda: auc_deviation(3, 2.5), "n_neg=2.5"),
        (lambda: auc_deviation(3, 2, delta=0), "delta=0"),
        (lambda: disjoint_pairs([1.0, np.nan]), "finite"),
        (lambda: disjoint_pairs([1, 2], qid=[1]), "qid has 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
