"""Names of people and items, of any kind, and their places 0..n-1 in a table."""

from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import as_array, shortened
from rankwise._core.ids import objects, sorted_objects
from rankwise._core.inputs import refuse_masked
from rankwise._core.labels import any_missing, sorted_labels, to_ranks

Places = NDArray[np.int64]

_SHOWN = 5
# A name is compared with so many others at most, and may differ by so much.
_COMPARED, _LIKENESS = 100_000, 0.5


def did_you_mean(name: Any, known: Sequence[Any]) -> str:
    """Return the end of a message: the most similar of the known names, if one is similar."""
    if not isinstance(name, str):
        return ""
    names = [one for one in known[:_COMPARED] if isinstance(one, str)]
    found = get_close_matches(name, names, 1, _LIKENESS)
    return f"; did you mean {shortened(found[0])}?" if found else ""


class Ids:
    """The distinct ids of one kind of thing, in sorted order where they have one.

    Ids of several types are sorted type by type; ids that can't be compared keep the order in which
    they came.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The ids, read-only: numbers, or objects.
    name : str
        What they name, for messages: ``"users"`` or ``"items"``.
    """

    def __init__(self, values: NDArray[Any], name: str) -> None:
        values.flags.writeable = False
        self.values, self.name = values, name

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def encode(cls, ids: Any, name: str) -> tuple["Ids", Places]:
        """Return the distinct ids, and the place of each given one among them."""
        given = as_ids(ids, name)
        if given.dtype.kind != "O":
            distinct = sorted_labels(given, name=name)
            if given.dtype.kind in "biu":
                return cls(distinct, name), to_ranks(given, distinct, name)
            return cls(distinct, name), np.searchsorted(distinct, given).astype(np.int64)
        listed = given.tolist()
        distinct = sorted_objects(list(dict.fromkeys(listed)))
        self = cls(distinct, name)
        places = self._place_of
        return self, np.fromiter((places[i] for i in listed), dtype=np.int64, count=len(listed))

    def show(self, place: int) -> str:
        """Return the id at a place, for a message."""
        return shortened(self.values[place : place + 1].tolist()[0])

    def slice(self, start: int, stop: int) -> "Ids":
        """Return the ids from one place up to another."""
        return Ids(self.values[start:stop], self.name)

    def only(self, places: Places) -> tuple["Ids", Places]:
        """Return the ids that some places refer to, and these places among them."""
        left, again = np.unique(places, return_inverse=True)
        return Ids(self.values[left], self.name), again

    def find(self, ids: Any, name: str) -> Places:
        """Return the places of ids; ``name`` is the argument that holds them.

        Raises
        ------
        ValueError
            If some are unknown. The message names them.
        """
        given = as_ids(ids, name)
        if {given.dtype.kind, self.values.dtype.kind} <= {"i"} and len(self):
            near = np.searchsorted(self.values, given).clip(max=len(self) - 1)
            places = np.where(self.values[near] == given, near, -1).astype(np.int64)
        else:
            known, listed = self._place_of, given.tolist()
            places = np.fromiter((known.get(i, -1) for i in listed), np.int64, len(listed))
        if places.min(initial=0) < 0:
            self._refuse(given[places < 0].tolist(), name)
        return places

    def find_one(self, one: Any, name: str) -> int:
        """Return the place of one id."""
        try:
            place = self._place_of.get(one, -1)
        except TypeError as error:
            raise ValueError(f"{name}={shortened(one)} must be one of the ids: {error}") from error
        if place < 0:
            self._refuse([one], name)
        return place

    @cached_property
    def _place_of(self) -> dict[Hashable, int]:
        return {value: place for place, value in enumerate(self.values.tolist())}

    def _refuse(self, unknown: list[Any], name: str) -> None:
        distinct = list(dict.fromkeys(unknown))
        more = f" and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else ""
        known = [shortened(value) for value in self.values[:3].tolist()]
        if len(self) > len(known):
            known.append("...")
        raise ValueError(
            f"{name} holds {', '.join(map(shortened, distinct[:_SHOWN]))}{more}, which the table "
            f"does not have: its {len(self)} {self.name} are {', '.join(known) or 'none'}"
            f"{did_you_mean(distinct[0], self.values.tolist())}"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["values"], state["name"])  # type: ignore[misc]


def as_ids(ids: Any, name: str) -> NDArray[Any]:
    """Return ids as a 1-D array of numbers or of hashable objects, none of them missing."""
    refuse_masked(ids, name)
    alone = isinstance(ids, str | bytes) or not hasattr(ids, "__len__")
    if alone or getattr(ids, "ndim", 1) == 0:
        raise ValueError(f"{name}={shortened(ids)} must be a list of ids, one a row: [...]")
    if hasattr(ids, "dtype") or hasattr(ids, "__array__"):
        values = as_array(ids, name)
        if values.ndim != 1:
            raise ValueError(
                f"{name} must be 1-D, one id a row, but its shape is {values.shape}: give one "
                "column"
            )
    else:
        values = objects(list(ids))
    if any_missing(values):
        row = next(i for i in range(len(values)) if any_missing(values[i : i + 1]))
        raise ValueError(f"{name} is missing in row {row}: drop the row or name it")
    if values.dtype.kind in "iuf":
        return values
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]")
    return _simplest(values.tolist(), name)


def _simplest(values: list[Any], name: str) -> NDArray[Any]:
    """Return ids as whole numbers if all are, else as objects that can be looked up."""
    kinds = set(map(type, values))
    if kinds and all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    for value in values:
        try:
            hash(value)
        except TypeError as error:
            raise ValueError(
                f"{name} holds {shortened(value)}, which can't be an id ({error}): use numbers, "
                "texts or tuples"
            ) from error
    return objects(values)
