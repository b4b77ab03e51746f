"""How good is a ranking: losses (less is better) and scores (more is better)."""

from rankwise.metrics._auc import (
    auc_difference_test,
    auc_interval,
    pair_accuracy_interval,
    pair_accuracy_score,
)
from rankwise.metrics._intervals import mean_interval
from rankwise.metrics._lists import (
    average_precision_score,
    ndcg_score,
    reciprocal_rank_score,
)
from rankwise.metrics._ordinal import (
    mean_rank_loss,
    mean_rank_loss_per_rank,
    neg_mean_rank_loss_scorer,
    rank_losses,
)
from rankwise.metrics._pairs import (
    ComparablePairs,
    auc_score,
    comparable_pairs,
    epsilon_insensitive_loss,
    exponential_pair_loss,
    hinge_magnitude_loss,
    hinge_rank_loss,
    magnitude_loss,
    pairwise_misranking_loss,
)
from rankwise.metrics._scorers import (
    auc_scorer,
    average_precision_scorer,
    ndcg_scorer,
    neg_epsilon_insensitive_loss_scorer,
    neg_exponential_pair_loss_scorer,
    neg_hinge_magnitude_loss_scorer,
    neg_hinge_rank_loss_scorer,
    neg_magnitude_loss_scorer,
    neg_pairwise_misranking_loss_scorer,
    reciprocal_rank_scorer,
)
from rankwise.metrics._top import (
    partial_auc_interval,
    partial_auc_score,
    positives_at_top_interval,
    positives_at_top_score,
    precision_at_top_interval,
    precision_at_top_score,
)

__all__ = [
    "ComparablePairs",
    "auc_difference_test",
    "auc_interval",
    "auc_score",
    "auc_scorer",
    "average_precision_score",
    "average_precision_scorer",
    "comparable_pairs",
    "epsilon_insensitive_loss",
    "exponential_pair_loss",
    "hinge_magnitude_loss",
    "hinge_rank_loss",
    "magnitude_loss",
    "mean_interval",
    "mean_rank_loss",
    "mean_rank_loss_per_rank",
    "ndcg_score",
    "ndcg_scorer",
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
    "reciprocal_rank_score",
    "reciprocal_rank_scorer",
]
