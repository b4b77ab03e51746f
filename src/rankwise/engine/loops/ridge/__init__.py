"""Loops of the ridge: left-out pairs, and ascent in the dual."""
