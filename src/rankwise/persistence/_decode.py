"""Values out of JSON and arrays that a stranger may have written.

Whatever is not of the form that `rankwise.persistence._encode` gives is a ValueError. No class is
imported but those of the registry, and none is called but them, with parameters that they accept.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator

from rankwise.persistence._archive import Archive, check_values, is_portable
from rankwise.persistence._encode import BITS, ROUTED, SPARSE, TYPES
from rankwise.persistence._registry import (
    STUMBLES,
    check_attributes,
    check_loaded,
    class_of,
    has_own_state,
)

# The memory of objects that are much larger than their JSON, in bytes.
_VALUE, _REQUEST = 250, 100_000
_MEMORY = {"RandomState": 10_000, "Generator": 10_000, **dict.fromkeys(SPARSE, 10_000)}
# To check these takes as long as to read this many bytes.
_CHECKS = {"sklearn.preprocessing.PolynomialFeatures": 100_000}
# More values of one hash in a set or dict are no accident: inserting n of them takes O(n^2).
_EQUAL_HASHES = 10
# A file does not decide how many processes start: more than this, and more than cores, is None.
_HARMLESS_JOBS = 8


class Decoder:
    """Turns the JSON of an archive into values, once.

    Parameters
    ----------
    archive : Archive
        Its arrays are read when they are first needed, and each once.

    Attributes
    ----------
    of_sklearn : bool
        Whether a class of scikit-learn was among the values.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._arrays: dict[str, NDArray[Any]] = {}
        self.of_sklearn = False
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "float": float,
            "bytes": bytes.fromhex,
            "list": self._sequence,
            "tuple": lambda content: tuple(self._sequence(content)),
            "set": lambda content: set(self._hashable(content)),
            "frozenset": lambda content: frozenset(self._hashable(content)),
            "dict": self._dict,
            "items": self._items,
            "slice": lambda content: slice(*self._sequence(content)),
            "range": self._range,
            "array": self._array,
            "objects": self._objects,
            "scalar": self._scalar,
            "dtype": self._dtype,
            "type": TYPES.__getitem__,
            "RandomState": self._random_state,
            "Generator": self._generator,
            "estimator": self._estimator,
            "record": self._record,
            **{name: partial(self._matrix, cls) for name, cls in SPARSE.items()},
        }

    def decode(self, given: Any) -> Any:
        """Return the value of some JSON."""
        if isinstance(given, list):
            return [self.decode(part) for part in given]
        if not isinstance(given, dict):
            if type(given) is int and given.bit_length() > BITS:
                raise ValueError(f"an integer has more than {BITS} bits")
            return given
        try:
            ((kind, content),) = given.items()
            decode = self._kinds[kind]
            self._archive.spend(_MEMORY.get(kind, 0))
            return decode(content)
        except STUMBLES as error:
            raise ValueError(f"{_short(given)} is not a valid value: {error}") from error

    def finish(self) -> None:
        """Raise if a value has used no array of the file."""
        if unused := self._archive.arrays.keys() - self._arrays.keys():
            raise ValueError(f"the array {min(unused)!r} belongs to nothing in the model")

    def _sequence(self, given: Any) -> list[Any]:
        if isinstance(given, list):
            return [self.decode(part) for part in given]
        ((kind, content),) = given.items()
        return {"numbers": self._numbers, "texts": self._texts}[kind](content)

    def _numbers(self, name: str) -> list[Any]:
        numbers = self._array(name)
        if numbers.ndim != 1 or numbers.dtype not in (np.float64, np.int64):
            raise ValueError(f"{_short(name)} is not a sequence of numbers")
        self._archive.spend(_VALUE * len(numbers))
        return numbers.tolist()

    def _texts(self, names: Any) -> list[str]:
        utf8, ends = map(self._array, names)
        if not (utf8.ndim == ends.ndim == 1 and utf8.dtype == np.uint8 and ends.dtype == np.int64):
            raise ValueError(f"{_short(names)} is not a sequence of strings")
        self._archive.spend(_VALUE * len(ends) + 8 * len(utf8))
        limits = np.concatenate([[0], ends])
        if (limits[1:] < limits[:-1]).any() or limits[-1] != len(utf8):
            raise ValueError(f"the strings of {_short(names)} do not end where they should")
        raw, places = utf8.tobytes(), limits.tolist()
        return [raw[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(places)]

    def _hashable(self, given: Any) -> list[Any]:
        values = self._sequence(given)
        equal = Counter(map(hash, values)).values()
        if max(equal, default=0) > _EQUAL_HASHES:
            raise ValueError(f"more than {_EQUAL_HASHES} values of a set or dict have one hash")
        if len(set(values)) < len(values):
            raise ValueError(f"{_short(given)} has a duplicated value")
        return values

    def _dict(self, given: Any) -> dict[str, Any]:
        return {name: self.decode(value) for name, value in given.items()}

    def _items(self, given: Any) -> dict[Any, Any]:
        keys, values = _parts(given, "keys", "values")
        return dict(zip(self._hashable(keys), self._sequence(values), strict=True))

    def _range(self, given: Any) -> range:
        found = range(*self._sequence(given))
        # whoever uses it makes an array of it
        self._archive.spend(8 * max(0, (found.stop - found.start) // found.step))
        return found

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            self._arrays[name] = self._archive.array(name)
        else:  # whoever uses it checks it again, which takes time
            self._archive.spend(self._arrays[name].nbytes // 16)
        return self._arrays[name]

    def _objects(self, given: Any) -> NDArray[Any]:
        shape, content = _parts(given, "shape", "values")
        values = self._sequence(content)
        return np.fromiter(values, dtype=object, count=len(values)).reshape(shape)

    def _scalar(self, given: Any) -> Any:
        dtype, raw = given
        array = np.frombuffer(bytes.fromhex(raw), self._dtype(dtype))
        check_values(array, f"the scalar {_short(given)}")
        (value,) = array.astype(array.dtype.newbyteorder("="))
        return value

    def _dtype(self, given: Any) -> np.dtype[Any]:
        if given != "|O" and not is_portable(given):
            raise ValueError(f"{_short(given)} is not a dtype")
        return np.dtype(given)

    def _matrix(self, cls: Any, given: Any) -> Any:
        *parts, shape = _parts(given, "data", "indices", "indptr", "shape")
        data, indices, indptr = map(self.decode, parts)
        good = data.dtype.kind in "biuf" and data.ndim == indices.ndim == indptr.ndim == 1
        good = good and {indices.dtype.str, indptr.dtype.str} <= {"<i4", "<i8"} and len(shape) == 2
        # SciPy does not look at these if the last one is 0
        ends = [indptr[0], indptr[-1], len(indices)]
        rising = not (indptr[1:] < indptr[:-1]).any()  # differences could overflow
        if not (good and rising) or ends != [0, len(data), len(data)]:
            raise ValueError("a sparse matrix is not valid: its arrays contradict each other")
        self._archive.spend(4 * (indices.nbytes + indptr.nbytes))
        try:
            found = cls((data, indices, indptr), shape=tuple(shape))
            found.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"a sparse matrix is not valid: {error}") from error
        found.indices, found.indptr = indices, indptr  # of the type that they had
        return found

    def _random_state(self, given: Any) -> np.random.RandomState:
        name, pos, has_gauss, gauss = _parts(given, "key", "pos", "has_gauss", "gauss")
        key = self._array(name)
        # NumPy would read the key at any position
        good = key.shape == (624,) and key.dtype == np.uint32 and type(pos) is int
        if not (good and 0 <= pos <= 624 and has_gauss in (0, 1)):
            raise ValueError("a RandomState is not valid")
        random = np.random.RandomState(0)
        random.set_state(("MT19937", key, pos, has_gauss, float.fromhex(gauss)))
        return random

    def _generator(self, given: Any) -> np.random.Generator:
        numbers = _parts(given, "state", "inc", "has_uint32", "uinteger")
        limits = (2**128, 2**128, 2, 2**32)
        if not all(type(n) is int and 0 <= n < m for n, m in zip(numbers, limits, strict=True)):
            raise ValueError("a Generator is not valid")
        bits = np.random.PCG64(0)
        state, inc, has_uint32, uinteger = numbers
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": state, "inc": inc},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }
        return np.random.Generator(bits)

    def _estimator(self, given: Any) -> BaseEstimator:
        name, params, learned, requests = _parts(given, "class", "params", "learned", "requests")
        cls: Any = class_of(name)
        if not issubclass(cls, BaseEstimator):
            raise ValueError(f"{name} is not an estimator")
        self.of_sklearn |= name.startswith("sklearn.")
        settings, attributes = self._dict(params), self._dict(learned)
        known = set(cls._get_param_names())
        if unknown := settings.keys() - known:
            raise ValueError(f"a {cls.__name__} has no parameter {_short(min(unknown))}")
        if both := attributes.keys() & {*known, "_metadata_request"}:
            raise ValueError(f"a {cls.__name__} can't have learned {_short(min(both))}")
        check_attributes(cls, set(attributes))
        self._archive.spend(_CHECKS.get(name, 0))
        most_jobs = max(_HARMLESS_JOBS, os.cpu_count() or 1)
        if settings.get("n_jobs") is not None and settings["n_jobs"] > most_jobs:
            settings["n_jobs"] = None
        model = cls(**settings)
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        vars(model).update(attributes)
        for method, request in requests.items():
            self._request(model, method, request)
        check_loaded(model)
        return model

    def _request(self, model: Any, method: str, request: dict[str, Any]) -> None:
        self._archive.spend(_REQUEST)
        if method not in ROUTED or not all(isinstance(v, bool | str) for v in request.values()):
            raise ValueError(f"{_short(request)} can't be requested of {_short(method)}")
        with config_context(enable_metadata_routing=True):
            getattr(model, f"set_{method}_request")(**request)

    def _record(self, given: Any) -> Any:
        name, content = _parts(given, "class", "fields")
        cls: Any = class_of(name)
        values = self._dict(content)
        if issubclass(cls, BaseEstimator):
            raise ValueError(f"{name} is not a record")
        check_attributes(cls, set(values))
        record = cls(**values) if issubclass(cls, tuple) else object.__new__(cls)
        if has_own_state(cls):
            record.__setstate__(values)
        elif not isinstance(record, tuple):
            for field, value in values.items():
                object.__setattr__(record, field, value)  # it may be frozen
        check_loaded(record)
        return record


def _parts(given: Any, *names: str) -> Iterable[Any]:
    """Return the values of an object that has exactly these names."""
    if given.keys() != set(names):
        raise ValueError(f"{_short(given)} should have {', '.join(names)}")
    return [given[name] for name in names]


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
