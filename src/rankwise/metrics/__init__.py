"""Measures of rankings: losses (less is better) and scores (more is better)."""

from rankwise.metrics import lists
from rankwise.metrics._ordinal import (
    mean_rank_loss,
    mean_rank_loss_per_rank,
    neg_mean_rank_loss_scorer,
    rank_losses,
)
from rankwise.metrics._pairs import (
    ComparablePairs,
    auc_score,
    auc_scorer,
    comparable_pairs,
    epsilon_insensitive_loss,
    exponential_pair_loss,
    hinge_magnitude_loss,
    hinge_rank_loss,
    labelled_pairs_loss,
    magnitude_loss,
    neg_epsilon_insensitive_loss_scorer,
    neg_exponential_pair_loss_scorer,
    neg_hinge_magnitude_loss_scorer,
    neg_hinge_rank_loss_scorer,
    neg_magnitude_loss_scorer,
    neg_pairwise_misranking_loss_scorer,
    pairwise_misranking_loss,
)
from rankwise.metrics._top import (
    partial_auc_interval,
    partial_auc_score,
    positives_at_top_interval,
    positives_at_top_score,
    precision_at_top_interval,
    precision_at_top_score,
)
from rankwise.metrics.intervals import (
    auc_difference_test,
    auc_interval,
    mean_interval,
    pair_accuracy_interval,
    pair_accuracy_score,
)
from rankwise.metrics.lists import *  # noqa: F403

__all__ = [
    "ComparablePairs",
    "auc_difference_test",
    "auc_interval",
    "auc_score",
    "auc_scorer",
    "comparable_pairs",
    "epsilon_insensitive_loss",
    "exponential_pair_loss",
    "hinge_magnitude_loss",
    "hinge_rank_loss",
    "labelled_pairs_loss",
    "magnitude_loss",
    "mean_interval",
    "mean_rank_loss",
    "mean_rank_loss_per_rank",
    "neg_epsilon_insensitive_loss_scorer",
    "neg_exponential_pair_loss_scorer",
    "neg_hinge_magnitude_loss_scorer",
    "neg_hinge_rank_loss_scorer",
    "neg_magnitude_loss_scorer",
    "neg_mean_rank_loss_scorer",
    "neg_pairwise_misranking_loss_scorer",
    "pair_accuracy_interval",
    "pair_accuracy_score",
    "pairwise_misranking_loss",
    "partial_auc_interval",
    "partial_auc_score",
    "positives_at_top_interval",
    "positives_at_top_score",
    "precision_at_top_interval",
    "precision_at_top_score",
    "rank_losses",
]
__all__ += lists.__all__
