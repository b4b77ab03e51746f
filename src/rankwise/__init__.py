"""Learn to put things in order, and say how far to trust the order.

Each kind of evidence has a room of its own:

- `rankwise.ordinal` for graded items that arrive as a stream,
- `rankwise.magnitude` for ratings whose differences matter,
- `rankwise.pairwise` for grades, pairs and queries,
- `rankwise.preference` for a comparator that may contradict itself,
- `rankwise.aggregation` for several complete or partial rankings,
- `rankwise.recommend` for a table of ratings of items by people.

`rankwise.comparison` tells which method fits a table, and how sure that is.
`rankwise.web` is a service in which people rate and see everything ranked for them.

`rankwise.distributed` fits rows on a Dask cluster, or from disk within a limit of memory.

Models are kept as files that run nothing: `save` and `load`, see `rankwise.persistence`.

Rooms are loaded when first used, so that ``import rankwise`` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwise import (
        aggregation,
        base,
        bounds,
        comparison,
        datasets,
        distributed,
        experiments,
        magnitude,
        metrics,
        model_selection,
        ordinal,
        pairwise,
        persistence,
        plots,
        preference,
        recommend,
        reports,
        testing,
        web,
    )
    from rankwise.persistence import load, save

__version__ = "0.2.0"

__all__ = [
    "aggregation",
    "base",
    "bounds",
    "comparison",
    "datasets",
    "distributed",
    "experiments",
    "load",
    "magnitude",
    "metrics",
    "model_selection",
    "ordinal",
    "pairwise",
    "persistence",
    "plots",
    "preference",
    "recommend",
    "reports",
    "save",
    "testing",
    "web",
]


def __getattr__(name: str) -> Any:
    if name in {"load", "save"}:
        return getattr(importlib.import_module("rankwise.persistence"), name)
    if name in __all__:
        return importlib.import_module(f"rankwise.{name}")
    raise AttributeError(f"module 'rankwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
