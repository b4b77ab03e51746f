"""Loops of orders and votes: sorting, counting, local search, triangle inequalities."""
