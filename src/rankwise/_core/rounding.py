"""How far rounding may change an answer."""

import numpy as np

EPS = float(np.finfo(np.float64).eps)
TRUSTED = 1e-3
"""Scores may be off by this share of the spread of y."""
ERRORS = 8.0 * EPS
"""The error of an entry beside its size, generously."""


def check_trusted(
    error: float, what: str, fix: str = "use a smaller C", *, spread: str = "y"
) -> None:
    """Refuse an answer that rounding may have changed, by ``error`` as a share of a spread."""
    if not error <= TRUSTED:
        size = f"by {error:.2g} of the spread of {spread}" if np.isfinite(error) else "at will"
        raise ValueError(
            f"{what} can't be trusted: rounding may change them {size} (allowed: {TRUSTED:g}); "
            "scale the features, for example with sklearn.preprocessing.StandardScaler, or "
            f"{fix}"
        )
