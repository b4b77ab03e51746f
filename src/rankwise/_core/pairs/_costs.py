r"""What a solver asks of a loss over pairs: value, slopes and curvature, kinks smoothed.

A pair costs :math:`c^+ = \max(0, c)` with c linear in the scores. For power 1 the kink is smoothed
over a width h,

.. math:: \psi_h(c) = \frac{(c + h)_+^2 - (c - h)_+^2}{4h} \ge c^+,

whose slope p rises from 0 at -h to 1 at h. The slopes are feasible for the dual of the loss itself:
for any scores, the mean of :math:`c^+ - p\,c` is what smoothing adds to a duality gap. It falls
with the square of h where pairs lie densely, with h where they don't. For power 2 nothing is
smoothed.

The Hessian is the Laplacian of a graph, with the pairs whose costs have a curvature as edges: all
that cost for power 2, those with costs between -h and h for power 1.
"""

from typing import NamedTuple, Protocol

from rankwise._core.pairs._order import Floats


class Evaluation(NamedTuple):
    """A loss at some scores.

    Attributes
    ----------
    cost : float
        The mean cost.
    slopes : ndarray of shape (m,)
        The gradient of the smoothed mean cost by the scores.
    slack : float
        The mean of c^+ - p c: what the slopes lack of a subgradient. 0 for power 2.
    """

    cost: float
    slopes: Floats
    slack: float


class Curve(Protocol):
    """The Hessian of a smoothed loss at some scores."""

    diagonal: Floats

    def product(self, v: Floats) -> Floats:
        """Multiply with a vector of shape (m,)."""

    def gram(self, X: Floats) -> Floats:
        """Return X' H X for a dense X of shape (m, d)."""


class PairCosts(Protocol):
    """A loss over pairs as a solver sees it."""

    power: int
    scale: float

    def evaluate(self, s: Floats, h: float) -> Evaluation:
        """Return value, slopes and slack at scores s with kinks of width h."""

    def curve(self, s: Floats, h: float) -> Curve:
        """Return the Hessian at scores s with kinks of width h."""
