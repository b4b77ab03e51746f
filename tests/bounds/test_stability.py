import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rankwise._core.kernels import Kernel
from rankwise.bounds import kernel_radius, stability_beta, stability_bound
from rankwise.magnitude import MPRank

GOOD = {"C": 0.3, "kappa": 1.5, "m": 900, "M": 2.0, "power": 2}


def test_the_printed_constants():
    C, k, m, M, R, delta = 0.3, 1.5, 900, 2.0, 0.7, 0.1
    tail = math.sqrt(2 / m * math.log(2 / delta))
    one = R + 8 * k**2 * C / m + 2 * (2 * k**2 * C + M) * tail
    two = R + 128 * k**2 * C * M**2 / m + 4 * M**2 * (16 * k**2 * C + 1) * tail
    for power, printed in ((1, one), (2, two)):
        given = {**GOOD, "power": power}
        bound = stability_bound(empirical=R, delta=delta, **given)
        assert_allclose(bound.value, printed)
        assert bound.pieces["beta"] == stability_beta(**given).value
        assert bound.trivial == (2 * M) ** power
        assert bound.vacuous == (bound.value >= bound.trivial)
        assert not stability_bound(empirical=R, delta=delta, **{**given, "m": 10**9}).vacuous


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_row_changes_a_pair_by_more_than_beta(kernel):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(60, 2))
    y = np.clip(X.sum(axis=1) + random.normal(0, 0.3, 60), -2, 2)
    m, C = len(y), 2.0
    full = MPRank(C, kernel=kernel).fit(X, y)
    said = [full.predict(X)]
    for k in range(m):
        rest = np.arange(m) != k
        # The objective of the smaller sample, divided by m^2 as in the proof.
        shrunk = C * ((m - 1) / m) ** 2
        said.append(MPRank(shrunk, kernel=kernel).fit(X[rest], y[rest]).predict(X))
    costs = [(np.subtract.outer(s - y, s - y)) ** 2 for s in said]
    changes = [np.abs(cost - costs[0]).max() for cost in costs[1:]]
    M = max(np.abs(s - y).max() for s in said)
    beta = stability_beta(C=C, kappa=kernel_radius(X, kernel=kernel), m=m, power=2, M=M)
    assert 0 < max(changes) <= beta.value


def test_radius():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for kernel in (Kernel("linear"), Kernel("poly", 0.5, 2, 3.0), Kernel("rbf"), Kernel("poly")):
        expected = math.sqrt(np.diagonal(kernel.gram(X)).max())
        assert_allclose(kernel_radius(X, **kernel._asdict()), expected)
        assert_allclose(kernel_radius(sparse.csr_array(X), **kernel._asdict()), expected)
        assert_allclose(kernel_radius(kernel.gram(X), kernel="precomputed"), expected)
    assert_allclose(kernel_radius(X, kernel=lambda A, B: A @ B.T), kernel_radius(X))
    with pytest.raises(ValueError, match="negative"):
        kernel_radius(X, kernel=lambda A, B: -(A @ B.T))
    for name, value in {"gamma": {1}, "degree": b"", "coef0": [[1], [2, 3]], "kernel": X}.items():
        with pytest.raises(ValueError, match=f"'{name}' parameter of kernel_radius"):
            kernel_radius(X, **{"kernel": "poly", name: value})
    with pytest.raises(ValueError, match=r"'kernel' .* Got 'sigmoid'"):
        kernel_radius(X, kernel="sigmoid")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0}, "C=0"),
        ({"kappa": -1}, "kappa=-1"),
        ({"M": math.nan}, "M=nan"),
        ({"m": 0}, "m=0"),
        ({"m": 2.5}, r"m=2\.5"),
        ({"power": 3}, "power=3"),
        ({"delta": 1}, "delta=1"),
        ({"empirical": -1}, "empirical=-1"),
        ({"cost": "hinge_magnitude"}, "jumps at a tie"),
        ({"cost": "square"}, "cost='square'"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        stability_bound(**{**GOOD, "empirical": 0.1, "delta": 0.1, **change})
