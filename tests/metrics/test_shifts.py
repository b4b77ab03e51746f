"""Measures under a shift or a scale of targets and scores: what is the same on paper is so here."""

from functools import partial
from inspect import signature

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankwise import metrics
from rankwise.metrics.lists import LIST_MEASURES

OFFSETS = [1e6, 1e8, 1e12, -1e12]
# Powers of 2, which round nothing, near 1e-150, 1e-8, 1e8 and 1e150.
SCALES = [2.0**-498, 2.0**-27, 2.0**27, 2.0**498]


def difference(y, s, **more):
    return metrics.auc_difference_test(y, s, s[::-1].copy(), **more)


# Measures of the order of the scores alone.
OF_ORDER = {
    "misranking": metrics.pairwise_misranking_loss,
    "misranking, by magnitude": partial(metrics.pairwise_misranking_loss, pair_weight="magnitude"),
    "pair_accuracy": metrics.pair_accuracy_score,
    "pair_accuracy_interval": metrics.pair_accuracy_interval,
}
# The same for two classes.
OF_CLASSES = {
    "auc": metrics.auc_score,
    "auc_interval": metrics.auc_interval,
    "auc_difference": difference,
    "positives_at_top": metrics.positives_at_top_score,
    "positives_at_top_interval": metrics.positives_at_top_interval,
    "precision_at_top": partial(metrics.precision_at_top_score, tau=0.3),
    "precision_at_top_interval": partial(metrics.precision_at_top_interval, tau=0.3),
    "partial_auc": partial(metrics.partial_auc_score, max_fpr=0.3),
    "partial_auc_interval": partial(metrics.partial_auc_interval, max_fpr=0.3),
}
# The same for gains, which a shift of the targets changes.
OF_GAINS = LIST_MEASURES
# Measures of differences: which, and the power of a scale that they are multiplied by.
OF_DIFFERENCES = {
    **{f"magnitude {n}": (partial(metrics.magnitude_loss, power=n), n) for n in (1, 2)},
    **{f"hinge_rank {n}": (partial(metrics.hinge_rank_loss, power=n), n) for n in (1, 2)},
    **{f"hinge_magnitude {n}": (partial(metrics.hinge_magnitude_loss, power=n), n) for n in (1, 2)},
    **{f"epsilon {n}": (partial(metrics.epsilon_insensitive_loss, power=n), None) for n in (1, 2)},
    "exponential": (metrics.exponential_pair_loss, None),
    "exponential, by magnitude": (
        partial(metrics.exponential_pair_loss, pair_weight="magnitude"),
        None,
    ),
}
SHIFTED = OF_ORDER | {name: measure for name, (measure, _) in OF_DIFFERENCES.items()}


def rows(queries, weights, *, classes=False, m=90):
    """Return targets and scores in 64ths, which every offset leaves exact."""
    random = np.random.default_rng(3)
    y = (random.integers(0, 2, m) if classes else random.integers(0, 5, m)).astype(float)
    s = np.round(64 * (0.5 * y + random.normal(size=m))) / 64
    more = {"qid": random.integers(0, 4, m)} if queries else {}
    return y, s, more | ({"sample_weight": random.integers(1, 4, m)} if weights else {})


def value(measure, y, s, more):
    taken = signature(measure).parameters
    named = {k: v for k, v in more.items() if k in taken or "more" in taken}
    return np.array(measure(y, s, **named), dtype=float)


def test_every_measure_of_scores_is_in_a_table():
    tables = {**OF_ORDER, **OF_CLASSES, **OF_GAINS, **SHIFTED}
    named = {getattr(measure, "func", measure).__name__ for measure in tables.values()}
    scored = {
        name
        for name in metrics.__all__
        if callable(getattr(metrics, name))
        and list(signature(getattr(metrics, name)).parameters)[:2] == ["y_true", "y_score"]
    }
    assert scored <= named


@pytest.mark.parametrize("options", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", SHIFTED)
def test_origins(name, offset, options):
    y, s, more = rows(*options)
    expected = value(SHIFTED[name], y, s, more)
    own = offset * (1 + more.get("qid", 0))
    for far, scores in ((y + own, s), (y, s - 3 * own), (y - own, s + 2 * own)):
        assert_allclose(value(SHIFTED[name], far, scores, more), expected, rtol=1e-12)


@pytest.mark.parametrize("options", [(0, 0), (1, 0)])
@pytest.mark.parametrize("name", {**OF_CLASSES, **OF_GAINS})
def test_any_rising_function_of_the_scores(name, options):
    measure = {**OF_CLASSES, **OF_GAINS}[name]
    y, s, more = rows(*options, classes=True)
    expected = value(measure, y, s, more)
    for offset in OFFSETS:
        assert_allclose(value(measure, y, s + offset, more), expected)
    for scale in SCALES:
        assert_allclose(value(measure, y, scale * s, more), expected)
        if name in OF_CLASSES:
            assert_allclose(value(measure, scale * y, s, more), expected)
            assert_allclose(value(measure, y + min(scale, 1e12), s, more), expected)


@pytest.mark.parametrize("options", [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("scale", SCALES)
def test_scales(scale, options):
    y, s, more = rows(*options)
    for measure, power in OF_DIFFERENCES.values():
        if power is not None:
            expected = value(measure, y, s, more) * scale**power
            assert_allclose(value(measure, scale * y, scale * s, more), expected, rtol=1e-12)
    for measure in OF_ORDER.values():
        expected = value(measure, y, s, more)
        for target, scores in ((scale * y, s), (y, scale * s)):
            assert_allclose(value(measure, target, scores, more), expected, rtol=1e-12)
    expected = metrics.epsilon_insensitive_loss(y, s, epsilon=0.5, power=2, **more)
    scaled = metrics.epsilon_insensitive_loss(
        scale * y, scale * s, epsilon=0.5 * scale, power=2, **more
    )
    assert_allclose(scaled, expected * scale**2, rtol=1e-12)
    weight = {**more, "sample_weight": scale * np.asarray(more.get("sample_weight", 1 + 0 * y))}
    for measure in SHIFTED.values():
        assert_allclose(value(measure, y, s, weight), value(measure, y, s, more), rtol=1e-12)


def test_integers_that_no_float_can_hold():
    y, s = np.array([1, 2, 4]), np.array([1, 2, 3])
    for far in (2**53, 2**60, -(2**61)):
        for measure in (metrics.magnitude_loss, metrics.pairwise_misranking_loss):
            assert measure(y + far, s) == measure(y, s + far) == measure(y, s)
    assert metrics.pairwise_misranking_loss(np.array([0, 2**64 - 1], np.uint64), [1, 2]) == 0


@pytest.mark.parametrize("offset", OFFSETS)
def test_mean_interval(offset):
    _, s, _ = rows(0, 0)
    mean, half = metrics.mean_interval(s + offset)
    expected = metrics.mean_interval(s)
    assert_allclose(mean - offset, expected[0], atol=2.0**-52 * abs(offset))
    assert_allclose(half, expected[1], rtol=1e-8)
    for scale in SCALES:
        assert_allclose(
            metrics.mean_interval(scale * s), scale * np.array(metrics.mean_interval(s))
        )


def test_one_huge_integer_is_not_a_column():
    with pytest.raises(ValueError, match="y_true"):
        metrics.hinge_rank_loss(2**63 - 1, [0.5, 1.0])
