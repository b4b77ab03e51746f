"""How good is a ranking: losses (less is better) and scores (more is better)."""

from rankwise.metrics._intervals import mean_interval
from rankwise.metrics._ordinal import (
    mean_rank_loss,
    mean_rank_loss_per_rank,
    neg_mean_rank_loss_scorer,
    rank_losses,
)

__all__ = [
    "mean_interval",
    "mean_rank_loss",
    "mean_rank_loss_per_rank",
    "neg_mean_rank_loss_scorer",
    "rank_losses",
]
