"""Which pairs to ask, and when to stop."""

import asyncio

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import entr, expit
from scipy.stats import norm

from rankwise.contests import BradleyTerry, EloRating, PlackettLuce, aask, ask, next_pairs
from rankwise.contests._next_pairs import choose_pairs, sign_information, top_shares


@pytest.mark.parametrize("mean", [0.0, 0.7, -2.0])
@pytest.mark.parametrize("variance", [0.05, 1.0, 6.0])
def test_information_about_the_sign_is_the_integral(mean, variance):
    density = norm(mean, np.sqrt(variance)).pdf
    joint = np.array(
        [
            [quad(lambda d, y=y: density(d) * expit(y * d), *side)[0] for y in (1, -1)]
            for side in ((-30, 0), (0, 30))
        ]
    )
    literal = entr(joint.sum(axis=0)).sum() + entr(joint.sum(axis=1)).sum() - entr(joint).sum()
    assert_allclose(sign_information(mean, variance), literal, rtol=0.02, atol=2e-4)


def test_the_first_choice_is_the_best_pair():
    random = np.random.default_rng(0)
    strengths = random.normal(size=7)
    root = random.normal(size=(7, 7))
    covariance = root @ root.T / 7
    weight = random.random((7, 7))
    weight += weight.T
    best, chosen = -1.0, None
    for i in range(7):
        for j in range(i + 1, 7):
            v = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
            gain = sign_information(strengths[i] - strengths[j], v) * weight[i, j]
            if gain > best:
                best, chosen = gain, (i, j)
    assert choose_pairs(strengths, covariance, weight, 1) == [chosen]
    many = choose_pairs(strengths, covariance, None, 40)
    assert len(many) == 40
    assert len(set(many)) > 5


def test_pairs_across_the_boundary_matter():
    strengths = np.array([4.0, 1.0, 0.9, -4.0])
    share = top_shares(strengths, 0.05 * (np.eye(4) - 0.25), 2, 4000, 0)
    assert share[1, 2] > 0.99
    assert share[0, 3] > 0.99
    assert share[0, 1] < 0.5
    assert_allclose(share, share.T)


def contests(m, truth, seed=0):
    random = np.random.default_rng(seed)
    n = len(truth)
    first = random.integers(n, size=m)
    second = (first + random.integers(1, n, size=m)) % n
    return first, second, (random.random(m) < expit(truth[first] - truth[second])).astype(float)


def test_goals():
    truth = np.array([2.0, 1.9, 1.0, 0.9, -1.0, -1.1])
    model = BradleyTerry().fit(*contests(900, truth))
    model.strengths_ = truth - truth.mean()
    for goal, k, expected in (("best", None, {0, 1}), ("top", 3, {2, 3})):
        assert set(next_pairs(model, 1, goal=goal, k=k)[0]) == expected
    pairs = next_pairs(model, 30, goal="order")
    assert {frozenset(p) for p in pairs} <= {frozenset(p) for p in ((0, 1), (2, 3), (4, 5))}
    assert len({pair < pair[::-1] for pair in pairs}) == 2
    assert next_pairs(model, 5, random_state=3) == next_pairs(model, 5, random_state=3)
    assert len(next_pairs(PlackettLuce().fit([[1, 2, 3], [3, 2, 1], [2, 1, 3]]), 2)) == 2


def test_refusals():
    model = BradleyTerry().fit(*contests(100, np.zeros(4)))
    for options, words in (
        ({"goal": "odd"}, "goal='odd' must be"),
        ({"goal": "top"}, "goal='top' needs it"),
        ({"goal": "best", "k": 2}, "k is the size of the top"),
        ({"goal": "top", "k": 4}, "less than the 4 items"),
    ):
        with pytest.raises(ValueError, match=words):
            next_pairs(model, 1, **options)
        with pytest.raises(ValueError, match=words):
            ask(range(4), lambda u, v: u < v, **options)
    with pytest.raises(ValueError, match="n=0"):
        next_pairs(model, 0)
    with pytest.raises(ValueError, match="no covariance"):
        next_pairs(EloRating().fit([1], [2], [1]), 1)
    with pytest.raises(ValueError, match="nothing to compare"):
        ask([1], lambda u, v: u < v, goal="best")
    with pytest.raises(ValueError, match="level=1"):
        ask([1, 2], lambda u, v: u < v, goal="best", level=1)


def noisy(seed):
    coin = np.random.default_rng(seed)
    return lambda u, v: float(coin.random() < expit(0.8 * (v - u)))


def test_asking_stops_when_the_top_is_settled():
    found = [ask(range(8), noisy(seed), goal="top", k=2, random_state=seed) for seed in range(6)]
    assert sum(set(ranking.order[:2]) == {0, 1} for ranking in found) >= 5
    for ranking in found:
        assert ranking.certain.tolist() == [True] * 2 + [False] * 6
        assert ranking.n_calls == len(ranking.log)
        assert sorted(ranking.order) == list(range(8))
    short = ask(range(8), noisy(0), goal="order", max_calls=20, random_state=0)
    assert short.n_calls == 20
    assert not short.certain.any()
    with pytest.raises(ValueError, match="max_calls=0 allows no question"):
        ask(range(8), noisy(0), goal="best", max_calls=0)
    # and it can be gone on with
    log = list(short.log)
    more = ask(range(8), noisy(1), goal="best", log=log, random_state=0)
    assert len(log) == 20 + more.n_calls
    assert {frozenset(entry[:2]) for entry in log[20:]} <= {frozenset((0, j)) for j in range(8)} | {
        frozenset((1, j)) for j in range(8)
    }


def test_asking_concurrently():
    running, most = 0, 0
    decide = noisy(3)

    async def prefer(u, v):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return decide(u, v)

    found = asyncio.run(
        aask(
            list("abcdef"),
            lambda u, v: prefer(ord(u), ord(v)),
            goal="best",
            at_once=4,
            random_state=0,
        )
    )
    assert found.order[0] == "a"
    assert 2 <= most <= 4
    # whole batches in one call
    calls = []

    def batch(us, vs):
        calls.append(len(us))
        return np.array([decide(u, v) for u, v in zip(us, vs, strict=True)])

    found = ask(np.arange(6), batch, goal="best", batch=True, random_state=0)
    assert sum(calls) == found.n_calls
    assert max(calls) <= 8


@pytest.mark.parametrize(("n", "best"), [(2, 2), (4, 2)])
def test_asking_about_tied_items_ends(n, best):
    def prefer(u, v):
        nonlocal n_calls
        n_calls += 1
        assert n_calls < 2000, "it goes on for ever"
        return 0.5 if max(u, v) < best else float(u < v)

    n_calls = 0
    ranking = ask(range(n), prefer, goal="best", at_once=50, random_state=0)
    assert 400 <= n_calls == ranking.n_calls
    assert sorted(ranking.order[:2]) == [0, 1]
    assert not ranking.certain.any()
