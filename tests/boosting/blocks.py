"""Rows in one block, as a fit makes it."""

import numpy as np

from rankwise.boosting.binning import Block, Blocks, Groups, bin_features


def one_block(X, y, pool, *, qid=None, weight=None, counts=None, max_bins=None):
    """Return blocks of one block, the groups, the order of its rows, and the edges of the bins."""
    m = len(y)
    codes = np.zeros(m, dtype=np.int64) if qid is None else np.unique(qid, return_inverse=True)[1]
    counts = np.ones(m, dtype=np.int64) if counts is None else counts
    weight = np.ones(m) if weight is None else weight
    groups, order, starts = Groups.of_rows(codes, np.asarray(y, dtype=float), counts)
    bins, edges = bin_features(X, order, None, max_bins, np.random.RandomState(0), pool)
    keys = groups.keys(np.arange(len(groups.y)))
    block = Block.of(bins, keys, starts, weight[order], counts[order])
    return Blocks([block], pool), groups, order, edges


def set_scores(blocks, scores):
    """Let the rows of the only block have these scores."""
    blocks.states[0] = blocks.states[0]._replace(scores=np.asarray(scores, dtype=float))


def column(bins, f, m):
    """Return the bins (m,) of a feature."""
    some = slice(bins.starts[f], bins.starts[f + 1])
    if not bins.sparse:
        return bins.codes[some].astype(np.int64)
    codes = np.full(m, bins.zero[f])
    codes[bins.rows[some]] = bins.codes[some]
    return codes
