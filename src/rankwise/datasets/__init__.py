"""Data: generators of the papers' synthetic data."""

from rankwise.datasets._synthetic import make_ellipses, make_herbrich

__all__ = ["make_ellipses", "make_herbrich"]
