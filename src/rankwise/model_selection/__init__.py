"""Validation that fits the way a ranking is learned."""

from rankwise.model_selection._leave_pair_out import LeavePairOutResult, leave_pair_out
from rankwise.model_selection._progressive import ProgressiveResult, progressive_validation

__all__ = ["LeavePairOutResult", "ProgressiveResult", "leave_pair_out", "progressive_validation"]
