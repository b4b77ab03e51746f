"""Warnings that point at the user's line, however deep they arise."""

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
