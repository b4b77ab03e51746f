"""Loops of the online models, a file for each algorithm."""
