"""How sure are we: validation that fits the way a ranking is learned."""

from rankwise.model_selection._progressive import ProgressiveResult, progressive_validation

__all__ = ["ProgressiveResult", "progressive_validation"]
