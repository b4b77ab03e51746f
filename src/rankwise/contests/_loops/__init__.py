"""Compiled loops of `rankwise.contests`."""
