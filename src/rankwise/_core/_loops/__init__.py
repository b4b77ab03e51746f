"""Compiled loops that several packages share."""
