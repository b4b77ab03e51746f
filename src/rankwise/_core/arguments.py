"""Check scalar arguments, and warn users where they called."""

import sys
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def check_word(value: Any, name: str, words: Sequence[str]) -> str:
    """Return a value that is one of some words.

    Raises
    ------
    ValueError
        If it is not. The message lists them.
    """
    if not (isinstance(value, str) and value in words):
        listed = " or ".join([", ".join(map(repr, words[:-1])), repr(words[-1])])
        raise ValueError(f"{name}={shortened(value)} must be {listed}")
    return value


def did_you_mean(name: Any, known: Sequence[Any]) -> str:
    """Return a question for the known name that is most like a name, empty if none is.

    Examples
    --------
    >>> from rankwise._core.arguments import did_you_mean
    >>> did_you_mean("sat", ["Sat", "Infl"])
    "; did you mean 'Sat'?"
    """
    lower = {str(one).lower(): one for one in reversed(known)}
    near = get_close_matches(str(name).lower(), lower, n=1)
    return f"; did you mean {lower[near[0]]!r}?" if near else ""


def check_flag(value: Any, name: str) -> bool:
    """Return a value that is True or False.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={shortened(value)} must be True or False")
    return bool(value)


def check_text(value: Any, name: str) -> str:
    """Return a value that is a str and not empty.

    Raises
    ------
    ValueError
        If it is not.
    """
    if not (isinstance(value, str) and value):
        raise ValueError(f"{name}={shortened(value)} must be a string that is not empty")
    return value


def check_whole(value: Any, name: str, low: int = 1) -> int:
    """Return a value that is an integer from ``low`` on, which an array can be as long as.

    Raises
    ------
    ValueError
        If it is not.
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not (whole and low <= int(value) < 2**63):
        raise ValueError(f"{name}={shortened(value)} must be an integer from {low} on, below 2^63")
    return int(value)


def check_level(value: Any) -> float:
    """Return a confidence level, between 0 and 1.

    Raises
    ------
    ValueError
        If it is not.
    """
    if not (is_finite_number(value) and 0 < float(value) < 1):
        raise ValueError(f"level={shortened(value)} must lie between 0 and 1, such as 0.95")
    return float(value)


def check_power(value: Any) -> int:
    """Return the power of the cost of a pair, 1 or 2.

    Raises
    ------
    ValueError
        If it is neither.
    """
    if not (isinstance(value, Integral) and value in (1, 2)):
        raise ValueError(f"power={shortened(value)} must be 1 or 2")
    return int(value)


def is_finite_number(value: Any) -> bool:
    """Whether a value is a real number that a float can hold, other than NaN and infinity."""
    if not isinstance(value, Real):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return values as an array of any type and shape.

    Raises
    ------
    ValueError
        If the rows of a list are not equally long.
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} can't be made an array ({error}): give a list of equal entries"
        ) from error


def only_column(y: Any) -> Any:
    """Return the column of a table of one column, of pandas or polars, and anything else as is."""
    if getattr(y, "ndim", 2) != 2 or getattr(y, "shape", (0, 0))[1:] != (1,):
        return y
    if hasattr(y, "iloc"):
        return y.iloc[:, 0]
    return y.to_series(0) if hasattr(y, "to_series") else y


def shortened(value: Any) -> str:
    """Return a value for a message, on one line."""
    if isinstance(value, np.number | np.bool_ | np.str_):
        value = value.item()  # 3 rather than np.int64(3)
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
