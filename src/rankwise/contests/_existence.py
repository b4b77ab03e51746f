r"""Existence of a maximum of the log likelihood of contests, decided by linear programming.

The log likelihood is concave and analytic, so that it has a maximum if and only if it is constant
along each of its directions of recession, those in which it never falls (Rockafellar, *Convex
Analysis*, theorem 27.1). Let a direction change the advantage of a contest by :math:`d` and the
parameter of ties by :math:`k`, with :math:`\kappa = 2k` for Davidson and :math:`\kappa = k` for Rao
and Kupper. The probability of what was seen does not fall along it, however far one goes, if

- the first one won: :math:`d \geq \kappa`,
- the second one won: :math:`-d \geq \kappa`,
- it was a tie: :math:`\kappa \geq |d|`,

and :math:`d \geq 0` or :math:`d \leq 0` where there are no ties, :math:`\kappa = 0`. A probability
strictly between 0 and 1 is a win and a loss. The log likelihood is constant if equality holds in
all of them. A normal prior excludes all directions that move a strength. With neither ties nor
effects the condition is that the graph of wins is strongly connected (Ford 1957), see
`rankwise.contests._counts`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack

from rankwise.contests._likelihood import Maximum, PairLikelihood
from rankwise.contests._loops import PLAIN, Cells

Floats = NDArray[np.float64]

# HiGHS solves to 1e-7.
_ZERO = 1e-6
_RANK = 1e-9
_HUGE = 1e100


def check_design(cells: Cells, n: int, *, penalised: bool) -> None:
    """Raise if effects are confounded with each other or, without a prior, with strengths."""
    z = cells.z / np.maximum(np.abs(cells.z).max(axis=0), np.finfo(float).tiny)
    rest = z
    if not penalised:
        laplacian, sums = np.zeros((n, n)), np.zeros((n, z.shape[1]))
        for one, other in ((cells.left, cells.right), (cells.right, cells.left)):
            np.add.at(laplacian, (one, one), 1.0)
            np.add.at(laplacian, (one, other), -1.0)
        np.add.at(sums, cells.left, z)
        np.add.at(sums, cells.right, -z)
        potential = np.linalg.pinv(laplacian, rcond=1e-12, hermitian=True) @ sums
        rest = z - potential[cells.left] + potential[cells.right]
    sizes = np.linalg.svd(rest, compute_uv=False)
    if len(sizes) < z.shape[1] or sizes[-1] <= _RANK * np.sqrt(len(z)):
        raise ValueError(
            "the contests can't tell the effects apart: a covariate repeats others, is the same in "
            "all contests besides order_effect=True, or follows from who meets whom; leave it out"
        )


def has_maximum(of: PairLikelihood, best: Maximum) -> bool:
    r"""Whether the end of Newton's method proves that there is a maximum; False if it does not.

    The third derivatives of each term are at most as large as the second, times the change of the
    advantage and the parameter of ties. Then there is a maximum if the decrement times the largest
    variance of such a change is below 1/4 (Bach, *Self-concordant analysis for logistic
    regression*, 2010, proposition 2). Where strengths run off, it tends to 1.
    """
    variances = np.diag(best.inverse)
    if not (np.isfinite(best.decrement) and 0 <= variances.min() <= variances.max() < _HUGE):
        return False
    largest = np.sqrt(np.maximum(of.advantage_variance(best.inverse), 0.0).max())
    if of.kind != PLAIN:
        largest += np.sqrt(best.inverse[-1, -1])
    return bool(np.sqrt(max(best.decrement, 0.0)) * largest < 0.5)


def find_recession(of: PairLikelihood, *, penalised: bool) -> Floats | None:
    """Return a direction along which the log likelihood rises for ever; None: it has a maximum.

    Parameters
    ----------
    of : PairLikelihood
        Its effects can be distinguished.
    penalised : bool
        Whether there is a prior of the strengths.

    Returns
    -------
    ndarray of shape (n + d,) or None
        The changes of the strengths and, in units of each covariate's largest value, of the
        effects.
    """
    cells, n = of.cells, of.n
    m, d = cells.z.shape
    rows, ones = np.arange(m), np.ones(m)
    pairs = (rows, cells.left), (rows, cells.right)
    advantage = coo_array((ones, pairs[0]), shape=(m, n)) - coo_array(
        (ones, pairs[1]), shape=(m, n)
    )
    size = np.maximum(np.abs(cells.z).max(axis=0, initial=0.0), np.finfo(float).tiny)
    x = csr_array(hstack([advantage * (not penalised), csr_array(cells.z / size)]))
    x = csr_array(x * cells.scale[:, None] / np.abs(cells.scale).max())
    won, lost, tied, _ = (cells.counts > 0).T
    margin = 0.0 if of.kind == PLAIN else 1.0
    signed = [(x[won], -margin), (-x[lost], -margin)]
    if margin:
        signed += [(x[tied], margin), (-x[tied], margin)]
    gains = vstack([hstack([part, np.full((part.shape[0], 1), tie)]) for part, tie in signed])
    solution = linprog(
        -np.asarray(gains.sum(axis=0)).ravel(),
        A_ub=-csr_array(gains),
        b_ub=np.zeros(gains.shape[0]),
        bounds=(-1, 1),
        method="highs",
    )
    return solution.x[: n + d] if (gains @ solution.x).max() > _ZERO else None


def moved(direction: Floats, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which strengths and which effects a direction moves; most strengths stay."""
    strengths = direction[:n].round(5)
    values, counts = np.unique(strengths, return_counts=True)
    return (
        np.flatnonzero(strengths != values[counts.argmax()]),
        np.flatnonzero(np.abs(direction[n:]) > _ZERO),
    )
