"""Learn to put things in order, and say how far to trust the order.

Each kind of evidence has a room of its own (`rankwise.ordinal` for graded items that arrive as a
stream, `rankwise.magnitude` for ratings whose differences matter, `rankwise.pairwise` for grades,
pairs and queries); rooms are loaded when first used, so that ``import rankwise`` stays light.
"""

import importlib
from types import ModuleType

__version__ = "0.1.0.dev0"

__all__ = [
    "aggregation",
    "base",
    "bounds",
    "datasets",
    "experiments",
    "magnitude",
    "metrics",
    "model_selection",
    "ordinal",
    "pairwise",
    "plots",
    "preference",
    "reports",
    "testing",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"rankwise.{name}")
    raise AttributeError(f"module 'rankwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
