"""Policies examined: many games, their figures, the best of them, and the same in the original."""
