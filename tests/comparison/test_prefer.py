"""Which of several near-equals is advised."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rankwise
from rankwise.comparison import prepare_like
from rankwise.comparison._significance import advise, expected_losses, weigh
from rankwise.comparison.measures import MAE
from rankwise.comparison.methods import GRADES, METHODS
from rankwise.comparison.runner import advised, rank_rows
from rankwise.comparison.trials import Trials

RNG = np.random.default_rng(0)
ALTERNATING = np.resize([1.0, -1.0], 10)


def literal_weigh(losses, usual, share, spread):
    """The definition, term by term."""
    m, n = losses.shape
    means = [sum(row) / n for row in losses]
    relative = [[losses[i][j] / means[i] for j in range(n)] for i in range(m)]
    folds = [sum(relative[i][j] for i in range(m)) / m for j in range(n)]
    residual = sum((relative[i][j] - folds[j]) ** 2 for i in range(m) for j in range(n))
    variance = residual / ((m - 1) * (n - 1)) * (1 / n + share)
    weight = spread**2 / (spread**2 + variance)
    zero = np.log(min(means))
    return [weight * np.log(means[i]) + (1 - weight) * (usual[i] + zero) for i in range(m)]


@pytest.mark.parametrize(
    ("m", "n", "share", "spread"), list(product([2, 5], [2, 15], [0.25, 1.0], [0.03, 0.07]))
)
def test_weighing_is_the_definition(m, n, share, spread):
    losses = RNG.uniform(0.2, 0.6, size=(m, n))
    usual = RNG.uniform(0, 0.5, size=m)
    wanted = literal_weigh(losses, usual, share, spread)
    np.testing.assert_allclose(weigh(losses, usual, share, spread), wanted)


def choose(losses, usual, names=None):
    """Return the first of the methods that is expected to be as good as the best of them."""
    expected, error = expected_losses(losses, usual, 0.25)
    names = names or list(losses)
    least = min(expected[name] for name in names)
    return next(name for name in names if expected[name] <= least + error)


def test_folds_without_noise_decide_and_noisy_ones_leave_it_to_other_tables():
    fold = RNG.uniform(0.2, 0.4, size=20)
    exact = {"a": 1.2 * fold, "b": 1.01 * fold, "c": fold}
    usual = {"a": 0.1, "b": 0.2, "c": 0.3}
    assert choose(exact, usual) == "c"
    noisy = {name: values * RNG.uniform(0.1, 1.9, size=20) for name, values in exact.items()}
    assert choose(noisy, usual) == "a"
    assert choose(noisy, {"a": 0.3, "b": 0.1, "c": 0.3}) == "b"


@pytest.mark.parametrize("known", [True, False])
def test_of_equals_the_simplest_is_taken(known):
    noise = 0.05 * np.resize([1.0, -1.0], 30)
    losses = {"simple": 0.301 + noise, "complex": 0.3 - noise, "bad": 0.9 + noise}
    usual = dict.fromkeys(losses, 0.1) if known else {}
    assert choose(losses, usual) == "simple"
    assert choose({**losses, "simple": 0.5 + noise}, usual) == "complex"


@pytest.mark.parametrize("losses", [[[0.1], [0.9]], [[0.0, 0.0], [0.9, 0.2]], [[0.1, 0.3]]])
def test_means_decide_where_nothing_can_be_weighed(losses):
    values = dict(zip("ab", np.array(losses), strict=False))
    expected, error = expected_losses(values, {"a": 0.5, "b": 0.0}, 0.25)
    assert error == 0
    assert expected == {name: pytest.approx(losses.mean()) for name, losses in values.items()}


def test_all_methods_of_grades_have_a_standing():
    assert [m.name for m in METHODS if GRADES in m.forms and m.usual is None] == []


def tried(measure=MAE, seconds=None, **losses):
    names = {"hist": "HistGradientBoosting", "trees": "thresholds, trees"}
    names = {key: names.get(key, key) for key in losses}
    trials = {
        names[key]: Trials(
            names[key], values[:, None], np.full(10, (seconds or {}).get(key, 1.0)), np.ones(10)
        )
        for key, values in losses.items()
    }
    methods = {m.name: m for m in METHODS if GRADES in m.forms and m.name in trials}
    return rank_rows(trials, methods, measure, 0.25, 1000), trials, methods, measure, 0.25


def test_a_simple_method_that_is_tied_is_advised_before_a_complex_one():
    noise = 0.05 * ALTERNATING
    found = tried(ridge=0.301 + noise, trees=0.3 - noise, constant=0.9 + 0 * noise)
    assert [row.name for row in found[0]] == ["thresholds, trees", "ridge", "constant"]
    assert advised(*found, experience=False) == "ridge"


def test_what_is_surely_worse_is_not_advised():
    noise = 0.001 * ALTERNATING
    assert advised(*tried(trees=0.3 - noise, ridge=0.4 + noise, constant=0.9 + 0 * noise)) == (
        "thresholds, trees"
    )


def test_where_the_constant_is_first_it_is_advised():
    noise = 0.05 * ALTERNATING
    found = tried(constant=0.3 + 0 * noise, trees=0.301 + noise, ridge=0.31 - noise)
    assert advised(*found) == "constant"


def test_what_can_not_be_kept_is_not_advised():
    noise = 0.001 * ALTERNATING
    found = tried(hist=0.2 - noise, ridge=0.4 + noise, constant=0.9 + 0 * noise)
    assert advised(*found) == "ridge"
    found = tried(hist=0.2 - noise)
    assert advised(*found) == ""


def advice_of(found, best):
    rows, _, methods, measure, _ = found
    task = SimpleNamespace(kind="grades")
    return advise(
        SimpleNamespace(
            row=lambda name: next(row for row in rows if row.name == name), rows=rows, best=best,
            measures=[measure], task=task, pair_interval=None, warnings=[], model=1,
            by_experience=False,
            complex=list(methods)[list(methods).index(best) + 1 :],
        )
    )  # fmt: skip


def test_the_advice_is_a_sentence_with_the_numbers_of_the_table():
    noise = 0.05 * ALTERNATING
    found = tried(
        ridge=0.301 + noise, trees=0.3 - noise, constant=0.9 + 0 * noise, seconds={"trees": 20.0}
    )
    first, second = advice_of(found, "ridge")
    assert first.startswith("Use ridge (linear regression, cut into grades): on unseen rows ")
    assert first.endswith("a constant prediction scores 0.900.")
    assert second == (
        "thresholds, trees has the best mean (MAE 0.300); ridge is statistically tied (0.301, "
        "p = 0.99) "
        "and simpler; it is 20x faster."
    )
    assert advice_of(found, "thresholds, trees")[1] == (
        "thresholds, trees has the best mean; statistically tied: ridge (0.301)."
    )
    noise = 0.001 * ALTERNATING
    found = tried(hist=0.2 - noise, ridge=0.4 + noise, constant=0.9 + 0 * noise)
    assert advice_of(found, "ridge")[1] == (
        "HistGradientBoosting has the best mean (MAE 0.200); ridge is worse (0.400, p < "
        "0.001), and "
        "rankwise can't save HistGradientBoosting."
    )


@pytest.mark.parametrize("method", ["constant", "best-column", "ridge", "logistic-regression"])
@pytest.mark.parametrize("kind", ["grades", "classes", "numbers"])
def test_peers_that_are_advised_are_saved(kind, method, tmp_path):
    if kind == "numbers" and method == "logistic-regression":
        return
    frame = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])
    line = frame["a"] + RNG.normal(size=60) / 2
    words = np.array(["low", "medium", "high"])
    frame["y"] = line if kind == "numbers" else words[np.digitize(line, [-0.5, 0.5])]
    if kind == "classes":
        frame["y"] = np.where(line > 0, "yes", "no")
    found = rankwise.compare(frame, target="y", methods=[method], quick=True)
    assert found.best == method.replace("-", " ")
    rankwise.save(found.best_, tmp_path / "m.rankwise")
    again = rankwise.load(tmp_path / "m.rankwise")
    said = again.predict(prepare_like(frame, again))
    assert_array_equal(said, found.predict(frame))
    if kind != "numbers":
        assert set(said) <= set(frame["y"])
        shares = again.predict_proba(prepare_like(frame, again))
        assert_allclose(shares.sum(axis=1), 1.0)
    rankwise_code = {}
    frame.to_csv(tmp_path / "t.csv", index=False)
    code = found.from_source(str(tmp_path / "t.csv")).code
    exec(code.rpartition("\n")[0], rankwise_code)  # noqa: S102
    again = rankwise_code["model"]
    assert_array_equal(again.predict(prepare_like(frame, again)), said)
