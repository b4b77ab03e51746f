"""Where to end a ranked list."""

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike


def cut_at_gap(
    scores: ArrayLike, *, min_keep: int = 1, max_keep: int | None = None, min_gap: float = 0.0
) -> int:
    """Return how many items to keep so that a ranked list ends before its largest gap.

    Scores that preserve the magnitude of preferences say where the items become much worse, which
    a mere order can't. Of equal gaps the first counts.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Predicted scores in any order, such as ``MPRank().fit(X, y).predict(X_new)``.
    min_keep : int, default=1
        Keep at least so many.
    max_keep : int, default=None
        Keep at most so many. None: all may be kept.
    min_gap : float, default=0.0
        A gap below it is none. If no gap is left, ``max_keep`` items are kept.

    Returns
    -------
    int
        The items to keep are the best so many.

    Examples
    --------
    >>> from rankwise.magnitude import cut_at_gap
    >>> scores = [4.8, 1.9, 4.6, 2.2, 4.5, 1.8]
    >>> cut_at_gap(scores)
    3
    >>> cut_at_gap(scores, min_gap=3)
    6
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError("scores must be one or more finite numbers in a 1-D array")
    n = len(values)
    most = max(n, min_keep) if max_keep is None else max_keep
    if not (isinstance(min_keep, Integral) and isinstance(most, Integral)):
        raise TypeError(f"{min_keep=} and {max_keep=} must be whole numbers")
    if not 1 <= min_keep <= most:
        raise ValueError(f"{min_keep=} must be 1 or more, and {max_keep=} not below it")
    if not (isinstance(min_gap, Real) and min_gap >= 0):
        raise ValueError(f"{min_gap=} must be a number, at least 0")
    ranked = -np.sort(-values)
    gaps = (ranked[:-1] - ranked[1:])[min_keep - 1 : most]
    if not len(gaps) or gaps.max() < min_gap or gaps.max() == 0:
        return int(min(most, n))
    return int(min_keep + gaps.argmax())
