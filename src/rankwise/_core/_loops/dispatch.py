"""Functions with a version for each kind of rows, in compiled code and in plain Python alike."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload


def kind_of(rows: Any) -> type:
    """Return the class of the rows, which compiled code knows by the type that numba gave them."""
    if isinstance(rows, np.ndarray | types.Array):
        return np.ndarray
    return getattr(rows, "instance_class", type(rows))


def by_rows(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function whose versions depend on the class of its argument ``rows``.

    As with `functools.singledispatch`, the function itself has no body, and a version is added with
    ``@function.register(cls)``. The versions have the same parameters. The options are those of
    `numba.njit`, for all versions.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        versions: dict[type, Callable[..., Any]] = {}
        place = list(signature(function).parameters).index("rows")

        @wraps(function)
        def chosen(*arguments: Any) -> Any:
            return versions[kind_of(arguments[place])](*arguments)

        @overload(chosen, jit_options=options, strict=False)
        def _(*arguments: Any) -> Callable[..., Any] | None:
            return versions.get(kind_of(arguments[place]))

        def register(cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
            def add(version: Callable[..., Any]) -> Callable[..., Any]:
                versions[cls] = version
                return version

            return add

        chosen.register = register  # type: ignore[attr-defined]
        return chosen

    return decorate
