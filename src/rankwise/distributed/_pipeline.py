"""A pipeline over parts: transformers first, one after the other, then the model on what they make.

A transformer that learns by ``partial_fit``, such as StandardScaler, goes through the parts in
order. Nystroem gets its landmarks, the same rows that it would draw on one machine. A transformer
that learns nothing from rows but their number of features sees a few of them.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from rankwise.distributed._block import Block
from rankwise.distributed._fit import learner_of
from rankwise.distributed._parts import Parts
from rankwise.distributed._shared import fetch, in_part, set_features

# What these learn does not depend on the rows, but on their width.
_BLIND = {"RBFSampler", "PolynomialFeatures", "PolynomialCountSketch", "SkewedChi2Sampler"}
_FEW = 10


def learn(estimator: Pipeline, parts: Parts) -> None:
    """Fit the transformers, then the model."""
    *before, last = estimator.steps
    learn_last = learner_of(last[1])
    if before:
        for name, step in before:
            _check(name, step)
        parts.missing = all(_takes_missing(step) for _, step in estimator.steps)
        parts.persist()
    steps = []
    first = parts
    for name, step in before:
        if step is None or step == "passthrough":
            steps.append((name, step))
            continue
        fitted = _fitted(clone(step), parts)
        parts = parts.mapped(fitted, _width(fitted, parts))
        steps.append((name, fitted))
    model = clone(last[1])
    learn_last(model, parts)
    first.look()
    real = [step for _, step in (*steps, (last[0], model)) if step not in (None, "passthrough")]
    set_features(real[0], first)
    estimator.steps = [*steps, (last[0], model)]
    for each in {id(first): first, id(parts): parts}.values():
        each.close()


def _check(name: str, step: Any) -> None:
    """Refuse a step that can't be learned from parts."""
    if step is None or step == "passthrough" or isinstance(step, Nystroem):
        return
    if hasattr(step, "partial_fit") or type(step).__name__ in _BLIND or _is_stateless(step):
        return
    raise TypeError(
        f"the step {name!r}, {step!r}, can't be fitted in parts: use one with partial_fit, such as "
        "StandardScaler, or Nystroem, or fit it to a sample beforehand and transform the rows"
    )


def _takes_missing(step: Any) -> bool:
    """Whether a step takes NaN as a missing value."""
    if step is None or step == "passthrough":
        return True
    return hasattr(step, "__sklearn_tags__") and step.__sklearn_tags__().input_tags.allow_nan


def _is_stateless(step: Any) -> bool:
    return hasattr(step, "__sklearn_tags__") and not step.__sklearn_tags__().requires_fit


def _fitted(step: Any, parts: Parts) -> Any:
    """Return a transformer fitted to the rows of all parts."""
    parts.look()
    if isinstance(step, Nystroem):
        random = check_random_state(step.random_state)
        n = min(step.n_components, parts.n_rows)
        rows = random.permutation(parts.n_rows)[:n]
        given, step.random_state = step.random_state, _InOrder()
        landmarks = fetch(parts, np.sort(rows))[np.argsort(np.argsort(rows))]
        wanted, step.n_components = step.n_components, n
        step.fit(landmarks)
        step.n_components, step.random_state, step.component_indices_ = wanted, given, rows
        return step
    if hasattr(step, "partial_fit"):
        return parts.fold(_scale, [step])[0]
    return step.fit(fetch(parts, np.arange(min(_FEW, parts.n_rows))))


def _scale(block: Block, step: Any) -> Any:
    """Return a transformer after the rows of a part."""
    if not block.X.shape[0]:
        return step
    after = clone(step)
    after.__dict__.update(step.__dict__)
    with in_part(block):
        return after.partial_fit(block.doubles())


def _width(step: Any, parts: Parts) -> int:
    """Return how many features a transformer makes."""
    return int(step.transform(fetch(parts, np.arange(1))).shape[1])


class _InOrder(np.random.RandomState):
    """A random state that permutes nothing."""

    def permutation(self, x: Any) -> Any:
        """Return the numbers below x in their order."""
        return np.arange(x)
