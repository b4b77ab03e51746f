"""Values out of JSON and arrays that a stranger may have written.

Whatever is not of the form that `rankwise.persistence._encode` gives is a ValueError. No class is
imported but those of the registry, and none is called but them, with parameters that they accept.
"""

import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator

from rankwise.persistence._archive import Archive, is_portable
from rankwise.persistence._kinds import BITS, ROUTED, SPARSE, TYPES
from rankwise.persistence._registry import (
    check_attributes,
    check_loaded,
    class_of,
    is_sklearn,
    set_state,
)

# What objects take that are much larger than their JSON, in bytes.
_VALUE, _RANDOM, _MATRIX, _REQUESTS = 250, 10_000, 10_000, 100_000
_HEX = re.compile(r"([0-9a-f]{2})*", re.ASCII)


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
            "float": self._float,
            "bytes": self._bytes,
            "list": self._sequence,
            "tuple": lambda given: tuple(self._sequence(given)),
            "set": lambda given: set(self._hashable(given)),
            "frozenset": lambda given: frozenset(self._hashable(given)),
            "dict": self._dict,
            "items": self._items,
            "slice": lambda given: slice(*self._three(given)),
            "range": self._range,
            "array": self._array,
            "objects": self._objects,
            "scalar": self._scalar,
            "dtype": self._dtype,
            "type": self._type,
            "RandomState": self._random_state,
            "Generator": self._generator,
            "estimator": self._estimator,
            "record": self._record,
            **{name: self._matrix_of(cls) for name, cls in SPARSE.items()},
        }

    def decode(self, given: Any) -> Any:
        """Return the value of some JSON."""
        if isinstance(given, list):
            return [self.decode(part) for part in given]
        if not isinstance(given, dict):
            if type(given) is int and given.bit_length() > BITS:
                raise ValueError(f"a number has more than {BITS} bits")
            return given
        if len(given) != 1 or (kind := next(iter(given))) not in self._kinds:
            raise ValueError(f"{_short(list(given))} is no kind of value")
        return self._kinds[kind](given[kind])

    def finish(self) -> None:
        """Refuse arrays that no value has used."""
        if unused := self._archive.arrays.keys() - self._arrays.keys():
            raise ValueError(f"the array {min(unused)!r} belongs to nothing in the model")

    def _float(self, given: Any) -> float:
        if given not in ("nan", "inf", "-inf"):
            raise ValueError(f"{_short(given)} is no float")
        return float(given)

    def _bytes(self, given: Any) -> bytes:
        if not (isinstance(given, str) and _HEX.fullmatch(given)):
            raise ValueError(f"{_short(given)} are no bytes")
        return bytes.fromhex(given)

    def _sequence(self, given: Any) -> list[Any]:
        if isinstance(given, list):
            return [self.decode(part) for part in given]
        if isinstance(given, dict) and len(given) == 1:
            if "numbers" in given:
                return self._numbers(given["numbers"])
            if "texts" in given:
                return self._texts(given["texts"])
        raise ValueError(f"{_short(given)} is no sequence")

    def _numbers(self, given: Any) -> list[Any]:
        numbers = self._array(given)
        if numbers.ndim != 1 or numbers.dtype not in (np.float64, np.int64):
            raise ValueError(f"{_short(given)} is no sequence of numbers")
        self._archive.spend(_VALUE * len(numbers))
        return numbers.tolist()

    def _texts(self, given: Any) -> list[str]:
        if not (isinstance(given, list) and len(given) == 2):
            raise ValueError(f"{_short(given)} is no sequence of texts")
        utf8, ends = self._array(given[0]), self._array(given[1])
        if {utf8.ndim, ends.ndim} != {1} or utf8.dtype != np.uint8 or ends.dtype != np.int64:
            raise ValueError(f"{_short(given)} is no sequence of texts")
        self._archive.spend(_VALUE * len(ends) + 8 * len(utf8))
        starts = np.concatenate([[0], ends[:-1]])
        if (starts > ends).any() or (ends[-1] if len(ends) else 0) != len(utf8):
            raise ValueError(f"the texts of {_short(given)} do not end where they should")
        raw = utf8.tobytes()
        return [
            raw[a:b].decode("utf-8", "surrogatepass")
            for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def _hashable(self, given: Any) -> list[Any]:
        values = self._sequence(given)
        try:
            distinct = len(set(values)) == len(values)
        except TypeError as error:
            raise ValueError(f"{_short(given)} can't be a set or the names of a dict") from error
        if not distinct:
            raise ValueError(f"{_short(given)} has a value twice")
        return values

    def _dict(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise ValueError(f"{_short(given)} is no dict")
        return {name: self.decode(value) for name, value in given.items()}

    def _items(self, given: Any) -> dict[Any, Any]:
        keys, values = _parts(given, "keys", "values")
        names, held = self._hashable(keys), self._sequence(values)
        if len(names) != len(held):
            raise ValueError(f"{len(names)} names do not go with {len(held)} values")
        return dict(zip(names, held, strict=True))

    def _three(self, given: Any) -> list[Any]:
        if not (isinstance(given, list) and len(given) == 3):
            raise ValueError(f"{_short(given)} are not start, stop and step")
        return [self.decode(part) for part in given]

    def _range(self, given: Any) -> range:
        numbers = self._three(given)
        if any(type(number) is not int for number in numbers) or not numbers[2]:
            raise ValueError(f"{_short(given)} is no range")
        # whoever uses it makes an array of it
        start, stop, step = numbers
        self._archive.spend(8 * max(0, (stop - start) // step))
        return range(*numbers)

    def _array(self, given: Any) -> NDArray[Any]:
        if not (isinstance(given, str) and given in self._archive.arrays):
            raise ValueError(f"there is no array {_short(given)}")
        if given not in self._arrays:
            self._arrays[given] = self._archive.array(given)
        return self._arrays[given]

    def _objects(self, given: Any) -> NDArray[Any]:
        lengths, values = _parts(given, "shape", "values")
        shape, held = _shape(lengths), self._sequence(values)
        if prod(shape) != len(held):
            raise ValueError(f"{len(held)} objects do not have the shape {shape}")
        array = np.empty(len(held), dtype=object)
        for place, value in enumerate(held):
            array[place] = value
        return array.reshape(shape)

    def _scalar(self, given: Any) -> Any:
        good = isinstance(given, list) and len(given) == 2 and isinstance(given[0], str)
        if not (good and is_portable(given[0])):
            raise ValueError(f"{_short(given)} is no number of NumPy's")
        dtype, raw = np.dtype(given[0]), self._bytes(given[1])
        if len(raw) != dtype.itemsize:
            raise ValueError(f"{_short(given)} has not the bytes of a {dtype}")
        if dtype.kind == "b" and raw not in (b"\0", b"\1"):
            raise ValueError(f"{_short(given)} is neither true nor false")
        if dtype.kind == "U":
            return np.str_(raw.decode("utf-32-le", "surrogatepass").rstrip("\0"))
        return np.frombuffer(raw, dtype).astype(dtype.newbyteorder("="))[0]

    def _dtype(self, given: Any) -> np.dtype[Any]:
        if not (isinstance(given, str) and (given == "|O" or is_portable(given))):
            raise ValueError(f"{_short(given)} is no dtype")
        return np.dtype(given)

    def _type(self, given: Any) -> Any:
        if not (isinstance(given, str) and given in TYPES):
            raise ValueError(f"{_short(given)} is no type")
        return TYPES[given]

    def _matrix_of(self, cls: Any) -> Callable[[Any], Any]:
        def matrix(given: Any) -> Any:
            names = ("data", "indices", "indptr")
            *members, lengths = _parts(given, *names, "shape")
            data, indices, indptr = (self.decode(member) for member in members)
            shape = _shape(lengths)
            good = isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and len(shape) == 2
            for index in (indices, indptr):
                whole = isinstance(index, np.ndarray) and index.dtype in (np.int32, np.int64)
                good = good and whole and index.ndim == 1
            if not good:
                raise ValueError(f"{_short(given)} is no sparse matrix")
            # SciPy does not look at these if the last one is 0
            ends = [0, len(data), len(data)]
            rising = len(indptr) and not (np.diff(indptr) < 0).any()
            if not rising or [indptr[0], indptr[-1], len(indices)] != ends:
                raise ValueError("a sparse matrix is not valid: its arrays contradict each other")
            self._archive.spend(_MATRIX + 4 * (indices.nbytes + indptr.nbytes))
            try:
                found = cls((data, indices, indptr), shape=shape)
                found.check_format(full_check=True)
            except (ValueError, TypeError, OverflowError) as error:
                raise ValueError(f"a sparse matrix is not valid: {error}") from error
            found.indices, found.indptr = indices, indptr  # of the type that they had
            return found

        return matrix

    def _random_state(self, given: Any) -> np.random.RandomState:
        self._archive.spend(_RANDOM)
        name, pos, has_gauss, gauss = _parts(given, "key", "pos", "has_gauss", "gauss")
        key = self._array(name)
        # NumPy would read the key at any place that it is told
        good = key.shape == (624,) and key.dtype == np.uint32
        good = good and type(pos) is int and 0 <= pos <= 624
        if not (good and type(has_gauss) is int and has_gauss in (0, 1)):
            raise ValueError("a RandomState is not valid")
        try:
            last = float.fromhex(gauss)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError("a RandomState is not valid") from error
        random = np.random.RandomState(0)
        random.set_state(("MT19937", key, pos, has_gauss, last))
        return random

    def _generator(self, given: Any) -> np.random.Generator:
        self._archive.spend(_RANDOM)
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
        cls = self._class(name)
        if not issubclass(cls, BaseEstimator):
            raise ValueError(f"{name} is no estimator")
        self.of_sklearn |= is_sklearn(name)
        settings, attributes = self._dict(params), self._dict(learned)
        known = set(cls._get_param_names())
        if unknown := settings.keys() - known:
            raise ValueError(f"a {cls.__name__} has no parameter {_short(min(unknown))}")
        if both := attributes.keys() & {*known, "_metadata_request"}:
            raise ValueError(f"a {cls.__name__} can't have learned {_short(min(both))}")
        check_attributes(cls, set(attributes))
        try:
            model = cls(**settings)
        except TypeError as error:
            raise ValueError(f"a {cls.__name__} can't be made: {error}") from error
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        vars(model).update(attributes)
        self._request(model, requests)
        check_loaded(model)
        return model

    def _request(self, model: Any, given: Any) -> None:
        if not isinstance(given, dict):
            raise ValueError(f"{_short(given)} are no requests")
        for method, wanted in given.items():
            self._archive.spend(_REQUESTS)
            ask = getattr(model, f"set_{method}_request", None) if method in ROUTED else None
            values = wanted.values() if isinstance(wanted, dict) else [None]
            if ask is None or not all(isinstance(value, bool | str) for value in values):
                raise ValueError(f"{_short(given)} can't be requested")
            try:
                with config_context(enable_metadata_routing=True):
                    ask(**wanted)
            except TypeError as error:
                raise ValueError(f"{_short(given)} can't be requested: {error}") from error

    def _record(self, given: Any) -> Any:
        name, fields = _parts(given, "class", "fields")
        cls, values = self._class(name), self._dict(fields)
        if issubclass(cls, BaseEstimator):
            raise ValueError(f"{name} is no record")
        check_attributes(cls, set(values))
        if issubclass(cls, tuple):
            record = cls(**values)
        else:
            record = object.__new__(cls)
            set_state(record, values)
        check_loaded(record)
        return record

    def _class(self, name: Any) -> Any:
        if not isinstance(name, str):
            raise ValueError(f"{_short(name)} is no name of a class")
        return class_of(name)


def _parts(given: Any, *names: str) -> list[Any]:
    """Return the values of an object that has exactly these names."""
    if not (isinstance(given, dict) and given.keys() == set(names)):
        raise ValueError(f"{_short(given)} should have {', '.join(names)}")
    return [given[name] for name in names]


def _shape(given: Any) -> tuple[int, ...]:
    lengths = isinstance(given, list) and all(type(n) is int and 0 <= n < 2**62 for n in given)
    if not lengths or len(given) > 8:
        raise ValueError(f"{_short(given)} is no shape")
    return tuple(given)


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
