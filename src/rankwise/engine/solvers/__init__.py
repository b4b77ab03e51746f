"""Solvers: they know losses and samples, not estimators."""
