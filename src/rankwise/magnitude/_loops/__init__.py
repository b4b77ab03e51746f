"""Compiled loops of `rankwise.magnitude`."""
