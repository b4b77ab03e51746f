"""Which of several near-equals is advised."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from rankwise.comparison import compare
from rankwise.comparison._significance import preferred, weigh
from rankwise.comparison.measures import RANK_LOSS
from rankwise.comparison.methods import GRADES, METHODS, method_named
from rankwise.comparison.runner import _advised, rank_rows
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


def test_folds_without_noise_decide_and_noisy_ones_leave_it_to_other_tables():
    fold = RNG.uniform(0.2, 0.4, size=20)
    exact = {"a": fold, "b": 1.01 * fold, "c": 1.2 * fold}
    usual = {"a": 0.3, "b": 0.2, "c": 0.1}
    assert preferred(["a", "b", "c"], exact, usual, 0.25) == ["a", "b", "c"]
    noisy = {name: values * RNG.uniform(0.1, 1.9, size=20) for name, values in exact.items()}
    assert preferred(["a", "b", "c"], noisy, usual, 0.25) == ["c", "b", "a"]
    assert preferred(["a", "b"], noisy, usual, 0.25) == ["b", "a"]


@pytest.mark.parametrize(
    ("losses", "usual"),
    [
        ([[0.1, 0.9], [0.9, 0.2]], {"a": 0.5, "b": None}),
        ([[0.1, 0.9], [0.9, 0.2]], {"a": 0.5}),
        ([[0.1], [0.9]], {"a": 0.5, "b": 0.0}),
        ([[0.0, 0.0], [0.9, 0.2]], {"a": 0.5, "b": 0.0}),
    ],
)
def test_the_order_stays_where_nothing_can_be_weighed(losses, usual):
    values = dict(zip("ab", np.array(losses), strict=True))
    assert preferred(["a", "b"], values, usual, 0.25) == ["a", "b"]


def test_all_methods_of_grades_have_a_standing():
    assert [m.name for m in METHODS if GRADES in m.forms and m.usual is None] == []


def tried(**losses):
    names = {"poly": "PRank, polynomial kernel", "ridge": "ridge", "constant": "constant"}
    trials = {
        names[key]: Trials(names[key], values[:, None], np.ones(10), np.ones(10))
        for key, values in losses.items()
    }
    methods = {name: method_named(name) for name in trials}
    return rank_rows(trials, methods, RANK_LOSS, 0.25, 1000), trials


def test_of_equals_one_that_does_well_elsewhere_is_advised():
    noise = 0.05 * ALTERNATING
    rows, trials = tried(ridge=0.3 - noise, poly=0.301 + noise, constant=0.9 + 0 * noise)
    assert [row.name for row in rows] == ["ridge", "PRank, polynomial kernel", "constant"]
    assert [row.name for row in _advised(rows, trials, 0.25)] == [
        "PRank, polynomial kernel",
        "ridge",
        "constant",
    ]


def test_what_is_surely_worse_is_not_advised():
    noise = 0.001 * ALTERNATING
    rows, trials = tried(ridge=0.3 - noise, poly=0.4 + noise, constant=0.9 + 0 * noise)
    assert _advised(rows, trials, 0.25) == rows


def test_where_the_constant_is_first_it_is_advised():
    noise = 0.05 * ALTERNATING
    rows, trials = tried(constant=0.3 + 0 * noise, poly=0.301 + noise, ridge=0.31 - noise)
    assert _advised(rows, trials, 0.25) == rows


def test_the_advice_says_that_another_has_the_better_mean():
    frame = pd.DataFrame(RNG.normal(size=(120, 3)), columns=["a", "b", "c"])
    frame["grade"] = np.digitize(frame["a"] + RNG.normal(size=120) / 2, [-1, 0, 1])
    names = ["constant", "ridge", "MPRank", "logistic regression"]
    found = compare(frame, methods=names, quick=True)
    first, second = found.rows[0].name, found.rows[1].name
    other = replace(found, best=second)
    assert other.advice[0].startswith(f"Use {second} (")
    gap = abs(found.rows[0].means[0] - found.rows[1].means[0])
    said = f"The mean of {first} is better by {gap:.3f}, which could be chance; on other tables "
    assert other.advice[1].startswith(f"{said}{second} did better")
    assert first not in other.advice[1].removeprefix(said)
