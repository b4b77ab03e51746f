"""Online models over parts: a model goes through the parts in order, as through a stream.

PRank and its like are sequential by nature: the model travels from part to part, 8 bytes a feature,
and the rows stay. The members of OAPRank are independent: blocks of them follow each other
through the parts, so that several workers are busy at a time.
"""

from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise._core.labels import as_labels, sorted_labels
from rankwise._core.ordinal import MOST_EPOCHS, Falling, OnlineMixin
from rankwise.distributed._block import Block
from rankwise.distributed._parts import Parts
from rankwise.distributed._shared import in_part, set_features
from rankwise.ordinal import OAPRank


def learn(estimator: OnlineMixin, parts: Parts) -> None:
    """Learn from the rows in their order, as ``fit`` with ``shuffle=False`` does, bit for bit.

    Raises
    ------
    ValueError
        If the rows are to be shuffled, have queries or weights, or the kernel is precomputed.
    """
    estimator._validate_params()
    name = type(estimator).__name__
    if estimator.shuffle:
        raise ValueError(
            f"{name}(shuffle=True) takes the rows in a random order, which rows in parts can't be "
            "taken in: set shuffle=False (with epochs=1 one pass over the stream), and shuffle the "
            "rows when they are written if their order means something"
        )
    if getattr(estimator, "kernel", None) == "precomputed":
        raise ValueError("kernel='precomputed' can't be fitted in parts: give the rows themselves")
    if not (estimator.epochs == 1 or (parts.n_parts == 1 and parts.n_workers == 1)):
        parts.persist()
    labels = parts.map(_labels)
    for given in ("qid", "sample_weight"):
        if given in parts.kinds:
            raise ValueError(f"{name} has no use for {given}: leave it out")
    found = np.concatenate([each for each in labels if each is not None])
    classes, _ = clone(estimator)._check_labels(found, find=True)
    blocks = _start(estimator, classes, parts)
    falling = Falling()
    loss = 0
    for _ in range(MOST_EPOCHS if estimator.epochs == "auto" else int(estimator.epochs)):
        blocks = parts.fold(_advance, blocks)
        before, loss = loss, sum(block.rank_loss_ for block in blocks)
        if estimator.epochs == "auto" and not falling.goes_on(loss - before):
            break
    _finish(estimator, blocks, parts)


def _labels(block: Block) -> Any:
    """Return the labels of a part."""
    if not block.X.shape[0]:
        return None
    with in_part(block):
        if block.y is None:
            raise ValueError("y is missing: give the labels, or the name of their column")
        return sorted_labels(as_labels(block.y))


def _advance(block: Block, model: Any) -> Any:
    """Return the model after the rows of a part."""
    if not block.X.shape[0]:
        return model
    after = copy(model)
    with in_part(block):
        after.partial_fit(block.X, block.y)
    return after


def _start(estimator: OnlineMixin, classes: Any, parts: Parts) -> list[Any]:
    """Return models before the first row; several if members can be cut into blocks."""
    model = clone(estimator)
    model.label_order = classes
    model.n_features_in_ = parts.n_features
    source = model._source()
    if not (isinstance(model, OAPRank) and source.width > 0):
        return [model]
    model.n_jobs = estimator.n_jobs
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
        own = {name: state[name][some].copy() for name in ("W", "B", "correct")}
        own |= {"seed": state["seed"].copy(), "counts": state["counts"].copy()}
        block.n_estimators, block._first_member = len(own["W"]), first
        block._finish(source, own, classes)
        blocks.append(block)
    return blocks


def _finish(estimator: OnlineMixin, blocks: list[Any], parts: Parts) -> None:
    """Put what the blocks have learned together, and on the estimator."""
    model = blocks[0]
    source = model._check_state()
    state = {name: array.copy() for name, array in model._state.items()}
    if isinstance(estimator, OAPRank) and source.width > 0:
        for name in ("W", "B", "correct"):
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
