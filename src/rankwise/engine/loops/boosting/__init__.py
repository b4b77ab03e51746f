"""Loops of RankBoost: bins of the features, weights of the pairs, and the best cut of a feature."""
