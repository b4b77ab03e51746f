"""Where to end a ranked list."""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from rankwise._core.arguments import check_whole
from rankwise._core.inputs import check_floats


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
    values = check_floats(scores, "scores")
    n = len(values)
    if not n:
        raise ValueError("scores is empty: give one or more numbers in a 1-D array")
    least = check_whole(min_keep, "min_keep")
    most = max(n, least) if max_keep is None else check_whole(max_keep, "max_keep")
    if least > most:
        raise ValueError(f"{min_keep=} must be 1 or more, and {max_keep=} not below it")
    if not (isinstance(min_gap, Real) and min_gap >= 0):
        raise ValueError(f"{min_gap=} must be a number, at least 0")
    ranked = -np.sort(-values)
    with np.errstate(over="ignore"):
        gaps = (ranked[:-1] - ranked[1:])[least - 1 : most]
    if not len(gaps) or gaps.max() < min_gap or gaps.max() == 0:
        return int(min(most, n))
    return int(least + gaps.argmax())
