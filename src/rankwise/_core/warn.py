"""Warnings that point at the user's line, however deep they arise, and those of what will go."""

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn from the nearest frame outside the package."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def warn_deprecated(old: str, new: str, *, since: str, gone: str) -> None:
    """Tell the user that something will go, since when, and what to use in its place.

    Parameters
    ----------
    old, new : str
        What was used, and what to use; both as a user writes it.
    since, gone : str
        Releases such as "0.2": the first that warns and the first without it. A test fails when
        that release is there and the call is still in the source.
    """
    warn_user(
        f"{old} is deprecated since rankwise {since} and goes in {gone}: use {new}", FutureWarning
    )
