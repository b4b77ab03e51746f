"""Loops over all pairs of rows, and over ranked lists."""
