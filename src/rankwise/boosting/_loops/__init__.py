"""Compiled loops of `rankwise.boosting`."""
