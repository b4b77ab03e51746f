"""The same call twice gives the same bits, wherever arrays lie and whatever memory held before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise.testing._bits import same_bits
from rankwise.testing._helpers import named, queries, stream
from rankwise.testing._robustness import rows_for, say


def check_same_bits_twice(estimator: Any, n_fits: int = 4) -> None:
    """Repeated fits and predictions are equal bit for bit, in any place in memory."""
    X, y = stream(real=True)
    random = np.random.default_rng(0)
    rows, qid, weight = rows_for(estimator, X), queries(len(y)), random.random(len(y)) + 0.5
    seed = {"random_state": 0} if "random_state" in estimator.get_params() else {}
    for weighted in (False, True):
        expected: tuple[Any, Any] | None = None
        for _ in range(n_fits):
            model = clone(estimator).set_params(**seed)
            given = named(model.fit, _moved(qid, random), _moved(weight, random))
            with _disturbed_memory(random):
                model.fit(_moved(rows, random), _moved(y, random), **(given if weighted else {}))
                found = model, say(model, _moved(rows, random))
            expected = expected or found
            assert same_bits(found, expected)


def _moved(array: NDArray[Any], random: np.random.Generator) -> NDArray[Any]:
    """Return a copy that begins at any multiple of 8 bytes."""
    memory = np.empty(array.nbytes + 64, dtype=np.uint8)
    start = 8 * int(random.integers(0, 8))
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


@contextmanager
def _disturbed_memory(random: np.random.Generator) -> Iterator[None]:
    """Keep blocks of memory of any size, after others that held NaN were freed."""
    sizes = random.integers(1, 2000, size=200)
    kept = [np.full(size, np.nan) for size in sizes][::2]
    yield
    kept.clear()
