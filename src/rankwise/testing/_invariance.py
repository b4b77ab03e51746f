"""Shifts and scales: what does not change a model on paper does not change it in floats."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankwise._core.ordinal import OrdinalMixin
from rankwise.testing._helpers import stream

Floats = NDArray[np.float64]
Parameters = dict[str, Any]

OFFSETS = (1e6, 1e8, 1e12)
# Powers of 2, which round nothing, near 1e-150, 1e-8, 1e8 and 1e150.
SCALES = (2.0**-498, 2.0**-27, 2.0**27, 2.0**498)
# What may be refused.
_FARTHEST = (OFFSETS[-1], SCALES[0], SCALES[-1])


class Change(NamedTuple):
    """A change of the data, and of the parameters with it, that leaves the order unchanged.

    Attributes
    ----------
    amounts : tuple of float
        The offsets or scales to try.
    rows, ratings : callables
        Return the changed X and y for an amount.
    parameters : callable
        Returns the parameters that change, for the parameters and an amount.
    """

    amounts: tuple[float, ...]
    rows: Callable[[Floats, float], Floats]
    ratings: Callable[[Floats, float], Floats]
    parameters: Callable[[Parameters, float], Parameters] = lambda _, __: {}


def _same(values: Floats, _: float) -> Floats:
    return values


def _plus(values: Floats, amount: float) -> Floats:
    return values + amount


def _times(values: Floats, amount: float) -> Floats:
    return values * amount


def _divide_gamma(p: Parameters, a: float) -> Parameters:
    """Return gammas for rows that were multiplied by a; that of None is 1 / 4 for the rows here."""
    if "gammas" in p:
        return {"gammas": [g / a**2 for g in p["gammas"] or [0.25]]}
    return {"gamma": (p["gamma"] or 0.25) / a**2}


def _divide_cost(p: Parameters, a: float) -> Parameters:
    return {"Cs": np.asarray(p["Cs"]) / a**2} if "Cs" in p else {"C": p["C"] / a**2}


def _scale_cost(p: Parameters, a: float) -> Parameters:
    """Return C, and epsilon, for ratings and scores that were multiplied by a."""
    more = {"epsilon": p["epsilon"] * a} if "epsilon" in p else {}
    return {"C": p["C"] * a ** (2 - p["power"]), **more}


CHANGES = {
    "shift of X": Change(OFFSETS, _plus, _same),
    "scale of X": Change(SCALES, _times, _same),
    "scale of X, gamma": Change(SCALES, _times, _same, _divide_gamma),
    "scale of X, C": Change(SCALES, _times, _same, _divide_cost),
    "shift of y": Change(OFFSETS, _same, _plus),
    "scale of y": Change(SCALES, _same, _times),
    "scale of y, C": Change(SCALES, _same, _times, _scale_cost),
}


def _kernel(p: Parameters) -> set[str]:
    """Return what a kernel makes invariant, for a model of differences of scores."""
    kernels = {
        "linear": {"shift of X", "scale of X, C"},
        "rbf": {"shift of X", "scale of X, gamma"},
        "poly": {"scale of X, gamma"},
    }
    return kernels.get(p["kernel"], set()) if isinstance(p["kernel"], str) else set()


def _online(p: Parameters) -> set[str]:
    """Return what a kernel makes invariant for a model of scores."""
    return _kernel(p) - {"scale of X, C"} if p["kernel"] != "linear" else set()


def _ratings(p: Parameters) -> set[str]:
    """Return what counts of ratings: their order, or differences."""
    if p.get("margin") == "magnitude":
        return {"shift of y", "scale of y, C"}
    return {"shift of y", "scale of y"}


_ORDER = {"shift of y", "scale of y"}
_COLUMNS = {"shift of X", "scale of X"}

# What holds on paper, by the name of the estimator and its parameters. Labels of the ordinal models
# are names, which `check_monotone_relabelling` looks at.
INVARIANCES: dict[str, Callable[[Parameters], set[str]]] = {
    "PRank": _online,
    "OAPRank": _online,
    "WidrowHoff": lambda p: (
        _online(p)
        if p["fit_intercept"] or p["step"] == "plain" or p["kernel"] != "linear"
        else {"scale of X"}
    ),
    "MulticlassPerceptron": lambda p: (
        _online(p) if p["fit_intercept"] or p["kernel"] != "linear" else {"scale of X"}
    ),
    "ThresholdRanker": lambda p: _COLUMNS if p["estimator"] is None else {"shift of X"},
    "MPRank": lambda p: _kernel(p) | _ORDER,
    "MPRankCV": lambda p: _kernel(p) | _ORDER,
    "SVRank": lambda p: _kernel(p) | {"shift of y", "scale of y, C"},
    "RankSVM": lambda p: _kernel(p) | _ratings(p),
    "TopPush": lambda p: _kernel(p) | _ORDER,
    "AccuracyAtTop": lambda p: _kernel(p) | _ORDER,
    # gains of NDCG are 2^y - 1
    "RankBoost": lambda p: _COLUMNS | (_ORDER if p["pair_weight"] != "ndcg" else set()),
    "PreferenceRanker": lambda p: (
        _ORDER | ({"shift of X"} if p["features"] == "difference" else set())
    ),
}


def invariance_checks(estimator: Any) -> list[Callable[[Any], None]]:
    """Return a check for each change that the estimator does not see on paper."""
    name = type(estimator).__name__
    declared = INVARIANCES[name](estimator.get_params(deep=False)) if name in INVARIANCES else set()
    return [_named_check(change) for change in CHANGES if change in declared]


def _named_check(name: str) -> Callable[[Any], None]:
    check = partial(check_invariance, change=CHANGES[name])
    check.__name__ = f"check_{name.replace(', ', '_and_').replace(' ', '_')}"  # type: ignore[attr-defined]
    return check


def check_invariance(estimator: Any, change: Change) -> None:
    """A changed problem has the same solution, or is refused with a sentence.

    Rows are in 64ths, which all offsets leave exact. A warning that the solver has not converged is
    a refusal, too.
    """
    X, y = stream(real=True)
    X = np.round(64 * X) / 64
    given = estimator.get_params(deep=False)
    expected, _ = _standard(clone(estimator).fit(X[:50], 1.0 * y[:50]), X)
    for amount in change.amounts:
        far, ratings = change.rows(X, amount), change.ratings(y.astype(np.float64), amount)
        changed = clone(estimator).set_params(**change.parameters(given, amount))
        for container in (np.asarray, sparse.csr_array):
            learned = _learn(clone(changed), container(far), ratings)
            if learned is None:
                assert amount in _FARTHEST, f"{amount} is not too far"
                continue
            said, rounding = learned
            if isinstance(estimator, OrdinalMixin):
                assert_array_equal(said, expected, err_msg=f"amount {amount}")
            else:
                allowed = 1e-3 + rounding
                assert_allclose(said, expected, atol=allowed, err_msg=f"amount {amount}")


def _learn(model: Any, rows: Any, y: Floats) -> tuple[Any, float] | None:
    """Return what is learned from the first 50 rows, or None if that is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return _standard(model.fit(rows[:50], y[:50]), rows)
        except (ValueError, ConvergenceWarning):
            return None


def _standard(model: Any, rows: Any) -> tuple[Any, float]:
    """Return labels, or scores of mean 0 and standard deviation 1, and how floats round these."""
    said = model.predict(rows)
    if isinstance(model, OrdinalMixin):
        return said, 0.0
    said = said / np.abs(said).max()
    spread = float(said.std()) or 1.0
    return (said - said.mean()) / spread, 2.0**-51 / spread
