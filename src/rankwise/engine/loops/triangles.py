"""Triangles that a fractional order violates."""

import numpy as np

from rankwise.engine.loops.compiled import compiled


@compiled
def violated(turned, tolerance):
    """Return rows (p, q, r, side) for p < q < r whose inequality does not hold.

    ``turned[p, q]`` is how far q stands before p. Side -1 is for
    ``turned[p, r] <= turned[p, q] + turned[q, r]``, side 1 for
    ``turned[p, q] + turned[q, r] <= 1 + turned[p, r]``.
    """
    n = len(turned)
    rows = np.empty((1024, 4), dtype=np.int64)
    count = 0
    for p in range(n - 2):
        for q in range(p + 1, n - 1):
            first = turned[p, q]
            for r in range(q + 1, n):
                slack = first + turned[q, r] - turned[p, r]
                if slack < -tolerance or slack > 1 + tolerance:
                    if count == len(rows):
                        larger = np.empty((2 * count, 4), dtype=np.int64)
                        larger[:count] = rows
                        rows = larger
                    rows[count] = p, q, r, -1 if slack < 0 else 1
                    count += 1
    return rows[:count]
