"""What every bound returns."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """A bound, the pieces it is made of, and whether it says anything.

    Attributes
    ----------
    value : float
        The bound; ``float(bound)`` is the same.
    trivial : float
        What holds without any theorem.
    pieces : mapping of str to float
        The quantities that enter the bound.
    """

    value: float
    trivial: float
    pieces: Mapping[str, float]

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than what is trivially true."""
        return not self.value < self.trivial

    def __float__(self) -> float:
        return self.value
