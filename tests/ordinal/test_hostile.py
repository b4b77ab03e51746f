"""Streams that would break a careless implementation."""

import pickle
import threading
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from rankwise import ordinal
from rankwise.ordinal._loops.prank import UPDATES
from rankwise.papers import multiclass_perceptron, oap_bpm, prank, widrow_hoff
from rankwise.testing.strategies import chunkings, hostile_streams, st

MODELS = [
    prank(),
    prank(vote="voted"),
    prank(update="pa"),
    *(prank(update=update, vote="averaged") for update in UPDATES),
    *(prank(update=update, vote="voted", max_voters=3) for update in UPDATES),
    widrow_hoff(0.1),
    multiclass_perceptron(),
]


@pytest.mark.filterwarnings("ignore:rows of X", "ignore:WidrowHoff diverges")
@pytest.mark.parametrize("model", MODELS, ids=str)
@given(data=st.data())
@settings(deadline=None)
def test_hostile_streams(model, data):
    X, ranks, k = data.draw(hostile_streams())
    labels = np.arange(1, k + 1)
    whole = pickle.loads(pickle.dumps(model)).set_params(label_order=labels).fit(X, ranks)
    chunked = pickle.loads(pickle.dumps(model)).set_params(label_order=labels)
    for chunk in data.draw(chunkings(len(X))):
        chunked.partial_fit(X[chunk], ranks[chunk])
        assert np.all(np.diff(getattr(chunked, "thresholds_", [])) >= 0)
        if hasattr(chunked, "decision_function"):
            decision = chunked.decision_function(X)
            guess = decision.argmax(axis=1) if k > 2 else (decision > 0).astype(int)
            assert_array_equal(labels[guess], chunked.predict(X))
    assert_array_equal(chunked.coef_, whole.coef_)
    assert_array_equal(chunked.predict(X), whole.predict(X))
    assert np.isfinite(whole.coef_).all()


@pytest.mark.parametrize("vote", [None, "averaged", "voted"])
def test_overflow_is_refused_and_forgotten(vote):
    model = prank(vote=vote, label_order=[1, 2, 3]).fit([[1.0], [2.0], [3.0]], [1, 2, 3])
    before = pickle.dumps(model)
    with (
        pytest.warns(UserWarning, match="typical length"),
        pytest.raises(ValueError, match="scale"),
    ):
        prank(vote=vote).fit([[1.7e308], [-1.7e308], [1.7e308]], [3, 1, 2])
    with pytest.raises(ValueError, match="scale"):
        model.partial_fit([[1.7e308], [-1.7e308]], [1, 3])
    assert pickle.dumps(model) == before


def test_interrupt_leaves_the_model_as_it_was(monkeypatch):
    X, y = [[1.0], [2.0], [3.0]], [1, 2, 3]
    model = prank().fit(X, y)
    before = pickle.dumps(model)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(ordinal.PRank, "_pass", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.ones((4, 2)), [1, 2, 1, 2])
    assert pickle.dumps(model) == before


def test_overflow_at_the_last_row_is_refused():
    model = prank(label_order=[1, 2, 3, 4])
    with (
        pytest.warns(UserWarning, match="typical length"),
        pytest.raises(ValueError, match="the learned coefficients"),
    ):
        model.fit([[1e308]], [1])


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_unusual_scale_warns(scale):
    X = scale * np.random.default_rng(0).normal(size=(50, 3))
    with pytest.warns(UserWarning, match="about 1 long"):
        prank().fit(X, np.arange(50) % 3)


def test_divergence_warns_and_stays_finite():
    X = 100 + np.random.default_rng(0).normal(size=(500, 2))
    with pytest.warns(ConvergenceWarning, match=r"eta=0\.1"):
        model = widrow_hoff(0.1).fit(X, np.arange(500) % 3)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_changing_an_attribute_does_not_change_what_is_learned(model):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 3
    models = [clone(model).fit(X, y) for _ in range(2)]
    models[0].coef_ *= 0
    models[0].partial_fit(X, y)
    assert_array_equal(models[0].coef_, models[1].partial_fit(X, y).coef_)


def test_divergence_is_seen_wherever_it_peaks():
    X = np.array([[1.0], [1e5], [1e-9]])
    with pytest.warns(ConvergenceWarning, match="diverges"):
        widrow_hoff(0.5).fit(X, [1, 2, 3])


@pytest.mark.parametrize(("before", "after"), list(permutations([None, "averaged", "voted"], 2)))
def test_vote_changed_within_a_stream_is_refused(before, after):
    X, y = [[-1.0], [1.0], [2.0]], [1, 2, 3]
    model = prank(vote=before, epochs=3).fit(X, y)
    said = model.predict(X)
    model.set_params(vote=after)
    assert_array_equal(model.predict(X), said)
    assert hasattr(model, "decision_function") == (before != "voted")
    with pytest.raises(ValueError, match=f"vote={after!r} was changed"):
        model.partial_fit(X, y)
    assert hasattr(model.fit(X, y), "voters_correct_") == (after == "voted")


def test_a_voter_that_overflows_is_refused():
    X, y = [[1.0], [-1.0], [-1.0], [3.0], [3.0], [3.0]], [2, 1, 1, 1, 1, 1]
    model = prank(vote="voted", label_order=[1, 2]).fit(X, y)
    assert model.coef_ == [-2]
    assert model.voters_correct_.tolist() == [1, 1, 2]
    model.partial_fit([[3.0]], [2])
    assert model.coef_ == [1]
    before = pickle.dumps(model)
    for call in (model.predict, lambda X: model.partial_fit_predict(X, [1])):
        with pytest.raises(ValueError, match="scale"):
            call([[1e308]])
    assert pickle.dumps(model) == before


def test_voters_are_kept_through_a_pickle_and_grow_on():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3_000, 3)), random.integers(0, 3, 3_000)
    model = prank(vote="voted").fit(X[:2_000], y[:2_000])
    copy = pickle.loads(pickle.dumps(model)).partial_fit(X[2_000:], y[2_000:])
    whole = prank(vote="voted").fit(X, y)
    assert copy._state.keys() == whole._state.keys()
    for name, array in whole._state.items():
        assert_array_equal(copy._state[name], array)
    assert len(whole.voters_correct_) > 500
    assert all(len(whole._state[name]) == len(whole.voters_correct_) - 1 for name in ("W", "B"))


@pytest.mark.parametrize(
    "params",
    [
        {"update": "voted"},
        {"vote": "voted!"},
        {"max_voters": 0},
        {"epochs": 0},
        {"shuffle": 3},
        {"label_order": 7},
    ],
)
def test_bad_parameters_are_named(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        prank(**params).fit([[1.0], [2.0]], [1, 2])


def test_unfitted_model_says_so():
    with pytest.raises(NotFittedError):
        prank().predict([[1.0]])


def test_models_learn_side_by_side():
    X, y = np.random.default_rng(0).normal(size=(2000, 5)), np.arange(2000) % 5
    models = [prank(epochs=20) for _ in range(4)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        assert_array_equal(model.coef_, prank(epochs=20).fit(X, y).coef_)


@pytest.mark.parametrize("model", [prank(vote=np.ones(3)), oap_bpm(combine=np.ones(3))], ids=str)
def test_an_array_for_an_option_hides_no_method_by_an_error(model):
    hasattr(model, "decision_function")
    with pytest.raises(ValueError, match="parameter of"):
        model.fit(np.eye(3), [1, 2, 3])


def test_huge_weights_do_not_overflow_the_accuracy():
    model = ordinal.PRank().fit([[0.0], [1.0]], [0, 1])
    assert model.score([[0.0], [1.0], [1.0]], [0, 1, 0], [1e308, 1e308, 1e308]) == pytest.approx(
        model.score([[0.0], [1.0], [1.0]], [0, 1, 0])
    )
