"""Compiled loops of `rankwise.ordinal`."""
