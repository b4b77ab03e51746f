"""What all live people share."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.recommend._ids import Ids
from rankwise.recommend._summary import deviation
from rankwise.recommend._table import RatingTable
from rankwise.recommend.taste import Taste

Vector = NDArray[np.float64]
Places = NDArray[np.int64]


class Choice(Protocol):
    """What people take who took some items."""

    def scores(self, own: Places) -> Vector:
        """Return a score of each item for someone who has taken some."""


@dataclass(frozen=True)
class Catalogue:
    """What all live people share.

    Attributes
    ----------
    ids : Ids
        The ids of the items.
    scale : tuple of two floats
        The lowest and the highest rating.
    taste : Taste or None
        What the ratings teach; None if there are none.
    choice : Choice or None
        What the choices teach.
    known : ndarray of shape (n_items,)
        The share of people who have rated each item.
    sd : float
        The standard deviation of all ratings.
    """

    ids: Ids
    scale: tuple[float, float]
    taste: Taste | None
    choice: Choice | None
    known: Vector
    sd: float

    @classmethod
    def of(cls, table: RatingTable, taste: Taste | None, choice: Choice | None) -> "Catalogue":
        """Describe the items of a table, with what was learned from it."""
        counts = np.bincount(table.matrix.indices, minlength=table.n_items)
        known = counts / table.n_users
        sd = deviation(table.matrix.data)
        return cls(table._item_ids, table.scale, taste, choice, known, sd)
