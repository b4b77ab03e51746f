"""Values as JSON and arrays; `rankwise.persistence._kinds` has the list of kinds."""

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from inspect import getattr_static
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from rankwise.persistence._archive import MAX_NAME, is_portable, portable
from rankwise.persistence._kinds import BITS, DEEPEST, LONG, ROUTED, SPARSE, TYPES
from rankwise.persistence._registry import (
    check_attributes,
    check_loaded,
    has_own_state,
    name_of,
    savable_steps,
)

Path = tuple[str, ...]
_ODD = re.compile(r"[^A-Za-z0-9_.-]")
_ROOM_FOR_NUMBER = 12
# What scikit-learn calls a parameter that nobody gave and that will go, or had another name before.
_DEPRECATED = "deprecated"


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

    def encode(self, value: Any, path: Path = ()) -> Any:
        """Return a value as JSON; ``path`` says where it is.

        Raises
        ------
        ValueError
            If it, or a value inside of it, is of no kind that a file can hold.
        """
        if len(path) > DEEPEST:
            raise ValueError(f"{_where(path[:4])} holds objects in objects without end")
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            if value.bit_length() > BITS:
                raise ValueError(f"{_where(path)} is a number of more than {BITS} bits")
            return value
        if kind is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._list(value, path)
        if isinstance(value, np.generic):
            return {"scalar": _scalar(value, path)}
        if kind in (np.ndarray, np.memmap):
            return self._array(value, path)
        if isinstance(value, BaseEstimator):
            return {"estimator": self._estimator(value, path)}
        return self._other(value, kind, path)

    def _other(self, value: Any, kind: type, path: Path) -> dict[str, Any]:
        if kind is tuple:
            # ("scaler", StandardScaler()) is called by its name, and not by a number
            named = len(value) > 1 and isinstance(value[0], str) and path[-1:] == (value[0],)
            parts = [path] * len(value) if named else None
            return {"tuple": self._sequence(value, path, parts)}
        if kind is dict:
            return self._dict(value, path)
        if kind in (set, frozenset):
            ordered = sorted(value, key=lambda v: (type(v).__name__, repr(v)))
            return {kind.__name__: self._sequence(ordered, path)}
        if kind in (slice, range):
            numbers = (value.start, value.stop, value.step)
            return {kind.__name__: [self.encode(n, (*path, "slice")) for n in numbers]}
        if kind is bytes:
            return {"bytes": value.hex()}
        if isinstance(value, np.dtype):
            if not (value.str == "|O" or is_portable(value.str)):
                raise ValueError(f"{_where(path)} is the dtype {value}, which a file can't hold")
            return {"dtype": value.str}
        if isinstance(value, type) and TYPES.get(value.__name__, kind) is value:
            return {"type": value.__name__}
        if kind.__name__ in SPARSE and SPARSE[kind.__name__] is kind:
            held = {p: self._array(getattr(value, p), (*path, p)) for p in _SPARSE_PARTS}
            return {kind.__name__: {**held, "shape": [int(n) for n in value.shape]}}
        if kind in (np.random.RandomState, np.random.Generator):
            return self._random(value, path)
        if (name := name_of(kind)) is not None:
            return {"record": {"class": name, "fields": self._fields(value, path)}}
        raise ValueError(_refusal(value, path))

    def _list(self, values: list[Any], path: Path) -> Any:
        encoded = self._sequence(values, path)
        return encoded if isinstance(encoded, list) else {"list": encoded}

    def _sequence(
        self, values: Sequence[Any], path: Path, parts: list[Path] | None = None
    ) -> list[Any] | dict[str, Any]:
        """Return values as a list, or packed if they are many and of one type."""
        kinds = set(map(type, values)) if len(values) > LONG else set()
        if kinds == {str}:
            return self._texts(values, path)
        if kinds == {float} or (
            kinds == {int} and all(-(2**63) <= value < 2**63 for value in values)
        ):
            numbers = np.array(values, dtype=np.float64 if kinds == {float} else np.int64)
            return {"numbers": self._add(numbers, path)}
        if parts is None:
            parts = [(*path, _label(v, i)) for i, v in enumerate(values)]
        return [self.encode(v, part) for v, part in zip(values, parts, strict=True)]

    def _texts(self, values: Sequence[str], path: Path) -> dict[str, Any]:
        raw = [text.encode("utf-8", "surrogatepass") for text in values]
        ends = np.cumsum([len(text) for text in raw], dtype=np.int64)
        utf8 = np.frombuffer(b"".join(raw), dtype=np.uint8)
        return {"texts": [self._add(utf8, (*path, "utf8")), self._add(ends, (*path, "ends"))]}

    def _dict(self, value: dict[Any, Any], path: Path) -> dict[str, Any]:
        if len(value) <= LONG and all(type(key) is str for key in value):
            return {"dict": {k: self.encode(v, (*path, k)) for k, v in value.items()}}
        keys = self._sequence(list(value), (*path, "keys"))
        values = self._sequence(list(value.values()), (*path, "values"))
        return {"items": {"keys": keys, "values": values}}

    def _array(self, value: NDArray[Any], path: Path) -> dict[str, Any]:
        known = self._known.get(id(value))
        if known is None:
            if value.dtype == object:
                values = self._sequence(value.ravel().tolist(), path)
                encoded: dict[str, Any] = {
                    "objects": {"shape": list(value.shape), "values": values}
                }
            else:
                encoded = {"array": self._add(value, path)}
            # the value is kept, too: its id could be that of another one later
            known = self._known[id(value)] = (value, encoded)
        return known[1]

    def _add(self, array: NDArray[Any], path: Path) -> str:
        stem = _ODD.sub("_", ".".join(path)).lstrip(".-") or "value"
        stem = name = stem[: MAX_NAME - _ROOM_FOR_NUMBER]
        number = 1
        while name in self.arrays:
            number += 1
            name = f"{stem}-{number}"
        self.arrays[name] = portable(np.asarray(array), _where(path))
        return name

    def _random(self, value: Any, path: Path) -> dict[str, Any]:
        bits = value.bit_generator if isinstance(value, np.random.Generator) else None
        if bits is not None and type(bits) is not np.random.PCG64:
            raise ValueError(
                f"{_where(path)} draws by {type(bits).__name__}: only generators of "
                "numpy.random.default_rng can be saved; or give a whole number as the seed"
            )
        if bits is not None:
            state = bits.state
            drawn = {name: state[name] for name in ("has_uint32", "uinteger")}
            return {"Generator": {**state["state"], **drawn}}
        state = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise ValueError(f"{_where(path)} draws by {state['bit_generator']}: give a seed")
        key = self._add(np.asarray(state["state"]["key"], dtype=np.uint32), (*path, "key"))
        numbers = {"pos": int(state["state"]["pos"]), "has_gauss": int(state["has_gauss"])}
        return {"RandomState": {"key": key, **numbers, "gauss": float(state["gauss"]).hex()}}

    def _fields(self, value: Any, path: Path) -> dict[str, Any]:
        cls = type(value)
        if isinstance(value, tuple):
            found = value._asdict()  # type: ignore[attr-defined]
        elif is_dataclass(value):
            found = {field.name: getattr(value, field.name) for field in fields(value)}
        elif has_own_state(cls):
            found = value.__getstate__()
        else:
            found = {k: v for k, v in vars(value).items() if not _is_cached(cls, k)}
        check_attributes(cls, set(found))
        return {name: self.encode(v, (*path, name)) for name, v in sorted(found.items())}

    def _estimator(self, model: BaseEstimator, path: Path) -> dict[str, Any]:
        cls = type(model)
        name = name_of(cls)
        if name is None:
            raise ValueError(_refused_model(model, path))
        params = model.get_params(deep=False)
        encoded = {
            k: self.encode(v, (*path, k))
            for k, v in sorted(params.items())
            if not (isinstance(v, str) and v == _DEPRECATED)
        }
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        check_loaded(model)
        own = {*params, "_metadata_request"}
        learned = {k: v for k, v in vars(model).items() if k not in own and not _is_cached(cls, k)}
        check_attributes(cls, set(learned))
        return {
            "class": name,
            "params": encoded,
            "learned": {k: self.encode(v, (*path, k)) for k, v in sorted(learned.items())},
            "requests": _requests(model),
        }


_SPARSE_PARTS = ("data", "indices", "indptr")


def _requests(model: Any) -> dict[str, dict[str, Any]]:
    """Return what metadata a model asks for, by method."""
    if "_metadata_request" not in vars(model):
        return {}
    asked = model.get_metadata_routing()
    found = {
        method: {k: v for k, v in getattr(asked, method).requests.items() if v is not None}
        for method in ROUTED
    }
    return {method: dict(sorted(wanted.items())) for method, wanted in found.items() if wanted}


def _is_cached(cls: type, name: str) -> bool:
    """Whether an attribute can be made again from the others."""
    found = isinstance(getattr_static(cls, name, None), cached_property)
    return found or name in getattr(cls, "_not_saved", ())


def _scalar(value: np.generic, path: Path) -> list[str]:
    array = portable(np.asarray(value), _where(path))
    return [array.dtype.str, array.tobytes().hex()]


def _label(value: Any, number: int) -> str:
    named = type(value) is tuple and len(value) > 1 and type(value[0]) is str and value[0]
    return value[0] if named else str(number)


def _where(path: Path) -> str:
    return ".".join(path) or "the model"


def _refusal(value: Any, path: Path) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
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
        f"{_where(path)} is a {kind}, which a file can't hold: make it a number, a text, a list, a "
        "dict, an array or a CSR matrix"
    )


def _refused_model(model: Any, path: Path) -> str:
    cls = type(model)
    kind = f"{cls.__module__}.{cls.__qualname__}"
    what = f"{_where(path)} is a {kind}" if path else f"a {kind}"
    advice = (
        "save its best_estimator_"
        if hasattr(model, "best_estimator_") or "Search" in cls.__name__
        else "transform the rows before, and save the steps from the model on"
        if hasattr(model, "transform")
        else "save a model of rankwise"
    )
    return (
        f"{what}, which can't be saved: {advice}. Models of rankwise can be, and of scikit-learn "
        f"{', '.join(savable_steps())}"
    )
