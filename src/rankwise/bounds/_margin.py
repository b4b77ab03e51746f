r"""Bounds on the error of a ranking on new pairs by its margins on a sample of pairs.

With m independent pairs (x, x') of which x' is to be above x, a score h has the margins
:math:`h(x'_i) - h(x_i)`. A margin loss charges 1 for a margin of 0 or less, nothing from
:math:`\rho` on, and the straight line in between:
:math:`\hat R_\rho(h) = \frac1m \sum_i \min(1, \max(0, 1 - (h(x'_i) - h(x_i))/\rho))`.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from rankwise._core.arguments import check_flag, check_whole, check_word, is_finite_number
from rankwise._core.inputs import as_floats, check_floats, ratings_of
from rankwise._core.queries import encode_queries
from rankwise.bounds._bound import (
    Bound,
    check_delta,
    check_rows,
    grow,
    kernel_diagonal,
    product,
)

_KINDS = ("linear", "kernel", "stumps")


def disjoint_pairs(
    y: ArrayLike, *, qid: ArrayLike | None = None, random_state: Any = None
) -> NDArray[np.int64]:
    """Put rows into pairs at random, each row into one at most, and keep those with an order.

    All pairs of a sample are not independent of each other, which the margin bound asks for; these
    are, if the rows are.

    Parameters
    ----------
    y : array-like of shape (m,)
        Targets, of which only the order counts.
    qid : array-like of shape (m,), default=None
        The query of each row; pairs are inside queries.
    random_state : int, RandomState or None, default=None
        How rows are put together. Choose it before looking at the scores.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Rows, the worse and the better of each pair; m / 2 pairs at most.

    Examples
    --------
    >>> from rankwise.bounds import disjoint_pairs
    >>> disjoint_pairs([1, 2, 3, 3, 1], random_state=0)
    array([[0, 2],
           [1, 3]])
    """
    targets = check_floats(ratings_of(y, "y"), "y")
    codes, _ = encode_queries(qid, len(targets))
    shuffled = check_random_state(random_state).permutation(len(targets))
    rows = shuffled[np.argsort(codes[shuffled], kind="stable")]
    starts = np.flatnonzero(np.append(True, np.diff(codes[rows]) != 0)) if len(rows) else rows
    positions = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    seconds = np.flatnonzero(positions % 2 == 1)
    pairs = np.stack([rows[seconds - 1], rows[seconds]], axis=1)
    first, second = targets[pairs].T
    pairs[first > second] = pairs[first > second, ::-1]
    return pairs[first != second].astype(np.int64)


def empirical_rademacher(
    X: ArrayLike,
    *,
    kind: str = "linear",
    radius: float = 1.0,
    kernel: Any = "rbf",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1.0,
) -> Bound:
    r"""Bound how well a class of scores can fit random signs on the rows of a sample.

    .. math::

        \hat{\mathfrak R}_S(H) = \mathbb E_\sigma \sup_{h \in H} \frac1m \sum_i \sigma_i h(x_i)

    For :math:`\|w\| \le \Lambda`, linear or in the space of a kernel, the supremum is a length, and
    its mean is at most the root of its mean square:
    :math:`\frac{\Lambda}{m} \sqrt{\sum_i K(x_i, x_i)}`. For :math:`\sum_t \alpha_t h_t` of stumps
    with :math:`\sum_t |\alpha_t| \le \Lambda` it is at a corner, one stump or its negative. A
    constant adds nothing to a difference of scores, so let a stump be 1/2 or -1/2. Of those that
    differ on the sample there are N, one that is constant there included, and Massart's lemma gives
    :math:`\Lambda \sqrt{\log (2N) / (2m)}`.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (m, d)
        The rows; for kernel="precomputed" the square matrix of its values. CSR not for "stumps".
    kind : {"linear", "kernel", "stumps"}, default="linear"
        The class of scores.
    radius : float, default=1.0
        :math:`\Lambda`: the largest norm of w, such as that of ``coef_``, or the largest sum of
        \|alpha\|. It must be fixed beforehand.
    kernel, gamma, degree, coef0
        For kind="kernel", as in `rankwise.magnitude.MPRank`.

    Returns
    -------
    Bound
        With the pieces ``radius``, ``m``, and ``kappa`` (root of the largest K(x, x)) or
        ``n_stumps`` (N). Vacuous at the largest score that a row can have: radius times kappa, or
        half the radius. Infinite if no float can hold it.

    References
    ----------
    M. Mohri, Foundations of machine learning, lecture on ranking, and for the classes
    M. Mohri, A. Rostamizadeh and A. Talwalkar, *Foundations of machine learning*, 2012.

    Examples
    --------
    >>> from rankwise.bounds import empirical_rademacher
    >>> empirical_rademacher([[3.0, 4.0]] * 100).value
    0.5
    """
    check_word(kind, "kind", _KINDS)
    if not (is_finite_number(radius) and radius > 0):
        raise ValueError(f"radius={radius!r} must be a positive number")
    rows = check_rows(X, sparse=kind != "stumps")
    m = rows.shape[0]
    if kind == "stumps":
        ordered = np.sort(rows, axis=0)
        n_stumps = 1 + int((ordered[1:] > ordered[:-1]).sum())
        value = radius * math.sqrt(math.log(2 * n_stumps) / (2 * m))
        return _bound(value, radius / 2, {"radius": radius, "m": m, "n_stumps": n_stumps})
    name = "linear" if kind == "linear" else kernel
    squares, exponent = kernel_diagonal(rows, "empirical_rademacher", name, gamma, degree, coef0)
    kappa = grow(math.sqrt(squares.max()), exponent)
    # the root of the mean square, which is no larger than kappa
    length = grow(math.sqrt((squares / m).sum()), exponent)
    value = product(radius, length, 1 / math.sqrt(m))
    return _bound(value, product(radius, kappa), {"radius": radius, "m": m, "kappa": kappa})


def margin_loss(margins: ArrayLike, *, rho: float) -> float:
    r"""Return the empirical margin loss of a score on pairs.

    .. math:: \hat R_\rho(h) = \frac1m \sum_i \Phi_\rho(h(x'_i) - h(x_i)), \qquad
              \Phi_\rho(u) = \min(1, \max(0, 1 - u / \rho))

    It lies between the share of misranked pairs, ties included, and `margin_share`.

    Parameters
    ----------
    margins : array-like of shape (m,)
        Score of the better row less that of the worse one, for each pair.
    rho : float
        The margin from which on a pair costs nothing.

    References
    ----------
    M. Mohri, Foundations of machine learning, lecture on ranking, confidence margin.

    Examples
    --------
    >>> from rankwise.bounds import margin_loss
    >>> margin_loss([-1.0, 0.5, 2.0, 3.0], rho=1.0)
    0.375
    """
    return _loss(*_check_margins(margins, rho))


def margin_share(margins: ArrayLike, *, rho: float) -> float:
    """Return the share of pairs whose margin is at most rho, which bounds `margin_loss`.

    Parameters
    ----------
    margins, rho
        As in `margin_loss`.

    Examples
    --------
    >>> from rankwise.bounds import margin_share
    >>> margin_share([-1.0, 0.5, 2.0, 3.0], rho=1.0)
    0.5
    """
    gaps, limit = _check_margins(margins, rho)
    return float((gaps <= limit).mean())


def margin_bound(
    margins: ArrayLike,
    *,
    complexity: tuple[Bound | float, Bound | float],
    rho: float | Sequence[float],
    delta: float = 0.05,
    expected: bool = False,
) -> Bound:
    r"""Bound the share of new pairs that a score misranks by its margins on independent pairs.

    .. math::

        \hat R_\rho(h) + \frac2\rho \left(\hat{\mathfrak R}_{S_1}(H) + \hat{\mathfrak R}_{S_2}(H)
        \right) + 3 \sqrt{\frac{\log (2/\delta)}{2m}}

    with probability at least :math:`1 - \delta`, for all h of the class H at once, ties counted as
    misranked. S_1 are the worse rows of the pairs and S_2 the better ones.

    The lecture's own bound has the expected complexities :math:`\mathfrak R_m^{D_1}(H)` and
    :math:`\mathfrak R_m^{D_2}(H)` and the last term :math:`\sqrt{\log(1/\delta) / 2m}`; those of
    the sample cost the factor 3 and the 2. With ``expected=True`` it is the printed one. For
    :math:`\|w\| \le \Lambda` and :math:`K(x, x) \le \kappa^2`, both are at most
    :math:`\Lambda \kappa / \sqrt m`.

    Parameters
    ----------
    margins : array-like of shape (m,)
        Score of the better row less that of the worse one, of independent pairs: pairs that were
        drawn as such, or those of `disjoint_pairs`.
    complexity : (Bound or float, Bound or float)
        `empirical_rademacher` of the worse rows and of the better rows. If ``expected``, numbers
        that bound the expected complexities; of an `empirical_rademacher` of kind "linear" or
        "kernel", radius times kappa over the root of m is taken, and its kappa must hold for all
        rows that can occur, as that of "rbf" does.
    rho : float or sequence of float
        The margin, fixed beforehand. Of several, the best is taken, and paid for: each
        has its share of delta.
    delta : float, default=0.05
        How often the bound may fail.
    expected : bool, default=False
        Whether the complexities are expected ones rather than those of the sample.

    Returns
    -------
    Bound
        With the pieces ``margin_loss``, ``complexity`` (the second term), ``deviation`` (the last),
        ``rho``, ``misranked`` (the share in the sample), ``m`` and ``delta``. Vacuous at 1, and
        infinite if no float can hold it.

    References
    ----------
    M. Mohri, Foundations of machine learning, lecture on ranking.

    Examples
    --------
    >>> from rankwise.bounds import margin_bound
    >>> bound = margin_bound([2.0] * 900 + [-1.0] * 100, complexity=(0.02, 0.02), rho=1.0)
    >>> print(f"{bound.value:.2f}, of which {bound.pieces['margin_loss']:.2f} was seen")
    0.31, of which 0.10 was seen
    >>> printed = margin_bound(
    ...     [2.0] * 900 + [-1.0] * 100, complexity=(0.02, 0.02), rho=1.0, expected=True
    ... )
    >>> print(f"{printed.value:.2f}")
    0.22
    """
    gaps, rhos = _check_margins(margins, rho, several=True)
    expected = check_flag(expected, "expected")
    check_delta(delta)
    try:
        first, second = (_expectation(part) if expected else float(part) for part in complexity)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"complexity={complexity!r} must be two numbers or bounds, of the worse rows and of "
            "the better rows" + "; expected ones of stumps are numbers" * expected
        ) from error
    if not (first >= 0 and second >= 0):
        raise ValueError(f"complexity=({first}, {second}) must not be negative")
    factor, sides = (1, 1) if expected else (3, 2)
    doubt = math.log(sides * len(rhos)) - math.log(delta)
    deviation = factor * math.sqrt(doubt / (2 * len(gaps)))
    losses = [_loss(gaps, r) for r in rhos]
    capacities = [2 * (first + second) / float(r) for r in rhos]
    best = int(np.argmin(np.add(losses, capacities)))
    pieces = {
        "margin_loss": losses[best],
        "complexity": capacities[best],
        "deviation": deviation,
        "rho": float(rhos[best]),
        "misranked": float((gaps <= 0).mean()),
        "m": len(gaps),
        "delta": delta,
    }
    return _bound(losses[best] + capacities[best] + deviation, 1.0, pieces)


def _check_margins(margins: ArrayLike, rho: Any, *, several: bool = False) -> tuple[Any, Any]:
    """Return margins, at least one, and rho, or an array of several."""
    gaps = check_floats(margins, "margins")
    if not len(gaps):
        raise ValueError("margins is empty: give one number a pair")
    rhos = np.atleast_1d(as_floats(rho, "rho"))
    if rhos.ndim != 1 or not len(rhos) or not np.all((rhos > 0) & np.isfinite(rhos)):
        raise ValueError(f"rho={rho!r} must be a positive number" + ", or several" * several)
    if several:
        return gaps, rhos
    if len(rhos) > 1:
        raise ValueError(f"rho={rho!r} must be one positive number")
    return gaps, rhos[0]


def _loss(gaps: NDArray[np.float64], rho: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.clip(1 - gaps / rho, 0, 1).mean())


def _expectation(part: Bound | float) -> float:
    """Return what bounds an expected complexity: a number unchanged, radius kappa / root of m."""
    if not isinstance(part, Bound):
        return float(part)
    return product(part.pieces["radius"], part.pieces["kappa"], 1 / math.sqrt(part.pieces["m"]))


def auc_deviation(n_pos: int, n_neg: int, *, delta: float = 0.05) -> Bound:
    r"""Bound how far the AUC of a sample is from the true one, whatever the distribution.

    .. math:: \sqrt{\frac{n_+ + n_-}{2\, n_+ n_-} \log \frac2\delta}

    with probability at least :math:`1 - \delta`, for a score that was fixed before the sample was
    drawn. A positive row moves the AUC by :math:`1/n_+` at most and a negative one by
    :math:`1/n_-`; McDiarmid's inequality does the rest. `rankwise.metrics.auc_interval` is
    narrower, being approximate.

    Parameters
    ----------
    n_pos, n_neg : int
        Rows of the two classes.
    delta : float, default=0.05
        How often the bound may fail.

    Returns
    -------
    Bound
        With the pieces ``n_pos``, ``n_neg`` and ``delta``. Vacuous at 1/2: no interval around an
        AUC of 1/2 would leave anything out.

    References
    ----------
    S. Agarwal, T. Graepel, R. Herbrich, S. Har-Peled and D. Roth, *Generalization bounds for the
    area under the ROC curve*, JMLR 2005.

    Examples
    --------
    >>> from rankwise.bounds import auc_deviation
    >>> print(f"{auc_deviation(100, 900).value:.3f}")
    0.143
    """
    check_whole(n_pos, "n_pos")
    check_whole(n_neg, "n_neg")
    check_delta(delta)
    doubt = math.log(2) - math.log(delta)
    value = math.sqrt((1 / int(n_pos) + 1 / int(n_neg)) / 2 * doubt)
    return _bound(value, 0.5, {"n_pos": n_pos, "n_neg": n_neg, "delta": delta})


def _bound(value: float, trivial: float, pieces: dict[str, float]) -> Bound:
    return Bound(float(value), float(trivial), {name: float(x) for name, x in pieces.items()})
