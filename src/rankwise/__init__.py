"""Learn a ranking, and say how far to trust it.

Each kind of evidence has its package:

- `rankwise.ordinal` for graded items, often as a stream,
- `rankwise.magnitude` for ratings whose differences matter,
- `rankwise.pairwise` and `rankwise.boosting` for grades, pairs and queries,
- `rankwise.preference` for a comparator that may contradict itself,
- `rankwise.contests` for a log of contests,
- `rankwise.aggregation` for several complete or partial rankings,
- `rankwise.recommend` for a table of ratings of items by users.

`rankwise.papers` has the papers' algorithms with the papers' settings.

`compare` compares the methods that fit a table (`rankwise.comparison`), `rankwise.distributed`
fits rows on a Dask cluster or from disk, and `rankwise.web` is a service in which people rate and
see all ranked.

Models are kept as files that run nothing: `save` and `load`, see `rankwise.persistence`.

Packages are loaded when first used, so that ``import rankwise`` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwise import (
        aggregation,
        base,
        boosting,
        bounds,
        comparison,
        contests,
        datasets,
        distributed,
        magnitude,
        metrics,
        model_selection,
        ordinal,
        pairwise,
        papers,
        persistence,
        plots,
        preference,
        recommend,
        reports,
        testing,
        web,
    )
    from rankwise.comparison import compare
    from rankwise.persistence import load, save

__version__ = "0.2.0"

__all__ = [
    "aggregation",
    "base",
    "boosting",
    "bounds",
    "compare",
    "comparison",
    "contests",
    "datasets",
    "distributed",
    "load",
    "magnitude",
    "metrics",
    "model_selection",
    "ordinal",
    "pairwise",
    "papers",
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
    if name == "compare":
        return importlib.import_module("rankwise.comparison").compare
    if name in __all__:
        return importlib.import_module(f"rankwise.{name}")
    raise AttributeError(f"module 'rankwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
