"""What writers and readers of values share.

A value is JSON if it is None, a truth value, a whole number, a finite float, a text or a list.
Anything else is an object with one name, its kind:

==================  ================================================================================
``float``           "nan", "inf" or "-inf"
``bytes``           hexadecimal digits
``tuple``           a sequence; so are ``set`` and ``frozenset``
``dict``            an object, if all names are texts; ``items``: ``keys`` and ``values``, sequences
``slice, range``    three numbers
``array``           the name of a member
``objects``         an array of Python's objects: ``shape`` and ``values``, a sequence
``scalar``          dtype and bytes of a number of NumPy's
``dtype, type``     the name of a type
``csr_array, ...``  ``data``, ``indices``, ``indptr`` and ``shape``
``RandomState``     the state of NumPy's Mersenne twister; ``Generator``: of PCG64
``estimator``       ``class``, ``params``, ``learned`` and what metadata it ``requests``
``record``          ``class`` and ``fields``
==================  ================================================================================

A sequence is a list; or, if it is long, ``{"numbers": array}`` or ``{"texts": [utf8, ends]}``: the
texts as UTF-8 one after the other, and where each of them ends.
"""

from typing import Any, Final

import numpy as np
from scipy import sparse

# A sequence of more values of one type is written as an array.
LONG: Final = 32
# Objects in objects, on the way to any value.
DEEPEST: Final = 24
# Whole numbers have at most so many bits.
BITS: Final = 4096

TYPES: Final[dict[str, Any]] = {
    **{name: getattr(np, name) for name in ("float16", "float32", "float64")},
    **{name: getattr(np, name) for name in ("int8", "int16", "int32", "int64")},
    **{name: getattr(np, name) for name in ("uint8", "uint16", "uint32", "uint64")},
    "bool_": np.bool_,
    **{kind.__name__: kind for kind in (bool, int, float, str, object)},
}
SPARSE: Final[dict[str, Any]] = {
    name: getattr(sparse, name) for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
}
# What scikit-learn can be asked to route, by method.
ROUTED: Final = (
    "fit",
    "partial_fit",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score",
    "transform",
    "inverse_transform",
)
