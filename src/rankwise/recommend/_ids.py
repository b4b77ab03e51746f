"""Names of people and items, of any kind, and their positions 0..n-1 in a table."""

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise._core.arguments import did_you_mean, shortened
from rankwise._core.ids import as_column, encode_ids
from rankwise.recommend.baseline import Ints

_SHOWN = 5
# A name is compared with at most _COMPARED others.
_COMPARED = 100_000


class Ids:
    """The distinct ids of one kind, in sorted order if they have one.

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
    def encode(cls, ids: Any, name: str) -> tuple["Ids", Ints]:
        """Return the distinct ids, and the position of each given one among them."""
        distinct, (places,) = encode_ids([ids], [name])
        return cls(distinct, name), places

    def show(self, place: int) -> str:
        """Return the id at a position, for a message."""
        return shortened(self.values[place : place + 1].tolist()[0])

    def only(self, places: Ints) -> tuple["Ids", Ints]:
        """Return the ids that some positions refer to, and these positions among them."""
        left, again = np.unique(places, return_inverse=True)
        return Ids(self.values[left], self.name), again

    def find(self, ids: Any, name: str) -> Ints:
        """Return the positions of ids; ``name`` is the argument that holds them.

        Raises
        ------
        ValueError
            If some are unknown. The message names them.
        """
        given, known = as_column(ids, name), self.values
        listed = given.tolist() if isinstance(given, np.ndarray) else given
        if isinstance(given, np.ndarray) and {given.dtype.kind, known.dtype.kind} == {"i"}:
            near = np.searchsorted(known, given).clip(max=len(known) - 1)
            places = np.where(known[near] == given, near, -1).astype(np.int64)
        else:
            place_of = self._place_of
            try:
                places = np.fromiter((place_of.get(i, -1) for i in listed), np.int64, len(listed))
            except TypeError as error:
                raise ValueError(f"{name} holds something that can't be an id: {error}") from error
        return self._checked(places, listed, name)

    def find_one(self, one: Any, name: str) -> int:
        """Return the position of one id."""
        try:
            place = self._place_of.get(one, -1)
        except TypeError as error:
            raise ValueError(f"{name}={shortened(one)} must be one of the ids: {error}") from error
        return int(self._checked(np.array([place]), [one], name)[0])

    @cached_property
    def _place_of(self) -> dict[Hashable, int]:
        return {value: place for place, value in enumerate(self.values.tolist())}

    def _checked(self, places: Ints, ids: list[Any], name: str) -> Ints:
        """Return positions, none of them -1 for an unknown id."""
        if places.min(initial=0) >= 0:
            return places
        unknown = list(dict.fromkeys(ids[i] for i in np.flatnonzero(places < 0)))
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        known = [shortened(value) for value in self.values[:3].tolist()]
        if len(self) > len(known):
            known.append("...")
        texts = [one for one in self.values[:_COMPARED].tolist() if isinstance(one, str)]
        raise ValueError(
            f"{name} holds {', '.join(map(shortened, unknown[:_SHOWN]))}{more}, which the table "
            f"does not have: its {len(self)} {self.name} are {', '.join(known) or 'none'}"
            f"{did_you_mean(unknown[0], texts) if isinstance(unknown[0], str) else ''}"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["values"], state["name"])  # type: ignore[misc]
