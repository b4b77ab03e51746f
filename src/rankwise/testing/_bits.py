"""What it means that two values are the same: of one type, and equal to the last bit."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values have one type and the same bits, all that they hold included.

    Of arrays, the memory order counts if both are contiguous: sums depend on it. Of a dict with
    texts for names, the order does not.
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, BaseEstimator):
        ours, theirs = dict(vars(a)), dict(vars(b))
        routed = [str(one.pop("_metadata_request", None)) for one in (ours, theirs)]
        return routed[0] == routed[1] and same_bits(ours, theirs)
    if isinstance(a, np.ndarray):
        return _same_arrays(a, b)
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return (a == b and np.signbit(a) == np.signbit(b)) or (a != a and b != b)
    if sparse.issparse(a):
        parts = ("data", "indices", "indptr", "shape")
        return all(same_bits(getattr(a, part), getattr(b, part)) for part in parts)
    if isinstance(a, np.random.RandomState):
        return same_bits(a.get_state(legacy=False), b.get_state(legacy=False))
    if isinstance(a, np.random.Generator):
        return same_bits(a.bit_generator.state, b.bit_generator.state)
    if isinstance(a, dict):
        if all(isinstance(name, str) for name in a):
            return a.keys() == b.keys() and all(same_bits(a[k], b[k]) for k in a)
        return same_bits(list(a.items()), list(b.items()))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if is_dataclass(a) and not isinstance(a, type):
        return all(same_bits(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b)


def _same_arrays(a: Any, b: Any) -> bool:
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.hasobject:
        return same_bits(a.ravel().tolist(), b.ravel().tolist())
    layouts = [(x.flags.c_contiguous, x.flags.f_contiguous) for x in (a, b)]
    alike = layouts[0] == layouts[1] or not (a.flags.forc and b.flags.forc)
    return alike and a.tobytes() == b.tobytes()
