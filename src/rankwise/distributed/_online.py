"""Online models of rows in partitions: a model goes through them in order, as through a stream.

PRank and its like are sequential by nature: the model travels from partition to partition, 8 bytes
a feature, and the rows stay. The members of OAPRank are independent: blocks of them follow each
other through the partitions, so that several workers are busy at a time.
"""

from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankwise._core.arguments import warn_user
from rankwise._core.labels import as_labels, sorted_labels
from rankwise._core.ordinal import MOST_EPOCHS, Falling, OnlineMixin
from rankwise.distributed._fit import set_features
from rankwise.distributed._partition import Block, in_part
from rankwise.distributed._partitions import Partitions
from rankwise.ordinal import OAPRank


def learn(estimator: OnlineMixin, parts: Partitions) -> None:
    """Learn from the rows in their order, bit for bit as ``fit`` with ``shuffle=False``.

    With ``shuffle=True``, the default, a warning says that the rows are not shuffled, and "auto"
    epochs are one.

    Raises
    ------
    ValueError
        If the rows have queries or weights, or the kernel is precomputed.
    """
    estimator._validate_params()
    name, epochs = type(estimator).__name__, estimator.epochs
    if getattr(estimator, "kernel", None) == "precomputed":
        raise ValueError("kernel='precomputed' can't be fitted in parts: give the rows themselves")
    if estimator.shuffle:
        epochs = 1 if epochs == "auto" else epochs
        warn_user(
            f"{name} takes rows in partitions in the order of the partitions, in "
            f"{'one pass' if epochs == 1 else f'{epochs} passes'}, although shuffle=True: set "
            f"shuffle=False and epochs={epochs} to say so, and write the rows in random order if "
            "theirs means something"
        )
    if epochs != 1:
        parts.persist()
    labels = parts.map(_labels)
    for given in ("qid", "sample_weight"):
        if given in parts.types:
            raise ValueError(f"{name} does not use {given}: leave it out")
    classes, _ = clone(estimator)._check_labels(np.concatenate(labels), find=True)
    models = _start(estimator, classes, parts)
    falling, loss = Falling(), 0
    for _ in range(MOST_EPOCHS if epochs == "auto" else int(epochs)):
        models = parts.fold(_advance, models)
        before, loss = loss, sum(model.rank_loss_ for model in models)
        if epochs == "auto" and not falling.goes_on(loss - before):
            break
    _finish(estimator, models, parts)


def _labels(block: Block) -> NDArray[Any]:
    """Return the labels of a partition."""
    with in_part(block.part):
        return sorted_labels(as_labels(block.y))


def _advance(block: Block, model: Any) -> Any:
    """Return the model after the rows of a partition."""
    after = copy(model)
    with in_part(block.part):
        after.partial_fit(block.X, block.y)
    return after


def _start(estimator: OnlineMixin, classes: Any, parts: Partitions) -> list[Any]:
    """Return models before the first row; several if members can be cut into blocks."""
    model = clone(estimator)
    model.label_order = classes
    model.n_features_in_ = parts.n_features
    source = model._source()
    if not (isinstance(model, OAPRank) and source.width > 0):
        return [model]
    state = model._start(len(classes), source.width)
    n, groups = model.n_estimators, min(parts.n_workers, parts.n_parts)
    # members come by four, which share a hash
    edges = [4 * int(e) for e in np.linspace(0, -(-n // 4), groups + 1)]
    blocks = []
    for first, last in pairwise(edges):
        if first == last:
            continue
        block = clone(model)
        block.n_features_in_ = parts.n_features
        some = slice(first, last)
        own = {name: array.copy() for name, array in state.items()}
        own |= {name: own[name][some].copy() for name in model._member_state if name in own}
        block.n_estimators, block._first_member = len(own["W"]), first
        block._finish(source, own, classes)
        blocks.append(block)
    return blocks


def _finish(estimator: OnlineMixin, blocks: list[Any], parts: Partitions) -> None:
    """Put what the blocks have learned together, and on the estimator."""
    model = blocks[0]
    source = model._check_state()
    state = {name: array.copy() for name, array in model._state.items()}
    if isinstance(estimator, OAPRank) and source.width > 0:
        for name in [name for name in estimator._member_state if name in state]:
            state[name] = np.concatenate([block._state[name] for block in blocks])
        counts = np.array([block._state["counts"] for block in blocks])
        state["counts"] = np.array([counts[0, 0], *counts[:, 1:].sum(axis=0)])
        set_features(estimator, parts)
        estimator._finish(source, state, model.classes_)
        return
    kept = {name: value for name, value in vars(model).items() if name not in model.get_params()}
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)
    estimator.__dict__.update(kept)
    set_features(estimator, parts)
