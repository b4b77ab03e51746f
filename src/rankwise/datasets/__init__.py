"""Data: generators of the papers' synthetic data."""

from rankwise.datasets._synthetic import make_herbrich

__all__ = ["make_herbrich"]
