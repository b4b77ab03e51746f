"""The online models as the papers run them: one pass over the rows as they come, and no more.

The defaults of `rankwise.ordinal` are for tables; see the user guide.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from rankwise import ordinal

_PASS: dict[str, Any] = {"epochs": 1, "shuffle": False}

Model = Callable[..., Any]

PRank: Model = partial(ordinal.PRank, vote=None, **_PASS)
OAPRank: Model = partial(ordinal.OAPRank, **_PASS)
WidrowHoff: Model = partial(ordinal.WidrowHoff, step="plain", fit_intercept=False, **_PASS)
MulticlassPerceptron: Model = partial(
    ordinal.MulticlassPerceptron, vote=None, fit_intercept=False, **_PASS
)
