"""Random problems of a few rows, in which each call answers in finite numbers or raises properly.

Ties, constant columns, duplicated rows, queries of one row, weights of 0 and of any size, columns
far from 0 and of any scale: here a matrix is singular, a sum is 0 and a group is empty.
"""

import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from inspect import Parameter, getmembers, isgenerator, signature
from linecache import getline
from pathlib import Path
from re import sub
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgWarning
from sklearn.base import clone

from rankwise.testing._helpers import is_precomputed

# Numbers that may be infinite or NaN by the docstrings: cuts that tell missing values from others,
# differences across queries, and a gap that no float can hold.
_MAY_BE_INFINITE = {"cutpoints_", "leave_pair_out", "duality_gap_"}


def check_tiny_problems(estimator: Any, n_problems: int = 10) -> None:
    """Every public method answers in finite numbers or raises a ValueError on purpose.

    Parameters
    ----------
    estimator : estimator
        An unfitted instance; it is cloned, never changed.
    n_problems : int, default=10
        The number of random problems. The seed of each is in the message of a failure.
    """
    first = crc32(sub(r" at 0x\w+", "", str(estimator)).encode())
    for seed in range(first, first + n_problems):
        run_tiny_problem(estimator, seed)


def run_tiny_problem(estimator: Any, seed: int) -> None:
    """Call the public methods of an estimator with the random problem of a seed."""
    random = np.random.default_rng(seed)
    data = tiny_problem(random, precomputed=is_precomputed(estimator))
    if random.random() < 0.3 and "label_order" in estimator.get_params():
        estimator = clone(estimator).set_params(label_order=[0, 1, 2, 3])
    for learn in ("fit", "partial_fit", "fit_pairs"):
        if not hasattr(estimator, learn):
            continue
        model = clone(estimator)
        method = getattr(model, learn)
        given = _arguments(method, data)
        if given is None or answer(partial(method, **given), seed) is None:
            continue
        assert_finite(
            {k: v for k, v in vars(model).items() if k.endswith("_")}, f"seed {seed}: {learn}"
        )
        for name in _public_methods(model):
            method = getattr(model, name)
            given = _arguments(method, data)
            if given is not None:
                assert_finite({name: answer(partial(method, **given), seed)}, f"seed {seed}: ")


def answer(call: Callable[[], Any], seed: int) -> Any:
    """Return what a call returns, or None if it raises a ValueError on purpose.

    Other errors and NumPy's warnings pass through, with the seed as a note.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        # A regressor that is a part of a model may warn of dependent features.
        warnings.simplefilter("ignore", LinAlgWarning)
        try:
            result = call()
            return list(result) if isgenerator(result) else result
        except Exception as error:
            if _is_on_purpose(error):
                return None
            error.add_note(f"seed {seed}: {call}")
            raise


def assert_finite(values: Any, name: str) -> None:
    """Assert that all numbers are finite, also inside of dicts, lists and objects."""
    if isinstance(values, dict):
        for key, value in values.items():
            if key not in _MAY_BE_INFINITE:
                assert_finite(value, f"{name}.{key}")
    elif isinstance(values, list | tuple):
        assert_finite(dict(enumerate(values)), name)
    elif isinstance(values, np.ndarray | float) and np.asarray(values).dtype.kind == "f":
        assert np.isfinite(values).all(), f"{name} is {values}"
    elif is_dataclass(values) and not isinstance(values, type):
        assert_finite({f.name: getattr(values, f.name) for f in fields(values)}, name)


def tiny_problem(random: np.random.Generator, *, precomputed: bool = False) -> dict[str, Any]:
    """Return random arguments by name: rows, targets, queries, weights, pairs and scores."""
    m, d = int(random.integers(1, 7)), int(random.integers(1, 4))
    X = tiny_columns(random, m, d)
    if precomputed:
        X = X / max(1.0, np.abs(X).max())
        X = X @ X.T
    y = random.integers(0, int(random.integers(1, 5)), size=m)
    pairs = random.integers(0, m, size=(int(random.integers(1, 4)), 2))
    return {
        "X": X,
        "U": X,
        "V": X[::-1],
        "y": y,
        "qid": random.integers(0, 3, size=m) if random.random() < 0.5 else None,
        "sample_weight": tiny_weights(random, m) if random.random() < 0.6 else None,
        "pairs": pairs,
        "pair_weight": tiny_weights(random, len(pairs)) if random.random() < 0.5 else None,
        "classes": [0, 1, 2, 3],
    }


def tiny_columns(random: np.random.Generator, m: int, d: int) -> NDArray[np.float64]:
    """Return columns of few different numbers, of which some are constant, far from 0 or huge."""
    X = random.integers(-1, 3, size=(m, d)).astype(np.float64)
    if random.random() < 0.5:
        X += random.normal(size=(m, d))
    if random.random() < 0.3:
        X = X[random.integers(0, m, size=m)]
    if random.random() < 0.3:
        X[:, 0] = random.choice([0.0, 1.0, -3.5])
    if random.random() < 0.2:
        X += random.choice([1e6, 1e9, -1e12])
    if random.random() < 0.2:
        X *= 10.0 ** random.integers(-150, 151)
    return X


def tiny_weights(random: np.random.Generator, m: int) -> NDArray[np.float64]:
    """Return weights: integers, or of any size, with zeros among them."""
    weight = random.integers(0, 3, size=m).astype(np.float64)
    if random.random() < 0.4:
        weight *= 10.0 ** random.integers(-300, 301, size=m)
    return weight


def _public_methods(model: Any) -> Iterator[str]:
    """Yield the methods of an estimator, of scikit-learn's only ``score``."""
    for name, member in getmembers(type(model)):
        theirs = str(getattr(member, "__module__", "")).startswith("sklearn")
        if name.startswith("_") or not callable(member) or (theirs and name != "score"):
            continue
        if hasattr(model, name):
            yield name


def _arguments(method: Callable[..., Any], data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a method that are known, or None if one is missing."""
    parameters = signature(method).parameters.values()
    if any(p.default is Parameter.empty and p.name not in data for p in parameters):
        return None
    return {p.name: data[p.name] for p in parameters if p.name in data}


def _is_on_purpose(error: Exception) -> bool:
    """Whether a line raises a ValueError, other than in NumPy or SciPy unless in scikit-learn."""
    if not isinstance(error, ValueError) or isinstance(error, np.linalg.LinAlgError):
        return False
    frames = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    innermost = getline(*frames[-1]).strip()
    packages = {part for file, _ in frames for part in Path(file).parts}
    is_deep = not packages.isdisjoint({"numpy", "scipy"})
    return "sklearn" in packages or (innermost.startswith("raise") and not is_deep)
