"""The compiled passes against the literal loops of the papers, round by round."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from rankwise.papers import multiclass_perceptron, prank, widrow_hoff
from rankwise.testing.strategies import st, streams
from tests import reference as oracles

CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array}
UPDATES = ("uniform", "max", "proportional")

LARGE_MARGIN = {u: run for u, run in oracles.PRANK_UPDATES.items() if u != "perceptron"}


def real_stream(k, seed):
    """Rows with zeros, a noisy truth, and no accidental ties after the first rounds."""
    random = np.random.default_rng([k, seed])
    X = random.normal(size=(120, 6)) * (random.random((120, 6)) < 0.7)
    score = X @ random.normal(size=6) + random.normal(0, 0.3, 120)
    return X, 1 + np.searchsorted(np.quantile(score, np.arange(1, k) / k), score)


def assert_counts(model, guesses, y):
    losses = np.abs(np.array(guesses) - y)
    assert model.rank_loss_ == losses.sum()
    assert model.n_mistakes_ == np.count_nonzero(losses)
    assert model.n_rounds_ == len(y)


def learn_by_row(model, X, y, k):
    """Yield what the model guesses of each row and the model after it."""
    for i in range(X.shape[0]):
        guess = model.partial_fit_predict(X[[i]], y[[i]], classes=np.arange(1, k + 1))[0]
        yield guess, model


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize(("k", "seed"), [(k, k % 3) for k in range(2, 11)])
class TestRoundByRound:
    def test_prank(self, container, k, seed):
        X, y = real_stream(k, seed)
        rounds = list(oracles.prank(X, y, k))
        by_row = learn_by_row(prank(), container(X), y, k)
        for (guess, model), expected in zip(by_row, rounds, strict=True):
            assert guess == expected.guess
            assert_array_equal(model.thresholds_, expected.b)
            assert_allclose(model.coef_, expected.w, atol=1e-12)
        assert_counts(model, [r.guess for r in rounds], y)

    def test_averaged_prank(self, container, k, seed):
        X, y = real_stream(k, seed)
        by_row = learn_by_row(prank(vote="averaged"), container(X), y, k)
        for (guess, model), expected in zip(by_row, oracles.averaged_prank(X, y, k), strict=True):
            assert guess == expected.guess
            assert_allclose(model.thresholds_, expected.b, atol=1e-12)
            assert_allclose(model.coef_, expected.w, atol=1e-12)

    @pytest.mark.parametrize("max_voters", [None, 1, 2, 5])
    def test_voted_prank(self, container, k, seed, max_voters):
        X, y = real_stream(k, seed)
        by_row = learn_by_row(prank(vote="voted", max_voters=max_voters), container(X), y, k)
        rounds = list(oracles.voted_prank(X, y, k, max_voters))
        for (guess, model), expected in zip(by_row, rounds, strict=True):
            assert guess == expected.guess
            assert_array_equal(model.thresholds_, expected.b)
            assert_allclose(model.coef_, expected.w, atol=1e-12)
            assert len(model.voters_correct_) <= (max_voters or len(y))
        assert_counts(model, [r.guess for r in oracles.prank(X, y, k)], y)
        if max_voters is None:
            assert model.voters_correct_.sum() == model.n_rounds_ - model.n_mistakes_
        whole = prank(vote="voted", max_voters=max_voters)
        said = whole.partial_fit_predict(container(X), y, classes=np.arange(1, k + 1))
        assert_array_equal(said, [r.guess for r in rounds])
        assert_array_equal(whole.voters_correct_, model.voters_correct_)

    @pytest.mark.parametrize("update", LARGE_MARGIN)
    def test_large_margin_prank(self, container, k, seed, update):
        X, y = real_stream(k, seed)
        rounds = list(LARGE_MARGIN[update](X, y, k))
        by_row = learn_by_row(prank(update=update), container(X), y, k)
        for (guess, model), expected in zip(by_row, rounds, strict=True):
            assert guess == expected.guess
            assert_allclose(model.thresholds_, expected.b, atol=1e-9)
            assert_allclose(model.coef_, expected.w, atol=1e-9)
        assert_counts(model, [r.guess for r in rounds], y)

    def test_widrow_hoff(self, container, k, seed):
        X, y = real_stream(k, seed)
        rounds = list(oracles.widrow_hoff(X, y, k, 0.07))
        by_row = learn_by_row(widrow_hoff(0.07), container(X), y, k)
        for (guess, model), expected in zip(by_row, rounds, strict=True):
            assert guess == expected.guess
            assert_array_equal(model.thresholds_, expected.b)
            assert_allclose(model.coef_, expected.w, atol=1e-12)
        assert_counts(model, [r.guess for r in rounds], y)

    @pytest.mark.parametrize("update", UPDATES)
    def test_multiclass_perceptron(self, container, k, seed, update):
        X, y = real_stream(k, seed)
        rounds = list(oracles.multiclass_perceptron(X, y, k, update))
        by_row = learn_by_row(multiclass_perceptron(update=update), container(X), y, k)
        for (guess, model), (expected, W) in zip(by_row, rounds, strict=True):
            assert guess == expected
            assert_allclose(model.coef_, W, atol=1e-12)
        assert_counts(model, [guess for guess, _ in rounds], y)


@given(streams())
def test_prank_on_exact_ties(stream):
    X, ranks, k = stream
    model = prank(label_order=range(1, k + 1))
    said = model.partial_fit_predict(X, ranks)
    rounds = list(oracles.prank(X, ranks, k))
    assert_array_equal(said, [r.guess for r in rounds])
    assert_array_equal(model.coef_, rounds[-1].w)
    assert_array_equal(model.thresholds_, rounds[-1].b)


@given(streams(), st.none() | st.integers(1, 6))
def test_voted_prank_on_exact_ties(stream, max_voters):
    X, ranks, k = stream
    model = prank(vote="voted", max_voters=max_voters, label_order=range(1, k + 1))
    said = model.partial_fit_predict(X, ranks)
    rounds = list(oracles.voted_prank(X, ranks, k, max_voters))
    assert_array_equal(said, [r.guess for r in rounds])
    following = [
        list(oracles.voted_prank([*X, x], [*ranks, 1], k, max_voters))[-1].guess for x in X
    ]
    assert_array_equal(model.predict(X), following)


def test_voters_tie_upwards_and_need_a_vote():
    model = prank(vote="voted", label_order=[1, 2, 3, 4])
    assert model.partial_fit([[1.0]], [1]).voters_correct_.tolist() == [0]
    assert model.predict([[1.0]]) == [1]
    model = prank(vote="voted", label_order=[1, 2])
    model.partial_fit([[1.0], [-1.0], [0.0]], [2, 1, 1])
    assert model.voters_correct_.tolist() == [1, 1]
    assert model.predict([[0.0], [1.0]]).tolist() == [2, 2]
    model.partial_fit([[0.0]], [1])
    assert model.predict([[0.0], [1.0]]).tolist() == [1, 2]


@given(streams())
def test_max_perceptron_on_exact_ties(stream):
    X, ranks, k = stream
    model = multiclass_perceptron(update="max", label_order=range(1, k + 1))
    said = model.partial_fit_predict(X, ranks)
    rounds = list(oracles.multiclass_perceptron(X, ranks, k, "max"))
    assert_array_equal(said, [guess for guess, _ in rounds])
    assert_array_equal(model.coef_, rounds[-1][1])


@pytest.mark.parametrize("update", UPDATES)
def test_rivals_that_tie_share_alike(update):
    model = multiclass_perceptron(update=update).partial_fit([[3.0]], [4], classes=[1, 2, 3, 4])
    expected = [[-3.0], [0], [0], [3]] if update == "max" else [[-1.0], [-1], [-1], [3]]
    assert_allclose(model.coef_, expected)


def test_epochs_and_shuffle_follow_the_stated_order():
    X, y = real_stream(5, 0)
    model = prank(epochs=3, shuffle=True, random_state=7).fit(X, y)
    random = np.random.RandomState(7)
    order = np.concatenate([random.permutation(len(y)) for _ in range(3)])
    expected = prank().fit(X[order], y[order])
    assert_array_equal(model.coef_, expected.coef_)
    assert model.n_rounds_ == 3 * len(y)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("update", LARGE_MARGIN)
@pytest.mark.parametrize("k", [2, 3, 5, 10])
class TestLargeMarginVotes:
    def test_averaged(self, container, update, k):
        X, y = real_stream(k, 0)
        by_row = learn_by_row(prank(update=update, vote="averaged"), container(X), y, k)
        rounds = oracles.averaged_prank(X, y, k, run=LARGE_MARGIN[update])
        for (guess, model), expected in zip(by_row, rounds, strict=True):
            assert guess == expected.guess
            assert_allclose(model.thresholds_, expected.b, atol=1e-9)
            assert_allclose(model.coef_, expected.w, atol=1e-9)

    def test_voted(self, container, update, k):
        X, y = real_stream(k, 0)
        model = prank(update=update, vote="voted")
        said = model.partial_fit_predict(container(X), y, classes=np.arange(1, k + 1))
        rounds = oracles.voted_prank(X, y, k, run=LARGE_MARGIN[update])
        assert_array_equal(said, [r.guess for r in rounds])


@given(streams())
def test_passive_aggressive_keeps_what_it_promises(stream):
    X, ranks, k = stream
    model = prank(update="pa", label_order=range(1, k + 1))
    for x, rank in zip(X, ranks, strict=True):
        model.partial_fit([x], [rank])
        sides = np.where(np.arange(1, k) < rank, 1, -1)
        assert np.all(sides * (model.project([x]) - model.thresholds_) >= 1 - 1e-9)
        assert np.all(np.diff(model.thresholds_) >= 0)


@pytest.mark.parametrize("update", LARGE_MARGIN)
def test_mean_thresholds_stay_in_order_where_rounding_would_swap_them(update):
    for seed in [*range(40, 90), *range(320, 370)]:
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(12, 2)), random.integers(1, 6, 12)
        model = prank(update=update, vote="averaged", label_order=range(1, 6)).fit(X, y)
        assert np.all(np.diff(model.thresholds_) >= 0)


def test_relaxed_step_by_hand():
    model = prank(update="romma", label_order=[1, 2, 3])
    model.partial_fit([[1.0]], [1])
    assert_allclose([*model.coef_, *model.thresholds_], [-2 / 3, 1 / 3, 1 / 3])
    model.partial_fit([[1.0]], [3])
    assert_allclose([*model.coef_, *model.thresholds_], [2 / 3, -1 / 3, -1 / 3])


@pytest.mark.parametrize("vote", [None, "averaged", "voted"])
def test_relaxed_steps_on_endless_noise_stay_finite(vote):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(5_000, 2)), random.integers(0, 4, 5_000)
    model = prank(update="romma", vote=vote).fit(X, y)
    assert np.abs([*model.coef_, *model.thresholds_]).max() > 1e9
    assert np.all(np.diff(model.thresholds_) >= 0)
    assert len(set(model.predict(X))) > 1


@pytest.mark.parametrize("update", ["perceptron", *LARGE_MARGIN])
def test_csr_rows_that_name_an_index_twice(update):
    X, y = real_stream(4, 0)
    whole = sparse.csr_array(X)
    halves = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    twice = sparse.csr_array(halves, shape=X.shape)
    model = prank(update=update).fit(twice, y)
    assert not twice.has_canonical_format
    assert_allclose(model.coef_, prank(update=update).fit(X, y).coef_, atol=1e-9)


@pytest.mark.parametrize("max_voters", [1, 4, 7])
def test_lowering_max_voters_keeps_the_strongest(max_voters):
    X, y = real_stream(5, 0)
    lowered = prank(vote="voted").fit(X, y).set_params(max_voters=max_voters)
    throughout = prank(vote="voted", max_voters=max_voters).fit(X, y)
    for model in (lowered, throughout):
        model.partial_fit(X, y)
    assert_array_equal(lowered.predict(X), throughout.predict(X))
    assert sorted(lowered.voters_correct_[:-1]) == sorted(throughout.voters_correct_[:-1])
    assert len(lowered.voters_correct_) == max_voters


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5, 10])
def test_long_streams(k):
    random = np.random.default_rng(k)
    X = random.normal(size=(20_000, 20))
    score = X @ random.normal(size=20) + random.normal(0, 1, len(X))
    y = 1 + np.searchsorted(np.quantile(score, np.arange(1, k) / k), score)
    model = prank()
    said = model.partial_fit_predict(X, y, classes=np.arange(1, k + 1))
    rounds = list(oracles.prank(X, y, k))
    assert_array_equal(said, [r.guess for r in rounds])
    assert_array_equal(model.thresholds_, rounds[-1].b)
    assert_allclose(model.coef_, rounds[-1].w, rtol=1e-9)
