"""Contests of two items: counts by pair, the likelihood of strengths, and places by draws."""
