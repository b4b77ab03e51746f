"""Values as JSON and arrays.

A value is JSON if it is None, a boolean, an integer, a finite float, a string or a list.
Anything else is an object with one name, its kind:

==================  ================================================================================
``float``           "nan", "inf" or "-inf"
``bytes``           hexadecimal digits
``tuple``           a sequence; so are ``set`` and ``frozenset``
``dict``            an object, if all keys are strings; ``items``: sequences ``keys``, ``values``
``slice, range``    three numbers
``array``           the name of a member
``objects``         an array of Python's objects: ``shape`` and ``values``, a sequence
``scalar``          dtype and bytes of a NumPy scalar
``dtype, type``     the name of a type
``csr_array, ...``  ``data``, ``indices``, ``indptr`` and ``shape``
``RandomState``     the state of NumPy's Mersenne twister; ``Generator``: of PCG64
``estimator``       ``class``, ``params``, ``learned`` and what metadata it ``requests``
``record``          ``class`` and ``fields``
==================  ================================================================================

A sequence is a list; or, if it is long, ``{"numbers": array}`` or ``{"texts": [utf8, ends]}``: the
strings as UTF-8 one after the other, and where each of them ends.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from inspect import getattr_static
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from rankwise.persistence._archive import MAX_NAME, is_portable, portable
from rankwise.persistence._registry import (
    check_attributes,
    check_loaded,
    has_own_state,
    name_of,
    savable_steps,
)

Path = tuple[str, ...]

# A sequence of more values of one type is written as an array.
LONG: Final = 32
# Objects in objects, on the way to any value.
DEEPEST: Final = 24
# The most bits of an integer.
BITS: Final = 4096
_NUMPY_TYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_"
TYPES: Final[dict[str, Any]] = {
    **{name: getattr(np, name) for name in _NUMPY_TYPES.split()},
    **{kind.__name__: kind for kind in (bool, int, float, str, object)},
}
SPARSE: Final[dict[str, Any]] = {
    name: getattr(sparse, name) for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")
}
# Methods whose metadata scikit-learn routes.
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


class Encoder:
    """Turns values into JSON, and gathers their arrays.

    Attributes
    ----------
    arrays : dict of str to ndarray
        Arrays by the names that the JSON has for them. One that occurs twice is kept once, and is
        one array again when it is loaded.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._known: dict[int, tuple[Any, Any]] = {}
        self._kinds: dict[type, Callable[[Any, Path], Any]] = {
            float: lambda value, _: repr(value),
            bytes: lambda value, _: value.hex(),
            tuple: self._tuple,
            set: self._set,
            frozenset: self._set,
            slice: self._limits,
            range: self._limits,
            np.random.RandomState: self._random_state,
            np.random.Generator: self._generator,
            **dict.fromkeys(SPARSE.values(), self._matrix),
        }

    def encode(self, value: Any, path: Path = ()) -> Any:
        """Return a value as JSON; ``path`` says where it is.

        Raises
        ------
        ValueError
            If it, or a value inside of it, is of a kind that a file can't hold.
        """
        if len(path) > DEEPEST:
            raise ValueError(f"{_where(path[:4])} holds objects that are nested too deep")
        kind = type(value)
        if kind is int and value.bit_length() > BITS:
            raise ValueError(f"{_where(path)} is an integer of more than {BITS} bits")
        if value is None or kind in (bool, str, int) or (kind is float and np.isfinite(value)):
            return value
        if kind is list:
            encoded = self._sequence(value, path)
            return encoded if isinstance(encoded, list) else {"list": encoded}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, path)
        name, content = self._content(value, kind, path)
        return {name: content}

    def _content(self, value: Any, kind: type, path: Path) -> tuple[str, Any]:
        """Return the kind of a value, and what the file has of it."""
        name = kind.__name__
        if isinstance(value, BaseEstimator):
            return "estimator", self._estimator(value, path)
        if isinstance(value, np.generic):
            array = portable(np.asarray(value), _where(path))
            return "scalar", [array.dtype.str, array.tobytes().hex()]
        if isinstance(value, np.dtype) and (value.str == "|O" or is_portable(value.str)):
            return "dtype", value.str
        if isinstance(value, type) and TYPES.get(value.__name__, kind) is value:
            return "type", value.__name__
        if kind is dict:
            return self._dict(value, path)
        if kind in self._kinds:
            return name, self._kinds[kind](value, path)
        if (known := name_of(kind)) is not None:
            return "record", {"class": known, "fields": self._fields(value, path)}
        raise ValueError(_refusal(value, path))

    def _tuple(self, value: tuple[Any, ...], path: Path) -> Any:
        # ("scaler", StandardScaler()) is called by its name, and not by a number
        named = len(value) > 1 and isinstance(value[0], str) and path[-1:] == (value[0],)
        return self._sequence(value, path, numbered=not named)

    def _set(self, value: Any, path: Path) -> Any:
        return self._sequence(sorted(value, key=lambda v: (type(v).__name__, repr(v))), path)

    def _limits(self, value: Any, path: Path) -> list[Any]:
        limits = (value.start, value.stop, value.step)
        return [self.encode(number, (*path, "slice")) for number in limits]

    def _matrix(self, value: Any, path: Path) -> dict[str, Any]:
        parts = ("data", "indices", "indptr")
        held = {part: self._array(getattr(value, part), (*path, part)) for part in parts}
        return {**held, "shape": [int(n) for n in value.shape]}

    def _sequence(
        self, values: Sequence[Any], path: Path, *, numbered: bool = True
    ) -> list[Any] | dict[str, Any]:
        """Return values as a list, or packed if they are many and of one type."""
        kinds = set(map(type, values)) if len(values) > LONG else set()
        if kinds == {str}:
            raw = [text.encode("utf-8", "surrogatepass") for text in values]
            ends = np.cumsum([len(text) for text in raw], dtype=np.int64)
            utf8 = np.frombuffer(b"".join(raw), dtype=np.uint8)
            return {"texts": [self._add(utf8, (*path, "utf8")), self._add(ends, (*path, "ends"))]}
        if kinds == {float} or (kinds == {int} and -(2**63) <= min(values) <= max(values) < 2**63):
            return {"numbers": self._add(np.array(values, dtype=kinds.pop()), path)}
        return [
            self.encode(value, (*path, _label(value, number)) if numbered else path)
            for number, value in enumerate(values)
        ]

    def _dict(self, value: dict[Any, Any], path: Path) -> tuple[str, Any]:
        if len(value) <= LONG and all(type(key) is str for key in value):
            return "dict", self._named(value, path)
        keys = self._sequence(list(value), (*path, "keys"))
        values = self._sequence(list(value.values()), (*path, "values"))
        return "items", {"keys": keys, "values": values}

    def _named(self, values: dict[str, Any], path: Path) -> dict[str, Any]:
        return {name: self.encode(value, (*path, name)) for name, value in values.items()}

    def _array(self, value: NDArray[Any], path: Path) -> dict[str, Any]:
        if id(value) not in self._known:
            if value.dtype == object:
                values = self._sequence(value.ravel().tolist(), path)
                encoded: Any = {"objects": {"shape": list(value.shape), "values": values}}
            else:
                encoded = {"array": self._add(value, path)}
            # the value is kept, too: its id could be that of another one later
            self._known[id(value)] = (value, encoded)
        return self._known[id(value)][1]

    def _add(self, array: NDArray[Any], path: Path) -> str:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", ".".join(path)).lstrip(".-") or "value"
        stem = name = stem[: MAX_NAME - 12]  # a number may follow
        number = 1
        while name in self.arrays:
            number += 1
            name = f"{stem}-{number}"
        self.arrays[name] = portable(np.asarray(array), _where(path))
        return name

    def _random_state(self, value: np.random.RandomState, path: Path) -> dict[str, Any]:
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise ValueError(f"{_where(path)} draws by {state['bit_generator']}: give a seed")
        key = self._add(np.asarray(state["state"]["key"], dtype=np.uint32), (*path, "key"))
        numbers = {"pos": int(state["state"]["pos"]), "has_gauss": int(state["has_gauss"])}
        return {"key": key, **numbers, "gauss": float(state["gauss"]).hex()}

    def _generator(self, value: np.random.Generator, path: Path) -> dict[str, Any]:
        state: Any = value.bit_generator.state
        if state["bit_generator"] != "PCG64":
            raise ValueError(
                f"{_where(path)} draws by {state['bit_generator']}: only generators of "
                "numpy.random.default_rng can be saved; or give an integer as the seed"
            )
        return {**state["state"], **{name: state[name] for name in ("has_uint32", "uinteger")}}

    def _fields(self, value: Any, path: Path) -> dict[str, Any]:
        cls = type(value)
        if isinstance(value, tuple):
            found = value._asdict()  # type: ignore[attr-defined]
        elif is_dataclass(value):
            found = {field.name: getattr(value, field.name) for field in fields(value)}
        elif has_own_state(cls):
            found = value.__getstate__()
        else:
            found = _attributes(value)
        check_attributes(cls, set(found))
        return self._named(dict(sorted(found.items())), path)

    def _estimator(self, model: BaseEstimator, path: Path) -> dict[str, Any]:
        name = name_of(type(model))
        if name is None:
            raise ValueError(_refusal(model, path))
        params = dict(sorted(model.get_params(deep=False).items()))
        # scikit-learn's default of a parameter that will go, or had another name before
        given = {k: v for k, v in params.items() if not (isinstance(v, str) and v == "deprecated")}
        encoded = self._named(given, path)
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        check_loaded(model)
        own = {*params, "_metadata_request"}
        learned = {k: v for k, v in sorted(_attributes(model).items()) if k not in own}
        check_attributes(type(model), set(learned))
        return {
            "class": name,
            "params": encoded,
            "learned": self._named(learned, path),
            "requests": _requests(model),
        }


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes that can't be computed from the others."""
    cls = type(value)
    return {
        name: held
        for name, held in vars(value).items()
        if not isinstance(getattr_static(cls, name, None), cached_property)
        and name not in getattr(cls, "_not_saved", ())
    }


def _requests(model: Any) -> dict[str, dict[str, Any]]:
    """Return what metadata a model asks for, by method."""
    if "_metadata_request" not in vars(model):
        return {}
    asked = {m: getattr(model.get_metadata_routing(), m).requests for m in ROUTED}
    found = {m: {k: v for k, v in sorted(r.items()) if v is not None} for m, r in asked.items()}
    return {method: request for method, request in found.items() if request}


def _label(value: Any, number: int) -> str:
    named = type(value) is tuple and len(value) > 1 and type(value[0]) is str and value[0]
    return value[0] if named else str(number)


def _where(path: Path) -> str:
    return ".".join(path) or "the model"


def _refusal(value: Any, path: Path) -> str:
    """Return why a value can't be saved, and what to do."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, BaseEstimator):
        advice = (
            "save its best_estimator_"
            if hasattr(value, "best_estimator_") or "Search" in kind
            else "transform the rows before, and save the steps from the model on"
            if hasattr(value, "transform")
            else "save a model of rankwise"
        )
        steps = ", ".join(savable_steps())
        advice += f". Models of rankwise can be, and of scikit-learn {steps}"
        return f"{_where(path)} is a {kind}, which can't be saved: {advice}"
    if callable(value):
        advice = (
            "name a kernel ('linear', 'poly', 'rbf'), or give its values with kernel='precomputed'"
            if path[-1:] == ("kernel",)
            else "use one of the named options in its place"
        )
        called = getattr(value, "__name__", kind)
        return f"{_where(path)} is the function {called}, and a file can't hold code: {advice}"
    if kind.startswith("rankwise."):
        return f"{_where(path)} is a {kind}, which can't be saved: see persistence/_registry.py"
    return (
        f"{_where(path)} is a {kind}, which a file can't hold: make it a number, a string, a list, "
        "a dict, an array or a CSR matrix"
    )
