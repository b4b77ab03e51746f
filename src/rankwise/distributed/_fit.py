"""The door: a fit of rows in parts, by what the estimator is."""

import logging
from importlib import import_module
from typing import Any, TypeVar

from rankwise.distributed._parts import Parts, as_parts

logger = logging.getLogger("rankwise.distributed")
Estimator = TypeVar("Estimator")

# Where a class is learned from parts: a module of this room with a function
# ``learn(estimator, parts)``, which sets what was learned on the estimator.
_LEARNERS = {
    "MPRank": "_mprank",
    "PRank": "_online",
    "WidrowHoff": "_online",
    "MulticlassPerceptron": "_online",
    "OAPRank": "_online",
    "RankSVM": "_support_vectors",
    "SVRank": "_support_vectors",
    "RankBoost": "_rankboost",
    "Pipeline": "_pipeline",
}


def learner_of(estimator: Any) -> Any:
    """Return what learns an estimator from parts.

    Raises
    ------
    TypeError
        If there is none for its class.
    """
    for each in type(estimator).__mro__:
        if each.__name__ in _LEARNERS and each.__module__.startswith(("rankwise.", "sklearn.")):
            module = import_module(f"rankwise.distributed.{_LEARNERS[each.__name__]}")
            return module.learn
    known = ", ".join(sorted(_LEARNERS))
    raise TypeError(
        f"estimator={estimator!r} can't be fitted in parts; these can: {known}. Others fit in "
        "memory: estimator.fit(X.compute(), y.compute())"
    )


def fit_parts(estimator: Estimator, parts: Parts) -> Estimator:
    """Fit an estimator to parts; if that is refused, it is left as it was."""
    learn = learner_of(estimator)
    before = vars(estimator).copy()
    try:
        learn(estimator, parts)
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    return estimator


def fit(
    estimator: Estimator,
    X: Any,
    y: Any,
    *,
    qid: Any = None,
    sample_weight: Any = None,
    client: Any = None,
    memory_limit: int | str | None = None,
) -> Estimator:
    """Fit an estimator to rows that lie on a cluster or on disk."""
    parts = as_parts(
        X, y, qid=qid, sample_weight=sample_weight, client=client, memory_limit=memory_limit
    )
    try:
        fit_parts(estimator, parts)
    finally:
        parts.close()
    moved = parts.traffic
    logger.info(
        "%s: %d parts, %d passes, %.3g MB sent to the parts, %.3g MB brought back",
        type(estimator).__name__,
        parts.n_parts,
        moved.passes,
        moved.sent / 1e6,
        moved.back / 1e6,
    )
    return estimator
